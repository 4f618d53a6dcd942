//! Directories: loops, wrong lengths and counts, invalid references, and depths.

use super::Expect::{Rules, Sound, Tree};
use super::Specimen;
use super::bytes::{Put, over};
use super::draft::{Draft, NONE};
use super::sound::{with_entry, with_odd};

pub(super) fn specimens() -> Vec<Specimen> {
    [loops(), lengths(), entries(), indices(), depths()].concat()
}

/// A root that contains itself.
fn own_child() -> Vec<u8> {
    let mut draft = Draft::new();
    let root = draft.ahead(0);
    draft.directory(&[(b"self", root)]);
    draft.build(root)
}

/// Nested directories, the last of which contains the first again; the root contains the first.
fn ring(length: usize) -> Vec<u8> {
    let mut draft = Draft::new();
    let first = draft.ahead(0);
    for step in 1..=length {
        let next = if step == length { first } else { draft.ahead(1) };
        draft.directory(&[(b"next", next)]);
    }
    with_entry(draft, b"ring", first)
}

/// A directory that contains the root.
fn root_again() -> Vec<u8> {
    let mut draft = Draft::new();
    let inner = draft.ahead(0);
    let root = draft.ahead(1);
    draft.directory(&[(b"root", root)]);
    draft.directory(&[(b"inner", inner)]);
    draft.build(root)
}

/// One directory with two names.
fn two_names() -> Vec<u8> {
    let mut draft = Draft::new();
    let file = draft.file(b"sound");
    let directory = draft.directory(&[(b"file", file)]);
    let root = draft.directory(&[(b"one", directory), (b"two", directory)]);
    draft.build(root)
}

/// Directories that each contain the next twice: 2^60 paths.
fn doubling() -> Vec<u8> {
    let mut draft = Draft::new();
    let mut inner = draft.file(b"sound");
    for _ in 0..60 {
        inner = draft.directory(&[(b"a", inner), (b"b", inner)]);
    }
    draft.build(inner)
}

fn loops() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-loop-self", Tree, "the root holds itself", own_child),
        new("bad-loop-root", Tree, "a directory holds the root", root_again),
        new("bad-loop-one", Tree, "a directory holds itself", || ring(1)),
        new("bad-loop-two", Tree, "two directories hold each other", || ring(2)),
        new("bad-loop-hundred", Tree, "a hundred directories in a ring", || ring(100)),
        new("bad-directory-two-names", Tree, "a directory under two names", two_names),
        new("bad-directory-doubling", Tree, "60 directories, each twice in the one above: 2^60 paths", doubling),
    ]
}

/// A root with a directory `odd` whose listing is sound except for its size.
fn sized(size: fn(u32) -> u32) -> Vec<u8> {
    with_odd(|draft| {
        let file = draft.file(b"inner");
        let (at, length) = draft.listing(&[(b"inner", file)]);
        let body = draft.directory_body(at, size(length));
        draft.inode(8, &body)
    })
}

/// A root with a directory `odd` with changed bytes in its listing.
fn listing(change: fn(&mut [u8])) -> Vec<u8> {
    with_odd(|draft| {
        let file = draft.file(b"inner");
        let (at, length) = draft.listing(&[(b"inner", file)]);
        change(&mut draft.listings[at..]);
        draft.directory_at(at, length)
    })
}

/// A directory `odd` with its listing at any block and offset.
fn place(block: u32, offset: u16) -> Vec<u8> {
    with_odd(|draft| {
        let mut body = draft.directory_body(0, 100);
        over(&mut body, 8, 4, block.into());
        over(&mut body, 18, 2, offset.into());
        draft.inode(8, &body)
    })
}

/// A basic directory of this size.
fn basic(size: u16) -> Vec<u8> {
    with_odd(|draft| {
        let mut body = Vec::new();
        body.u32(0).u32(2).u16(size).u16(0).u32(3);
        draft.inode(1, &body)
    })
}

fn lengths() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-directory-size-0", Tree, "an extended directory of size 0", || sized(|_| 0)),
        new("bad-directory-size-1", Tree, "an extended directory of size 1", || sized(|_| 1)),
        new("bad-directory-basic-size-0", Tree, "a basic directory of size 0", || basic(0)),
        new("bad-directory-basic-size-2", Tree, "a basic directory of size 2", || basic(2)),
        new("odd-directory-basic-size-3", Sound, "a basic directory of size 3: an empty one", || basic(3)),
        new("bad-directory-size-4g", Tree, "a listing of 4 GiB in a table of a few bytes", || sized(|_| NONE)),
        new("bad-directory-size-less", Tree, "a listing that ends in a name", || sized(|length| length + 1)),
        new("bad-directory-size-header", Tree, "a listing that ends in a header", || sized(|_| 3 + 7)),
        new("bad-directory-size-entry", Tree, "a listing that ends in an entry's numbers", || sized(|_| 3 + 12 + 5)),
        new("bad-directory-size-more", Tree, "a listing that continues in the next one", || {
            sized(|length| length + 3 + 4)
        }),
        new("bad-directory-count-257", Tree, "257 entries below one header", || {
            listing(|bytes| over(bytes, 0, 4, 256))
        }),
        new("bad-directory-count-4g", Tree, "2^32 entries below one header", || {
            listing(|bytes| over(bytes, 0, 4, 0xffff_ffff))
        }),
        new("bad-directory-count-2", Tree, "a header of two entries and one after it", || {
            listing(|bytes| over(bytes, 0, 4, 1))
        }),
        new("bad-directory-offset-8192", Tree, "a listing at byte 8,192 of a metadata block", || place(0, 8192)),
        new("bad-directory-offset-65535", Tree, "a listing at byte 65,535 of a metadata block", || place(0, 65_535)),
        new("bad-directory-offset-behind", Tree, "a listing after the end of the last block", || place(0, 8000)),
        new("bad-directory-block-beyond", Tree, "a listing in a block beyond the table", || place(0xffff_fff0, 0)),
        new("bad-directory-block-odd", Tree, "a listing in a block that begins in the middle of another", || {
            place(5, 0)
        }),
    ]
}

