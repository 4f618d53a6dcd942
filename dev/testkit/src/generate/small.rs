//! One small tree with everything a file system supports: each inode type, each size next to a block boundary.

use crate::model::{Content, Node, NodeKind};
use crate::random::Random;

/// A tree with every inode type, sizes around multiples of `block_size` (bytes), duplicates, holes, hard links, xattrs, unusual names,
/// owners, modes and times. Parents precede children. The same for the same arguments.
pub fn small_tree(seed: u64, block_size: usize) -> Vec<Node> {
    let mut random = Random::new(seed);
    let mut nodes = vec![Node::dir("").mode(0o755).time(1_234_567_890)];
    sizes(&mut nodes, &mut random, block_size);
    duplicates(&mut nodes, &mut random, block_size);
    holes(&mut nodes, &mut random, block_size);
    links(&mut nodes);
    specials(&mut nodes);
    attributes(&mut nodes);
    odd_names(&mut nodes);
    extended_attributes(&mut nodes, &mut random);
    directories(&mut nodes, &mut random);
    nodes
}

/// The nodes that an unprivileged user can create and read, with owners set to `uid` and `gid`.
pub fn without_privileges(nodes: Vec<Node>, uid: u32, gid: u32) -> Vec<Node> {
    let allowed = |node: &Node| !matches!(node.kind, NodeKind::BlockDevice(..) | NodeKind::CharDevice(..));
    let own = |mut node: Node| {
        node.xattrs.retain(|(name, _)| name.starts_with(b"user."));
        node.mode |= 0o400;
        node.owner(uid, gid)
    };
    nodes.into_iter().filter(allowed).map(own).collect()
}

/// A file of more than 4 GiB, nearly all of it a hole, and one whose data is beyond 4 GiB.
pub fn beyond_four_gigabytes() -> Vec<Node> {
    let file = |path: &str, size, pieces| Node::new(path, NodeKind::File(Content::sparse(size, pieces)));
    let words = |seed| Random::new(seed).prose(5000);
    vec![
        Node::dir(""),
        file("five", (5 << 30) + 17, vec![(1 << 20, words(1)), (4 << 30, words(2))]),
        file("exact", 1 << 32, vec![((1 << 32) - 5000, words(3))]),
    ]
}

fn sizes(nodes: &mut Vec<Node>, random: &mut Random, block: usize) {
    nodes.push(Node::dir("sizes").time(1));
    let edges = [0, 1, 2, 511, 512, block - 1, block, block + 1, 2 * block, 3 * block + 1234];
    for size in edges {
        nodes.push(Node::file(format!("sizes/prose-{size}"), random.prose(size)));
        nodes.push(Node::file(format!("sizes/noise-{size}"), random.noise(size)).owner(1000, 100));
    }
    let mixed = [random.prose(block), random.noise(block), random.prose(block), random.noise(77)].concat();
    nodes.push(Node::file("sizes/mixed", mixed));
}

fn duplicates(nodes: &mut Vec<Node>, random: &mut Random, block: usize) {
    nodes.push(Node::dir("twins"));
    for (name, size) in [("tail", 700), ("block", block), ("blocks", 2 * block), ("both", 2 * block + 300)] {
        let bytes = random.prose(size);
        nodes.push(Node::file(format!("twins/{name}-a"), bytes.clone()));
        nodes.push(Node::file(format!("twins/{name}-b"), bytes).time(1_500_000_000));
    }
    // Three files have the same first block and different remainders, of equal and of different lengths.
    let head = random.prose(block);
    for (name, size) in [("one", 600), ("two", 600), ("three", block + 5), ("none", 0)] {
        nodes.push(Node::file(format!("twins/head-{name}"), [head.clone(), random.prose(size)].concat()));
    }
    // The same tail end after different blocks, the blocks of one file inside another, one block many times.
    let tail = random.prose(333);
    nodes.push(Node::file("twins/tail-x", [random.noise(block), tail.clone()].concat()));
    nodes.push(Node::file("twins/tail-y", [random.noise(block), tail.clone()].concat()));
    nodes.push(Node::file("twins/tail-alone", tail));
    nodes.push(Node::file("twins/inner", [random.prose(block), head.clone(), random.prose(block)].concat()));
    nodes.push(Node::file("twins/repeated", head.repeat(5)));
    nodes.push(Node::file("twins/repeated-more", [head.repeat(6), b"end".to_vec()].concat()));
}

