//! The sound tree that specimens are derived from: two directories, files with and without tail ends, a link, attributes.

use packline_codec::Spec;

use super::bytes::{Put, compressed_block, noise};
use super::draft::{Draft, FileFields, Ino, NONE, STORED_BLOCK};

/// Size of `file`, bytes: two blocks and a tail end.
pub(super) const LENGTH: u64 = 10_000;

/// A sound image of stored blocks.
pub fn good() -> Vec<u8> {
    let (draft, root) = sound();
    draft.build(root)
}

/// A sound image whose blocks and tables are compressed with a codec; `none` stores them.
#[allow(clippy::panic, reason = "this builds inputs for tests")]
pub fn good_with(codec: &str) -> Vec<u8> {
    let spec: Spec = codec.parse().unwrap_or_else(|cause| panic!("{codec}: {cause}"));
    let mut draft = Draft::new();
    let id = compressor(codec);
    draft.compressor = id;
    draft.options = if codec == "lz4" { lz4_options() } else { Vec::new() };
    let root = fill(&mut draft, Some(&spec));
    draft.codec = Some(spec);
    draft.build(root)
}

/// The number of a codec in the superblock.
pub(super) fn compressor(codec: &str) -> u16 {
    let names = ["gzip", "lzma", "lzo", "xz", "lz4", "zstd"];
    names.iter().position(|name| *name == codec).map_or(1, |index| index as u16 + 1)
}

/// Version 1, no flags.
pub(super) fn lz4_options() -> Vec<u8> {
    let mut options = Vec::new();
    options.u32(1).u32(0);
    options
}

/// A sound tree in a draft, and its root.
pub(super) fn sound() -> (Draft, Ino) {
    let mut draft = Draft::new();
    let root = fill(&mut draft, None);
    (draft, root)
}

fn fill(draft: &mut Draft, codec: Option<&Spec>) -> Ino {
    draft.exported = true;
    draft.ids = vec![0, 1000];
    let words = b"words that compress, and again ".repeat(400);
    let set = draft.attributes(&[(0, b"name", b"value")]);
    let (tail, tail_word) = stored_or_compressed(&words[8192..LENGTH as usize], codec);
    let (first, first_word) = stored_or_compressed(&words[..4096], codec);
    let (second, second_word) = stored_or_compressed(&words[4096..8192], codec);
    let start = draft.store(&first);
    draft.store(&second);
    let fragment = draft.fragment(&tail, tail_word);
    let fields = FileFields::new(start, LENGTH, vec![first_word, second_word]).tail(fragment, 0);
    let file = draft.file_with(&FileFields { xattr: set, ..fields });
    let inner = basic_file(draft);
    let directory = draft.directory(&[(b"inner", inner)]);
    let link = draft.symlink(b"dir/inner");
    draft.directory(&[(b"dir", directory), (b"file", file), (b"link", link)])
}

fn stored_or_compressed(raw: &[u8], codec: Option<&Spec>) -> (Vec<u8>, u32) {
    match codec.and_then(|codec| compressed_block(codec, raw)) {
        Some(bytes) => (bytes.clone(), bytes.len() as u32),
        None => (raw.to_vec(), raw.len() as u32 | STORED_BLOCK),
    }
}

/// A basic file of one short block, with another owner.
fn basic_file(draft: &mut Draft) -> Ino {
    let content = noise(100);
    let start = draft.store(&content);
    let mut body = Vec::new();
    body.u32(start as u32).u32(NONE).u32(0).u32(100).u32(100 | STORED_BLOCK);
    let number = draft.exports.len() as u32 + 1;
    draft.numbered_inode(2, number, 1, &body)
}

/// The sound tree with one more entry `odd` in its root.
pub(super) fn with_odd(make: impl FnOnce(&mut Draft) -> Ino) -> Vec<u8> {
    let mut draft = Draft::new();
    let odd = make(&mut draft);
    with_entry(draft, b"odd", odd)
}

/// A root with a sound file and this entry.
pub(super) fn with_entry(mut draft: Draft, name: &[u8], entry: Ino) -> Vec<u8> {
    draft.mode = 0o755;
    let file = draft.file(b"sound");
    let mut entries: Vec<(&[u8], Ino)> = vec![(b"good", file), (name, entry)];
    entries.sort_by(|one, other| one.0.cmp(other.0));
    let root = draft.directory(&entries);
    draft.build(root)
}

impl Draft {
    /// Adds a set of attributes (prefix number, rest of the name, value); returns its index.
    pub(super) fn attributes(&mut self, pairs: &[(u16, &[u8], &[u8])]) -> u32 {
        let at = self.values.len();
        for (prefix, name, value) in pairs {
            self.values.u16(*prefix).u16(name.len() as u16).all(name).u32(value.len() as u32).all(value);
        }
        self.attribute_set(at, pairs.len() as u32)
    }

    /// Adds a set of `count` attributes from byte `at` of the values to their end; returns its index.
    pub(super) fn attribute_set(&mut self, at: usize, count: u32) -> u32 {
        let size = (self.values.len() - at) as u32;
        self.sets.push((super::bytes::reference(at), count, size));
        self.sets.len() as u32 - 1
    }
}
