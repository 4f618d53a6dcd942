//! The tree of the samples.

use packline_testkit::model::{Content, Node, NodeKind};

fn lines(word: &str, count: usize) -> Vec<u8> {
    (0..count).flat_map(|number| format!("line {number} of {word}\n").into_bytes()).collect()
}

/// Bytes of a linear congruential generator, which do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// All kinds of entries; equal, large, small and empty files; a directory of several blocks; owners of more than 16 bits; equal attributes.
pub fn nodes() -> Vec<Node> {
    let holes = Content::sparse(300_004, vec![(150_000, b"data".to_vec())]);
    let text = |path: &str| Node::file(path, lines("text", 4000));
    let mut nodes = vec![
        Node::dir(""),
        Node::dir("a").time(1_600_000_001),
        text("a/copy"),
        Node::file("a/empty", ""),
        Node::new("a/holes", NodeKind::File(holes)),
        Node::file("a/noise", noise(9000)),
        Node::file("a/small", "small\n").xattr("user.note", "a note"),
        text("a/text").mode(0o600).owner(1000, 100),
        Node::file("a/tool", lines("tool", 500)).mode(0o4755).owner(100_000, 100_000),
        Node::new("hard", NodeKind::HardLink(b"a/text".to_vec())).mode(0o600).owner(1000, 100),
        Node::new("link", NodeKind::Symlink(b"a/text".to_vec())),
        Node::new("far", NodeKind::Symlink(["x/".repeat(500).as_bytes(), b"end"].concat())),
        Node::dir("many"),
    ];
    let many = |number| {
        let file = Node::file(format!("many/file-with-a-name-{number:03}"), format!("content {number}\n"));
        file.xattr("user.shared", "equal for all")
    };
    nodes.extend((0..300).map(many));
    nodes.extend([
        Node::file(format!("many/{}", "n".repeat(255)), "a long name\n"),
        Node::new("null", NodeKind::CharDevice(1, 3)).mode(0o666),
        Node::new("disk", NodeKind::BlockDevice(8, 1)),
        Node::new("pipe", NodeKind::Fifo),
    ]);
    nodes
}

/// The content of `a/text`.
pub fn text() -> Vec<u8> {
    lines("text", 4000)
}
