//! Small images that cause much work: shared fragments, blocks, listings and attributes; images in images.

use super::Expect::{Contents, Huge, Rules, Sound};
use super::Specimen;
use super::bytes::{Put, compressed_block};
use super::codecs::{draft_for, packed};
use super::draft::{Draft, FileFields, Ino, NONE, extended_file};
use super::sound::{good, with_entry};

/// Sorted names: a letter and five digits.
fn names(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|index| format!("n{index:05}").into_bytes()).collect()
}

/// A root with a directory `many` of these inodes.
fn many(mut draft: Draft, inodes: &[Ino]) -> Vec<u8> {
    let names = names(inodes.len());
    let entries: Vec<(&[u8], Ino)> = names.iter().map(|name| &name[..]).zip(inodes.iter().copied()).collect();
    let directory = draft.directory(&entries);
    with_entry(draft, b"many", directory)
}

/// Files whose tail ends alternate between fragment blocks of 1 MiB compressed to a few bytes each.
fn shared_fragments(files: u32, fragments: u32) -> Vec<u8> {
    let mut draft = draft_for("zstd");
    draft.block_log = 20;
    let payload = packed("zstd", 1 << 20);
    for _ in 0..fragments {
        draft.fragment(&payload, payload.len() as u32);
    }
    let fields = |index: u32| FileFields::new(96, 8, Vec::new()).tail(index % fragments, index * 8 % (1 << 20));
    let inodes: Vec<Ino> = (0..files).map(|index| draft.file_with(&fields(index))).collect();
    many(draft, &inodes)
}

/// Files that share all blocks: `words` size words of the same block each.
fn shared_blocks(files: u32, words: u32) -> Vec<u8> {
    let mut draft = draft_for("zstd");
    draft.block_log = 20;
    let payload = packed("zstd", 1 << 20);
    let first = draft.store(&payload.repeat(words as usize));
    let fields = FileFields::new(first, u64::from(words) << 20, vec![payload.len() as u32; words as usize]);
    let inodes: Vec<Ino> = (0..files).map(|_| draft.file_with(&fields)).collect();
    many(draft, &inodes)
}

/// Inodes that share a set whose values of 64,000 bytes are all stored in one place.
fn shared_values(files: u32, pairs: u8) -> Vec<u8> {
    let mut draft = Draft::new();
    draft.values.u32(64_000).all(&[b'v'; 64_000]);
    let at = draft.values.len();
    for pair in 0..pairs {
        draft.values.u16(0x100).u16(1).all(&[b'A' + pair]).u32(8).u64(0);
    }
    let xattr = draft.attribute_set(at, pairs.into());
    let inodes: Vec<Ino> =
        (0..files).map(|_| draft.file_with(&FileFields { xattr, ..FileFields::new(96, 0, Vec::new()) })).collect();
    many(draft, &inodes)
}

/// Directories that share one listing of files.
fn shared_listing(directories: usize, files: usize) -> Vec<u8> {
    let mut draft = Draft::new();
    let links = directories as u32;
    let fields = FileFields { links, ..FileFields::new(96, 0, Vec::new()) };
    let inodes: Vec<Ino> = (0..files).map(|_| draft.file_with(&fields)).collect();
    let names = names(files);
    let entries: Vec<(&[u8], Ino)> = names.iter().map(|name| &name[..]).zip(inodes).collect();
    let (at, length) = draft.listing(&entries);
    let inodes: Vec<Ino> = (0..directories).map(|_| draft.directory_at(at, length)).collect();
    many(draft, &inodes)
}

/// One file with `count` names; the listing is compressed.
fn hard_links(count: usize, kind: u16) -> Vec<u8> {
    let mut draft = Draft::new();
    draft.codec = "zstd".parse().ok();
    draft.compressor = 6;
    let mut body = Vec::new();
    body.u32(count as u32);
    if kind == 4 {
        body.u32(0x0801)
    } else {
        &mut body
    };
    let node = match kind {
        9 => draft.file_with(&FileFields { links: count as u32, ..FileFields::new(96, 0, Vec::new()) }),
        _ => draft.inode(kind, &body),
    };
    let names = names(count);
    let entries: Vec<(&[u8], Ino)> = names.iter().map(|name| (&name[..], node)).collect();
    let root = draft.directory(&entries);
    draft.build(root)
}

/// A directory of names of 255 bytes.
fn long_names(count: usize) -> Vec<u8> {
    let mut draft = Draft::new();
    draft.codec = "zstd".parse().ok();
    draft.compressor = 6;
    let links = count as u32;
    let node = draft.inode(6, &links.to_le_bytes());
    let names: Vec<Vec<u8>> = (0..count).map(|index| format!("{index:0255}").into_bytes()).collect();
    let entries: Vec<(&[u8], Ino)> = names.iter().map(|name| (&name[..], node)).collect();
    let root = draft.directory(&entries);
    draft.build(root)
}

