//! Random trees.

use packline_testkit::Random;
use packline_testkit::model::{Bytes, Content, Node, NodeKind};

/// Returns a tree with all kinds of entries; parents first.
pub(super) fn random(seed: u64, count: u64) -> Vec<Node> {
    let mut random = Random::new(seed);
    let mut nodes = vec![Node::dir("")];
    let mut directories: Vec<Bytes> = vec![Bytes::new()];
    let mut files: Vec<Bytes> = Vec::new();
    for number in 0..count {
        let parent = directories[random.below(directories.len() as u64) as usize].clone();
        let name = name(&mut random, number);
        let path = if parent.is_empty() { name } else { [&parent[..], b"/", &name].concat() };
        let kind = kind(&mut random, &files);
        match &kind {
            NodeKind::Dir if path.len() < 2000 => directories.push(path.clone()),
            NodeKind::Dir | NodeKind::HardLink(_) => {}
            _ => files.push(path.clone()),
        }
        let is_link = matches!(kind, NodeKind::HardLink(_) | NodeKind::Symlink(_));
        let mut node = attributes(&mut random, Node::new(path, kind));
        if is_link {
            node.mode = 0o777;
            node.xattrs.retain(|(name, _)| !name.starts_with(b"user."));
        }
        nodes.push(node);
    }
    nodes
}

/// Returns a name that is different for each number.
fn name(random: &mut Random, number: u64) -> Bytes {
    let start: &[u8] = match random.below(8) {
        0 => b"!",
        1 => b"-",
        2 => b".",
        3 => b"..a",
        4 => b"\xff\x01",
        5 => &[b'l'; 240],
        6 => b"~",
        _ => b"name",
    };
    [start, number.to_string().as_bytes()].concat()
}

fn kind(random: &mut Random, files: &[Bytes]) -> NodeKind {
    match random.below(20) {
        0..3 => NodeKind::Dir,
        3..5 => {
            let most = [20, 200, 4090][random.below(3) as usize];
            NodeKind::Symlink(vec![b't'; 1 + random.below(most) as usize])
        }
        5 => NodeKind::CharDevice(random.below(4096) as u32, random.below(1 << 20) as u32),
        6 => NodeKind::BlockDevice(8, 1),
        7 => NodeKind::Fifo,
        8 => NodeKind::Socket,
        9 | 10 if !files.is_empty() => NodeKind::HardLink(files[random.below(files.len() as u64) as usize].clone()),
        _ => NodeKind::File(Content::whole(content(random))),
    }
}

/// Returns content of different kinds, with holes.
pub(super) fn content(random: &mut Random) -> Bytes {
    let mut bytes = Bytes::new();
    for _ in 0..random.below(4) {
        let length = [100, 5000, 70_000, 300_000][random.below(4) as usize];
        let length = random.below(length) as usize;
        match random.below(4) {
            0 => bytes.extend(random.noise(length)),
            1 => {
                // Holes are whole blocks.
                bytes.resize(bytes.len().next_multiple_of(4096), b'x');
                bytes.resize(bytes.len() + length.next_multiple_of(65_536), 0);
            }
            _ => bytes.extend(random.prose(length)),
        }
    }
    bytes
}

fn attributes(random: &mut Random, mut node: Node) -> Node {
    node.mode = random.below(0o10000) as u16;
    if random.below(4) == 0 {
        node = node.owner(random.below(1 << 20) as u32, u32::MAX - 1);
    }
    node = node.time(match random.below(8) {
        0 => -(random.below(1 << 40) as i64),
        1 => random.below(1 << 34) as i64,
        2 => random.below(1 << 31) as i64,
        _ => 1_700_000_000,
    });
    if random.below(3) == 0 {
        node = node.xattr("security.selinux", format!("label {}", random.below(3)));
    }
    if random.below(10) == 0 {
        let length = random.below(3000) as usize;
        node = node.xattr("trusted.value", random.noise(length));
    }
    if random.below(10) == 0 && matches!(node.kind, NodeKind::File(_) | NodeKind::Dir) {
        node = node.xattr(&format!("user.{}", "n".repeat(1 + random.below(250) as usize)), "");
        node = node.xattr("system.posix_acl_access", ACL);
    }
    node
}

/// An access list for the owner, user 7, the group, the mask and others.
const ACL: [u8; 44] = [
    2, 0, 0, 0, //
    1, 0, 6, 0, 255, 255, 255, 255, //
    2, 0, 4, 0, 7, 0, 0, 0, //
    4, 0, 4, 0, 255, 255, 255, 255, //
    16, 0, 4, 0, 255, 255, 255, 255, //
    32, 0, 4, 0, 255, 255, 255, 255,
];

/// Returns directories of many entries and depths, and names and targets of all lengths.
pub(super) fn edges() -> Vec<Node> {
    let mut nodes = vec![Node::dir(""), Node::dir("empty"), Node::dir("many"), Node::dir("exact")];
    nodes.extend((0..3000).map(|number| Node::new(format!("many/{number:05}"), NodeKind::Fifo)));
    // Two blocks that are exactly full: 24 bytes and 3 bytes of "." and "..", then entries of 12 bytes and names of 244 and 241 bytes.
    let name = |number: usize| format!("exact/{number:0length$}", length = if number == 0 { 217 } else { 244 });
    nodes.extend((0..32).map(|number| Node::new(name(number), NodeKind::Fifo)));
    for length in [1, 2000, 4000, 4031, 4032, 4033, 4063, 4064, 4065, 4094] {
        nodes.push(Node::new(format!("link{length}"), NodeKind::Symlink(vec![b'a'; length])));
    }
    let mut path = String::from("deep");
    for _ in 0..40 {
        nodes.push(Node::dir(path.clone()));
        path.push_str("/d");
    }
    nodes.extend((1..=255).map(|length| Node::new("n".repeat(length), NodeKind::Socket)));
    nodes
}