fn entries() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-entry-block-beyond", Tree, "an entry whose inode is beyond the table", || {
            listing(|bytes| over(bytes, 4, 4, 0x7fff_ffff))
        }),
        new("bad-entry-block-odd", Tree, "an entry whose inode's block begins in the middle of another", || {
            listing(|bytes| over(bytes, 4, 4, 3))
        }),
        new("bad-entry-offset-65535", Tree, "an entry whose inode is at byte 65,535 of a block", || {
            listing(|bytes| over(bytes, 12, 2, 65_535))
        }),
        new("bad-entry-in-the-middle", Tree, "an entry whose inode is in the middle of another", || {
            listing(|bytes| over(bytes, 12, 2, 5))
        }),
        new("bad-entry-number", Rules, "an entry whose number is not its inode's", || {
            listing(|bytes| over(bytes, 14, 2, 7))
        }),
        new("bad-entry-number-below-0", Rules, "an entry whose number is below 0", || {
            listing(|bytes| over(bytes, 14, 2, 0x8000))
        }),
        // The kernel, too, adds the difference modulo 2^32, and the sum is the inode's number.
        new("odd-entry-header-number", Sound, "a header whose number wraps at 2^32 to the right one", || {
            listing(|bytes| {
                over(bytes, 8, 4, 0xffff_ffff);
                over(bytes, 14, 2, 2)
            })
        }),
        new("bad-entry-type-0", Tree, "an entry of type 0", || listing(|bytes| over(bytes, 16, 2, 0))),
        new("bad-entry-type-9", Tree, "an entry of an extended type", || listing(|bytes| over(bytes, 16, 2, 9))),
        new("bad-entry-type-65535", Tree, "an entry of type 65,535", || listing(|bytes| over(bytes, 16, 2, 65_535))),
        new("bad-entry-type-directory", Tree, "an entry that says directory, and its inode is a file", || {
            listing(|bytes| over(bytes, 16, 2, 1))
        }),
        new("bad-entry-type-symlink", Tree, "an entry that says link, and its inode is a file", || {
            listing(|bytes| over(bytes, 16, 2, 3))
        }),
    ]
}

/// A root with an index of one entry.
fn indexed(count: u16, offset: u32, block: u32, name_length: u32) -> Vec<u8> {
    let mut draft = Draft::new();
    let file = draft.file(b"inner");
    let (at, length) = draft.listing(&[(b"inner", file)]);
    let mut body = draft.directory_body(at, length + 3);
    over(&mut body, 16, 2, count.into());
    body.u32(offset).u32(block).u32(name_length).all(b"inner");
    let root = draft.inode(8, &body);
    draft.build(root)
}

fn indices() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-index-offset", Rules, "an index whose entry is at byte 2^32-1 of the listing", || {
            indexed(1, NONE, 0, 4)
        }),
        new("bad-index-block", Rules, "an index whose entry is in a block beyond the table", || {
            indexed(1, 0, 0x7fff_0000, 4)
        }),
        new("bad-index-name", Rules, "an index whose name has 2^32 bytes", || indexed(1, 0, 0, NONE)),
        new("bad-index-count", Rules, "an index of 65,535 entries in a table that has one", || {
            indexed(65_535, 0, 0, 4)
        }),
        new("bad-index-lies", Rules, "an index that sends every search past the entry", || indexed(1, 25, 0, 0)),
    ]
}

/// Nested directories.
fn deep(depth: usize) -> Vec<u8> {
    let mut draft = Draft::new();
    let mut inner = draft.directory(&[]);
    for _ in 1..depth {
        let (at, length) = draft.listing(&[(b"d", inner)]);
        let mut body = draft.directory_body(at, length + 3);
        let place = super::bytes::reference(at);
        body.clear();
        let parent = draft.exports.len() as u32 + 2;
        body.u32((place >> 16) as u32).u32(3).u16(length as u16 + 3).u16(place as u16).u32(parent);
        inner = draft.inode(1, &body);
    }
    draft.build(inner)
}

fn depths() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("odd-depth-2000", Sound, "2,000 directories one in the other", || deep(2_000)),
        new("odd-depth-30000", Sound, "30,000 directories one in the other", || deep(30_000)),
        new("bad-depth-40000", Tree, "40,000 directories one in the other: a path beyond 65,535 bytes", || {
            deep(40_000)
        }),
    ]
}
