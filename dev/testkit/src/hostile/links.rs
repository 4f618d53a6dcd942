//! Symbolic links with zero or huge lengths, and links that lead out of the destination.

use super::Expect::{Sound, Tree};
use super::Specimen;
use super::bytes::Put;
use super::draft::{Draft, FileFields, STORED_BLOCK};
use super::sound::{with_entry, with_odd};

/// A link with this length field.
fn sized(size: u32, target: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    body.u32(1).u32(size).all(target);
    with_odd(|draft| draft.inode(3, &body))
}

fn link(target: &[u8]) -> Vec<u8> {
    with_odd(|draft| draft.symlink(target))
}

/// Links in a cycle, and one to itself.
fn ring() -> Vec<u8> {
    with_odd(|draft| {
        let one = draft.symlink(b"two");
        let two = draft.symlink(b"one");
        let own = draft.symlink(b"self");
        draft.directory(&[(b"one", one), (b"self", own), (b"two", two)])
    })
}

/// A link out of the destination, and files and directories whose names sort around it.
fn escaping() -> Vec<u8> {
    let mut draft = Draft::new();
    let link = draft.symlink(b"../outside");
    let start = draft.store(b"beside the link");
    let words = vec![15 | STORED_BLOCK];
    let file = draft.file_with(&FileFields { links: 2, ..FileFields::new(start, 15, words) });
    let directory = draft.directory(&[(b"victim", file)]);
    let inner = draft.directory(&[(b"link", link), (b"link-directory", directory), (b"victim", file)]);
    with_entry(draft, b"inner", inner)
}

pub(super) fn specimens() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-link-0", Tree, "a link of 0 bytes", || sized(0, b"")),
        new("bad-link-65536", Tree, "a link of 65,536 bytes", || sized(65_536, &[b't'; 65_536])),
        new("bad-link-4g", Tree, "a link of 2^32-1 bytes", || sized(u32::MAX, b"target")),
        new("bad-link-beyond", Tree, "a link that reaches beyond the inode table", || sized(60_000, b"target")),
        new("bad-link-nul", Tree, "a link with a NUL in it", || link(b"target\0/etc")),
        new("bad-link-only-nul", Tree, "a link to a NUL", || link(b"\0")),
        new("odd-link-absolute", Sound, "a link to /etc/passwd", || link(b"/etc/passwd")),
        new("odd-link-up", Sound, "a link to ../../../../etc/passwd", || link(b"../../../../etc/passwd")),
        new("odd-link-4095", Sound, "a link of 4,095 bytes, as long as Linux makes one", || link(&[b't'; 4095])),
        new("odd-link-terminal", Sound, "a link whose target is an escape for terminals", || link(b"\x1b[2J\n\xff")),
        new("odd-link-ring", Sound, "links in a ring", ring),
        new("odd-link-escaping", Sound, "a link out of the destination among names like its own", escaping),
    ]
}
