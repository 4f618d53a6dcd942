//! One small tree with an entry of each form that an image can give to an entry.

use packline_testkit::Random;
use packline_testkit::model::{Content, Node, NodeKind};

/// Directory of the files whose content ends in a hole, or has one.
pub const HOLES: &[u8] = b"holes/";
/// A value that is shorter than what sharing saves for three inodes.
const COMMON: &str = "a value that many inodes have in common";

/// All kinds of entries. Sizes and copies are chosen for blocks of 4 KiB to 1 MiB.
pub fn nodes() -> Vec<Node> {
    let mut nodes = vec![Node::dir("").mode(0o1777).time(3), Node::dir("empty")];
    let mut random = Random::new(1);
    sizes(&mut nodes, &mut random);
    shared(&mut nodes, &mut random);
    holes(&mut nodes, &mut random);
    kinds(&mut nodes);
    attributes(&mut nodes, &mut random);
    listing(&mut nodes);
    nodes
}

/// Sizes around a block of the file system, which decide on the end of a file: inline, packed, in a block.
fn sizes(nodes: &mut Vec<Node>, random: &mut Random) {
    nodes.push(Node::dir("sizes"));
    for size in [0, 1, 60, 4095, 4096, 4097, 8192, 20_000] {
        nodes.push(Node::file(format!("sizes/prose-{size}"), random.prose(size)));
        nodes.push(Node::file(format!("sizes/noise-{size}"), random.noise(size)));
    }
}

/// Contents that have blocks, ends or everything in common.
fn shared(nodes: &mut Vec<Node>, random: &mut Random) {
    let large = random.prose(1_150_000);
    let noise = random.noise(270_001);
    nodes.push(Node::dir("shared"));
    for (name, content) in [
        ("all", large.clone()),
        ("copy", large.clone()),
        ("start", [&large[..262_144], b"another end"].concat()),
        ("inner", [&random.prose(131_072), &large[131_072..393_216]].concat()),
        ("noise", noise.clone()),
        ("noise-and-more", [&noise[..], b"more"].concat()),
        ("end", noise[262_144..].to_vec()),
        ("end-again", noise[262_144..].to_vec()),
        // A byte that repeats compresses to one cluster.
        ("same-byte", vec![b'x'; 700_000]),
    ] {
        nodes.push(Node::file(format!("shared/{name}"), content));
    }
}

fn holes(nodes: &mut Vec<Node>, random: &mut Random) {
    nodes.push(Node::dir("holes"));
    let mut file = |name: &str, size: u64, pieces: &[(u64, usize)]| {
        let pieces = pieces.iter().map(|&(at, length)| (at, random.noise(length))).collect();
        nodes.push(Node::new(format!("holes/{name}"), NodeKind::File(Content::sparse(size, pieces))));
    };
    file("start", (1 << 20) + 700, &[(1 << 20, 700)]);
    file("middle", 400_000, &[(0, 131_072), (393_216, 6784)]);
    file("unaligned", 300_000, &[(0, 5001), (200_003, 99_997)]);
    file("end", 400_000, &[(0, 4096)]);
    file("all", (1 << 20) + 5, &[]);
}

fn kinds(nodes: &mut Vec<Node>) {
    let link = |path: &str, target: &str| Node::new(path, NodeKind::Symlink(target.into()));
    let hard = |path: &str, target: &str| Node::new(path, NodeKind::HardLink(target.into()));
    nodes.extend([
        Node::dir("kinds"),
        Node::new("kinds/char", NodeKind::CharDevice(4095, 1_048_575)).mode(0o666),
        Node::new("kinds/block", NodeKind::BlockDevice(8, 1)).mode(0o660).owner(0, 6),
        Node::new("kinds/pipe", NodeKind::Fifo),
        link("kinds/link", "../shared/all"),
        link("kinds/far", &"x/".repeat(2000)),
        hard("kinds/hard-file", "shared/all"),
        hard("kinds/hard-char", "kinds/char"),
        hard("kinds/hard-link", "kinds/link"),
        Node::file("kinds/tool", "a tool").mode(0o6755).owner(65_535, 65_535),
        Node::file("kinds/owner", "a file").mode(0).owner(65_536, u32::MAX - 1),
        Node::file("kinds/early", "early").time(-1_000_000),
        Node::file("kinds/late", "late").time(5_000_000_000),
    ]);
}

fn attributes(nodes: &mut Vec<Node>, random: &mut Random) {
    nodes.push(Node::dir("attributes").xattr("user.common", COMMON));
    nodes.extend(
        (0..5).map(|number| Node::file(format!("attributes/common-{number}"), "").xattr("user.common", COMMON)),
    );
    nodes.extend([
        Node::file("attributes/none", "x"),
        Node::file("attributes/own", "x").xattr("user.own", "own").xattr("user.empty", ""),
        Node::file("attributes/large", random.prose(5000)).xattr("trusted.large", random.noise(5000)),
        Node::file("attributes/long-name", "").xattr(&format!("user.{}", "n".repeat(250)), "value"),
        Node::file("attributes/label", "x").xattr("security.selinux", b"system_u:object_r:bin_t:s0\0"),
        Node::file("attributes/overlay", "x").xattr("trusted.overlay.opaque", "y").xattr("user.common", COMMON),
        Node::file("attributes/access", "x").mode(0o664).xattr("system.posix_acl_access", access_list()),
    ]);
}

/// The access list of mode 0664 that lets user 77 write.
fn access_list() -> Vec<u8> {
    const NO_ID: u32 = u32::MAX;
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, rights, id) in [(0x01, 6, NO_ID), (0x02, 6, 77), (0x04, 4, NO_ID), (0x10, 6, NO_ID), (0x20, 4, NO_ID)] {
        bytes.extend_from_slice(&u16::to_le_bytes(tag));
        bytes.extend_from_slice(&u16::to_le_bytes(rights));
        bytes.extend_from_slice(&u32::to_le_bytes(id));
    }
    bytes
}

/// A directory of more than one block, with names that sort around "." and "..".
fn listing(nodes: &mut Vec<Node>) {
    nodes.push(Node::dir("many"));
    for name in ["!", "-", ".hidden", "..a", "~", "\u{e9}"] {
        nodes.push(Node::new(format!("many/{name}"), NodeKind::Fifo));
    }
    nodes.push(Node::new([&b"many/"[..], &[0xff; 255]].concat(), NodeKind::Fifo));
    nodes.extend((0..60).map(|number| Node::new(format!("many/{number:0100}"), NodeKind::Fifo)));
}