fn holes(nodes: &mut Vec<Node>, random: &mut Random, block: usize) {
    nodes.push(Node::dir("holes"));
    let size = block as u64;
    for (name, length) in [("one", 1), ("tail", 100), ("block", size), ("blocks", 4 * size), ("odd", 4 * size + 99)] {
        nodes.push(Node::file(format!("holes/zeros-{name}"), vec![0; length as usize]));
    }
    let mut sparse = |name: &str, length: u64, pieces: Vec<(u64, usize)>| {
        let pieces = pieces.into_iter().map(|(offset, length)| (offset, random.prose(length))).collect();
        nodes.push(Node::new(format!("holes/{name}"), NodeKind::File(Content::sparse(length, pieces))));
    };
    sparse("empty", 10 * size, vec![]);
    sparse("start", 5 * size + 1, vec![(0, block)]);
    sparse("end", 5 * size + 20, vec![(5 * size, 20)]);
    sparse("middle", 6 * size, vec![(2 * size, block), (4 * size + 512, 700)]);
}

fn links(nodes: &mut Vec<Node>) {
    nodes.push(Node::dir("links"));
    nodes.push(Node::dir("links/deep"));
    nodes.push(Node::file("links/file", b"one inode, four names\n".to_vec()).owner(7, 8).mode(0o640));
    for name in ["links/again", "links/deep/again", "a-first"] {
        nodes.push(Node::new(name, NodeKind::HardLink(b"links/file".to_vec())));
    }
    nodes.push(Node::new("links/fifo", NodeKind::Fifo));
    nodes.push(Node::new("links/fifo-again", NodeKind::HardLink(b"links/fifo".to_vec())));
    let targets: [(&str, Vec<u8>); 5] = [
        ("short", b"x".to_vec()),
        ("up", b"../../../etc/passwd".to_vec()),
        ("odd", b" space \xff\n".to_vec()),
        ("hundred", vec![b'h'; 100]),
        ("long", [b"/", vec![b'l'; 249].as_slice()].concat().repeat(16)),
    ];
    for (name, target) in targets {
        nodes.push(Node::new(format!("links/to-{name}"), NodeKind::Symlink(target)).owner(3, 4));
    }
    nodes.push(Node::new("links/to-short-again", NodeKind::HardLink(b"links/to-short".to_vec())));
}

fn specials(nodes: &mut Vec<Node>) {
    nodes.push(Node::dir("special"));
    nodes.push(Node::new("special/fifo", NodeKind::Fifo).mode(0o600));
    nodes.push(Node::new("special/socket", NodeKind::Socket).mode(0o711));
    let devices = [(0, 0), (1, 3), (8, 255), (8, 256), (4095, 1_048_575)];
    for (major, minor) in devices {
        nodes.push(Node::new(format!("special/char-{major}-{minor}"), NodeKind::CharDevice(major, minor)));
        nodes
            .push(Node::new(format!("special/block-{major}-{minor}"), NodeKind::BlockDevice(major, minor)).mode(0o660));
    }
}

fn attributes(nodes: &mut Vec<Node>) {
    nodes.push(Node::dir("attributes"));
    for mode in [0o000, 0o001, 0o400, 0o777, 0o4755, 0o2755, 0o6711, 0o1644, 0o7777] {
        nodes.push(Node::file(format!("attributes/mode-{mode:04o}"), b"mode".to_vec()).mode(mode));
    }
    nodes.push(Node::dir("attributes/sticky").mode(0o1777));
    nodes.push(Node::dir("attributes/setgid").mode(0o2750).owner(0, 50));
    for id in [1, 65_534, 65_535, 65_536, 2_097_151, 2_097_152, 4_294_967_294] {
        nodes.push(Node::file(format!("attributes/uid-{id}"), b"uid".to_vec()).owner(id, 1));
        nodes.push(Node::file(format!("attributes/gid-{id}"), b"gid".to_vec()).owner(1, id));
    }
    for time in [-1_000_000, -1, 0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] {
        nodes.push(Node::file(format!("attributes/time{time}"), b"time".to_vec()).time(time));
    }
}

