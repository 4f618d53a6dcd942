//! Shared by the tests of `list`, `cat`, `info`, `diff`, `rdsquashfs` and `sqfsdiff`: trees, and images by every packer.

use packline_testkit::model::{Content, Node, NodeKind};
use packline_testkit::{Ran, Sandbox, generate, tools};

use crate::sandbox;

/// A sandbox with a planted tree in `source`, and the same as `source.tar`.
pub fn with_source(nodes: &[Node]) -> Sandbox {
    let sandbox = sandbox();
    sandbox.plant("source", nodes);
    sandbox.write_tar("source.tar", nodes);
    sandbox
}

/// Runs packline, which must succeed without a message.
#[track_caller]
pub fn quiet(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let ran = sandbox.good(arguments);
    assert_eq!(ran.stderr, "", "{arguments:?}");
    ran
}

/// Packs `source` with our packer.
pub fn pack(sandbox: &Sandbox, image: &str, options: &[&str]) {
    quiet(sandbox, &[&["pack", "source", image, "-q"], options].concat());
}

/// Images of the same tree by every packer: names.
pub fn images(sandbox: &Sandbox) -> Vec<&'static str> {
    pack(sandbox, "ours.sqfs", &["-c", "zstd"]);
    pack(sandbox, "small.sqfs", &["-c", "gzip", "-b", "4K", "--exportable"]);
    sandbox.peer("mksquashfs", &["source", "mk.sqfs", "-quiet", "-no-progress", "-comp", "xz", "-b", "16K"]);
    sandbox.peer("gensquashfs", &["-D", "source", "-k", "-x", "-q", "-c", "zstd", "gen.sqfs"]);
    sandbox.peer("sh", &["-c", "tar2sqfs -q -c gzip tar.sqfs < source.tar"]);
    vec!["ours.sqfs", "small.sqfs", "mk.sqfs", "gen.sqfs", "tar.sqfs"]
}

/// Returns whether all programs for the comparisons are installed, and the test runs as root.
pub fn ready() -> bool {
    tools::need(&["mksquashfs", "unsquashfs", "gensquashfs", "rdsquashfs", "sqfsdiff", "tar2sqfs"]) && tools::root()
}

/// A generated tree that all peers can keep.
pub fn tree() -> Vec<Node> {
    let mut nodes = generate::small_tree(5, 16_384);
    for node in &mut nodes {
        node.mtime = node.mtime.max(0);
        node.xattrs.retain(|(_, value)| !value.is_empty());
    }
    nodes
}

/// A small tree with each kind of entry.
pub fn zoo() -> Vec<Node> {
    let text = |length: usize, seed: u32| -> Vec<u8> {
        let words = (seed..).map(|number| format!("{} ", number.wrapping_mul(2_654_435_761) >> 20));
        words.flat_map(String::into_bytes).take(length).collect()
    };
    vec![
        Node::dir(""),
        Node::dir("d").mode(0o1777),
        Node::file("d/big", text(300_000, 1)).owner(1000, 100),
        Node::file("d/f", "hello").xattr("user.note", "value").mode(0o4755),
        Node::new("d/hard", NodeKind::HardLink(b"d/f".to_vec())),
        Node::new("d/hole", NodeKind::File(Content::sparse(400_000, vec![(200_000, text(9_000, 7))]))),
        Node::new("d/link", NodeKind::Symlink(b"f".to_vec())),
        Node::file("d/sp ace", "x"),
        Node::dir("d/sub"),
        Node::new("d/up", NodeKind::Symlink(b"../e/../d/f".to_vec())),
        Node::new("dev", NodeKind::CharDevice(5, 70_000)),
        Node::dir("e").owner(12, 34).time(900_000_000),
        Node::new("e/block", NodeKind::BlockDevice(8, 1)),
        Node::new("e/pipe", NodeKind::Fifo),
        Node::new("e/root", NodeKind::Symlink(b"/d/big".to_vec())),
        Node::file("e/small", text(900, 3)),
        Node::new("loop", NodeKind::Symlink(b"loop".to_vec())),
        Node::file("q\"uote", "y"),
    ]
}
