//! Listings and trees.

use super::Specimen;
use super::draft::*;
use crate::hostile::bytes::over;

/// A root with these bytes as its listing.
fn listed(change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut draft = Draft::new();
    let file = draft.file(b"content");
    let root = Ino { number: draft.next(64 + 12 * 4 + 100), kind: 2 };
    let mut bytes = listing(&[(b".", root), (b"..", root), (b"a", file), (b"b", file)]);
    change(&mut bytes);
    // The file has two names.
    let made = draft.node(&Node { links: 2, ..Node::inline(DIRECTORY, &bytes) });
    draft.build(made)
}

/// A root with entries in this order, each of the same file.
fn names(names: &[&[u8]]) -> Vec<u8> {
    let mut draft = Draft::new();
    let file = draft.node(&Node { links: names.len() as u32, ..Node::inline(FILE, b"content") });
    let length = names.iter().map(|name| 12 + name.len()).sum::<usize>();
    let root = Ino { number: draft.next(64 + 27 + length), kind: 2 };
    let mut entries = vec![(&b"."[..], root), (b"..", root)];
    entries.extend(names.iter().map(|name| (*name, file)));
    let made = draft.node(&Node { links: 2, ..Node::inline(DIRECTORY, &listing(&entries)) });
    draft.build(made)
}

const OFFSET: usize = 8;
const KIND: usize = 10;
const ENTRY: usize = 12;

pub(super) fn all() -> Vec<Specimen> {
    [blocks(), bad_names(), dots(), trees()].concat()
}

fn blocks() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-entries-zero", "directory block with 0 bytes of entries", "no entries", || {
            listed(|bytes| over(bytes, OFFSET, 2, 0))
        }),
        new("bad-entries-13", "directory block with 13 bytes of entries", "a part of an entry", || {
            listed(|bytes| over(bytes, OFFSET, 2, 13))
        }),
        new("bad-entries-most", "directory block with 65532 bytes of entries", "more entries than bytes", || {
            listed(|bytes| over(bytes, OFFSET, 2, 65_532))
        }),
        new("bad-name-offset-back", "directory entry whose name is from", "names that overlap", || {
            listed(|bytes| over(bytes, 2 * ENTRY + OFFSET, 2, 48))
        }),
        new("bad-name-offset-beyond", "directory entry whose name is from", "a name after the block", || {
            listed(|bytes| over(bytes, 3 * ENTRY + OFFSET, 2, 60_000))
        }),
        new("bad-type-8", "directory entry of type 8", "an unknown type", || {
            listed(|bytes| bytes[2 * ENTRY + KIND] = 8)
        }),
        new("bad-type-other", "listed as a named pipe", "another type than that of the inode", || {
            listed(|bytes| bytes[2 * ENTRY + KIND] = 5)
        }),
        new("bad-inode-beyond", "to byte", "an entry of an inode after the image", || {
            listed(|bytes| over(bytes, 2 * ENTRY, 8, 1 << 40))
        }),
        new("bad-inode-wide", "inode 9223372036854775807", "an entry of an inode of 63 bits", || {
            listed(|bytes| over(bytes, 2 * ENTRY, 8, u64::MAX >> 1))
        }),
        new("bad-directory-large", "to byte", "a directory of 2^62 bytes", || {
            let mut draft = Draft::new();
            let file = draft.file(b"content");
            let large = draft.node(&Node::new(DIRECTORY, PLAIN, 1 << 62).start(1 << 30));
            let root = draft.directory(&[(b"file", file), (b"large", large)]);
            draft.build(root)
        }),
    ]
}

fn bad_names() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-name-empty", "directory entry named \"\"", "an empty name", || names(&[b"", b"a"])),
        new("bad-name-slash", "directory entry named \"a/b\"", "a name with a slash", || names(&[b"a/b"])),
        new("bad-name-up", "directory entry named \"../up\"", "a name that leads out of the directory", || {
            names(&[b"../up"])
        }),
        new("bad-name-nul", "directory entry named \"a\\x00b\"", "a NUL in a name", || names(&[b"a\0b", b"c"])),
        new("bad-name-256", "directory entry named \"nnnn", "a name of 256 bytes", || names(&[&[b'n'; 256]])),
        new("bad-names-twice", "name \"a\" after \"a\"", "two entries of one name", || names(&[b"a", b"a"])),
        new("bad-names-unsorted", "name \"a\" after \"b\"", "names out of order", || names(&[b"b", b"a"])),
        new("bad-dot-twice", "name \".\" after \"..\"", "a second entry \".\"", || names(&[b".", b"a"])),
    ]
}

fn dots() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-no-dots", "directory without an entry \".\"", "a directory without \".\" and \"..\"", || {
            let mut draft = Draft::new();
            let file = draft.file(b"content");
            let root = draft.node(&Node { links: 2, ..Node::inline(DIRECTORY, &listing(&[(b"file", file)])) });
            draft.build(root)
        })
        .in_data(),
        new(
            "bad-dot-elsewhere",
            "entry \".\" of type 2 that leads to inode 1",
            "an entry \".\" of another inode",
            || listed(|bytes| over(bytes, 0, 8, 1)),
        )
        .in_data(),
        new(
            "bad-dot-dot-of-root",
            "entry \"..\" of type 2 that leads to inode 1",
            "a root in another directory",
            || listed(|bytes| over(bytes, ENTRY, 8, 1)),
        )
        .in_data(),
        new("bad-dot-file", "entry \".\" of type 1", "an entry \".\" of a file", || listed(|bytes| bytes[KIND] = 1))
            .in_data(),
    ]
}

fn trees() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-loop", "under a second name or inside itself", "a directory in itself", || {
            let mut draft = Draft::new();
            let own = Ino { number: draft.next(64 + 3 * 12 + 7), kind: 2 };
            let listing = listing(&[(b".", own), (b"..", own), (b"self", own)]);
            let root = draft.node(&Node { links: 3, ..Node::inline(DIRECTORY, &listing) });
            draft.build(root)
        }),
        new("bad-directory-twice", "under a second name or inside itself", "two names of a directory", || {
            let mut draft = Draft::new();
            let below = draft.directory(&[]);
            let root = draft.directory(&[(b"a", below), (b"b", below)]);
            draft.build(root)
        }),
        new("odd-directory-links", "", "a wrong link count of a directory", || {
            let mut draft = Draft::new();
            let own = Ino { number: draft.next(64 + 2 * 12 + 3), kind: 2 };
            let listing = listing(&[(b".", own), (b"..", own)]);
            let root = draft.node(&Node { links: 9, ..Node::inline(DIRECTORY, &listing) });
            draft.build(root)
        }),
        new("bad-deep", "path of 65761 bytes", "300 directories in each other, with names of 250 bytes", || {
            let mut draft = Draft::new();
            let mut inner = draft.directory(&[]);
            for _ in 0..300 {
                inner = draft.directory(&[(&[b'd'; 250], inner)]);
            }
            draft.build(inner)
        }),
    ]
}