fn odd_names(nodes: &mut Vec<Node>) {
    nodes.push(Node::dir("names"));
    let names: [&[u8]; 16] = [
        b" leading",
        b"trailing ",
        b"two  spaces",
        b"tab\tnew\nline",
        b"back\\slash",
        b"quote\"'`$(x)",
        b"*?[a]",
        b"-dash",
        b"#hash",
        b"...",
        b"..x",
        b"\x01\x7f",
        "gr\u{fc}\u{df}e-\u{65e5}\u{672c}-\u{1f4e6}".as_bytes(),
        b"latin-\xe9\xff",
        b"Case",
        b"case",
    ];
    for name in names {
        nodes.push(Node::file([b"names/", name].concat(), name.to_vec()));
    }
    let longest = [b"names/".as_slice(), &[b'n'; 255]].concat();
    nodes.push(Node::dir(longest.clone()));
    nodes.push(Node::file([longest.as_slice(), b"/", &[b'm'; 255]].concat(), b"long\n".to_vec()));
}

fn extended_attributes(nodes: &mut Vec<Node>, random: &mut Random) {
    nodes.push(Node::dir("xattrs").xattr("user.on-a-directory", "yes"));
    let file = |name: &str| Node::file(format!("xattrs/{name}"), b"x".to_vec());
    nodes.push(file("plain"));
    nodes.push(file("user").xattr("user.comment", "hello"));
    nodes.push(file("same").xattr("user.comment", "hello"));
    nodes.push(file("empty").xattr("user.empty", ""));
    nodes.push(file("binary").xattr("user.binary", b"\x00\n=\xff\x00".to_vec()));
    nodes.push(file("trusted").xattr("trusted.overlay.opaque", "y").xattr("user.second", "2"));
    nodes.push(file("security").xattr("security.something", b"label\0".to_vec()));
    let capability = b"\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00".to_vec();
    nodes.push(file("capability").mode(0o755).xattr("security.capability", capability));
    let large = random.noise(2000);
    nodes.push(file("large").xattr("user.large", large.clone()));
    nodes.push(file("large-again").xattr("user.large", large.clone()).xattr("user.small", "s"));
    nodes.push(file("large-third").xattr("user.large", large));
    let mut many = file("many");
    for index in 0..40 {
        many = many.xattr(&format!("user.number-{index:02}"), format!("value {}", index % 7));
    }
    nodes.push(many);
    // Symbolic links and special files accept trusted attributes only.
    nodes.push(Node::new("xattrs/link", NodeKind::Symlink(b"user".to_vec())).xattr("trusted.on-a-link", "l"));
    nodes.push(Node::new("xattrs/fifo", NodeKind::Fifo).xattr("trusted.on-a-fifo", "f"));
    nodes.push(Node::new("xattrs/null", NodeKind::CharDevice(1, 3)).xattr("trusted.on-a-device", "d"));
}

fn directories(nodes: &mut Vec<Node>, random: &mut Random) {
    nodes.push(Node::dir("empty-directory"));
    let mut path = String::from("deep");
    for depth in 0..40 {
        nodes.push(Node::dir(path.clone()));
        path += &format!("/{depth}");
    }
    nodes.push(Node::file(path, b"at the bottom\n".to_vec()));
    // More than one header (256 entries) and more than one metadata block of listing; unsorted names.
    nodes.push(Node::dir("wide"));
    let mut names: Vec<u32> = (0..700).collect();
    random.shuffle(&mut names);
    for name in names {
        nodes.push(Node::file(format!("wide/entry-with-a-rather-long-name-{name}"), Vec::new()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn parents_and_link_targets_come_first() {
        let mut seen = BTreeSet::new();
        for node in small_tree(1, 4096) {
            let parent = node.path.iter().rposition(|&byte| byte == b'/').map_or(&[][..], |at| &node.path[..at]);
            assert!(node.path.is_empty() || seen.contains(parent), "{}", node.path.escape_ascii());
            if let NodeKind::HardLink(target) = &node.kind {
                assert!(seen.contains(target), "{}", target.escape_ascii());
            }
            assert!(seen.insert(node.path.clone()), "{} twice", node.path.escape_ascii());
        }
    }

    #[test]
    fn seed_decides() {
        let bytes = |seed| crate::tar::to_bytes(&without_holes(small_tree(seed, 4096)));
        assert_eq!(bytes(1), bytes(1));
        assert_ne!(bytes(1), bytes(2));
    }

    fn without_holes(mut nodes: Vec<Node>) -> Vec<Node> {
        nodes.retain(|node| !node.path.starts_with(b"holes/"));
        nodes
    }
}