/// One file of many size words, all zero, with many names.
fn word_lists(files: usize, words: usize) -> Vec<u8> {
    let mut draft = Draft::new();
    draft.codec = "zstd".parse().ok();
    draft.compressor = 6;
    let names = names(files);
    let length = names.iter().map(|name| name.len() as u32 + 8).sum::<u32>() + 12 * files.div_ceil(256) as u32;
    let body = draft.directory_body(0, length + 3);
    let root = draft.inode(8, &body);
    let size = words as u64 * 4096;
    let file =
        draft.file_with(&FileFields { links: files as u32, sparse: size, ..FileFields::new(96, size, vec![0; words]) });
    let entries: Vec<(&[u8], Ino)> = names.iter().map(|name| (&name[..], file)).collect();
    draft.listing(&entries);
    draft.build(root)
}

/// A file that is an image that contains a file that is an image, four deep.
fn nested() -> Vec<u8> {
    let zstd = "zstd".parse().ok();
    (0..4).fold(good(), |inner, _| {
        let mut draft = draft_for("zstd");
        draft.block_log = 20;
        let payload = zstd.as_ref().and_then(|codec| compressed_block(codec, &inner)).unwrap_or_default();
        let start = draft.store(&payload);
        let file = draft.file_with(&FileFields::new(start, inner.len() as u64, vec![payload.len() as u32]));
        with_entry(draft, b"inner.sqfs", file)
    })
}

/// An image whose file is the image: its blocks begin at byte 0.
fn own_content() -> Vec<u8> {
    let build = |length: u64, word: u32| {
        let mut draft = Draft::new();
        draft.block_log = 20;
        let file = draft.file_with(&FileFields::new(0, length, vec![word]));
        with_entry(draft, b"self.sqfs", file)
    };
    let length = build(1, 0).len() as u32;
    build(length.into(), length | super::draft::STORED_BLOCK)
}

/// A zstd block of 1 MiB in few bytes, and a file that references it 2^12 times.
fn repeated_fields(draft: &mut Draft) -> Ino {
    draft.file_with(&FileFields::new(96, 4096 << 12, vec![NONE & 0x00ff_ffff; 1 << 12]))
}

pub(super) fn specimens() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new(
            "odd-fragments-alternating",
            Sound,
            "5,000 tail ends that alternate between 40 fragment blocks of 1 MiB",
            || shared_fragments(5_000, 40),
        ),
        new("odd-fragment-shared", Sound, "5,000 tail ends in one fragment block of 1 MiB", || {
            shared_fragments(5_000, 1)
        }),
        new("odd-blocks-shared", Huge, "2,000 files of the same 16 MiB, from an image of kilobytes", || {
            shared_blocks(2_000, 16)
        }),
        new("odd-xattr-shared", Huge, "10,000 files that share 20 values of 64,000 bytes", || {
            shared_values(10_000, 20)
        }),
        new("bad-listing-shared", Rules, "100 directories of the same listing of 200 files", || {
            shared_listing(100, 200)
        }),
        new("odd-hard-links", Sound, "one file under 20,000 names", || hard_links(20_000, 9)),
        new("odd-hard-links-device", Sound, "one device under 2,000 names", || hard_links(2_000, 4)),
        new("odd-names-long", Sound, "20,000 names of 255 bytes", || long_names(20_000)),
        new("odd-word-lists", Huge, "200 names of a file of 250,000 holes each", || word_lists(200, 250_000)),
        new("odd-image-in-image", Sound, "an image in an image, four deep", nested),
        new("bad-image-holds-itself", Contents, "a file that is the image it is in", own_content),
        new(
            "bad-blocks-beyond-many",
            Contents,
            "a file of 4,096 blocks of 16 MiB each, none of which is there",
            || {
                let mut draft = Draft::new();
                let file = repeated_fields(&mut draft);
                with_entry(draft, b"odd", file)
            },
        ),
        new("bad-inodes-overlapping", Contents, "a file whose size words are another inode", overlapping),
    ]
}

/// A file whose size words overlap the inode of a pipe, to which another entry points.
fn overlapping() -> Vec<u8> {
    let mut draft = Draft::new();
    let mut pipe = Vec::new();
    pipe.u16(6).u16(0o4755).u16(0).u16(0).u32(0).u32(2).u32(1);
    let mut body = extended_file(&FileFields::new(96, 5 * 4096, Vec::new()));
    body.all(&pipe);
    let file = draft.inode(9, &body);
    let pipe = Ino { position: file.position + 56, number: 2, kind: 6 };
    draft.exports.push(pipe.position as u64);
    let root = draft.directory(&[(b"file", file), (b"pipe", pipe)]);
    draft.build(root)
}
