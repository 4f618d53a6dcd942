//! An image under construction: every field can be set freely, with helpers for valid values.

use packline_codec::Spec;

use super::bytes::{Put, STORED, blocks, indexed, over, reference, with_header};

/// Bytes of the superblock.
pub(super) const SUPERBLOCK: usize = 96;
/// Marks a missing table or index.
pub(super) const NONE: u32 = u32::MAX;
/// Set in the size word of a stored data block.
pub(super) const STORED_BLOCK: u32 = 1 << 24;

/// Position of a number in the superblock: byte and length.
pub(super) type Field = (usize, usize);
pub(super) const INODES: Field = (4, 4);
pub(super) const BLOCK_SIZE: Field = (12, 4);
pub(super) const FRAGMENTS: Field = (16, 4);
pub(super) const COMPRESSOR: Field = (20, 2);
pub(super) const BLOCK_LOG: Field = (22, 2);
pub(super) const FLAGS: Field = (24, 2);
pub(super) const IDS: Field = (26, 2);
pub(super) const MAJOR: Field = (28, 2);
pub(super) const MINOR: Field = (30, 2);
pub(super) const ROOT: Field = (32, 8);
pub(super) const BYTES_USED: Field = (40, 8);
pub(super) const ID_TABLE: Field = (48, 8);
pub(super) const XATTR_TABLE: Field = (56, 8);
pub(super) const INODE_TABLE: Field = (64, 8);
pub(super) const DIRECTORY_TABLE: Field = (72, 8);
pub(super) const FRAGMENT_TABLE: Field = (80, 8);
pub(super) const EXPORT_TABLE: Field = (88, 8);

/// An inode that was written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ino {
    /// Offset in the inode table.
    pub(super) position: usize,
    pub(super) number: u32,
    /// Basic type, 1 to 7.
    pub(super) kind: u16,
}

/// Fields of an extended file.
#[derive(Debug, Clone)]
pub(super) struct FileFields {
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) sparse: u64,
    pub(super) links: u32,
    pub(super) fragment: u32,
    pub(super) offset: u32,
    pub(super) xattr: u32,
    pub(super) words: Vec<u32>,
}

impl FileFields {
    /// A file of `size` bytes with only these blocks.
    pub(super) fn new(start: u64, size: u64, words: Vec<u32>) -> FileFields {
        FileFields { start, size, sparse: 0, links: 1, fragment: NONE, offset: 0, xattr: NONE, words }
    }

    /// Adds a tail end.
    pub(super) fn tail(self, fragment: u32, offset: u32) -> FileFields {
        FileFields { fragment, offset, ..self }
    }
}

/// An image under construction. Tables are raw bytes until [`Draft::build`].
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) block_log: u16,
    pub(super) compressor: u16,
    /// Flags in addition to the flags that follow from the other fields.
    pub(super) flags: u16,
    /// The compressor options, without their header.
    pub(super) options: Vec<u8>,
    /// The data area.
    pub(super) data: Vec<u8>,
    pub(super) inodes: Vec<u8>,
    pub(super) listings: Vec<u8>,
    pub(super) fragments: Vec<(u64, u32)>,
    pub(super) ids: Vec<u32>,
    /// Values and names of attributes.
    pub(super) values: Vec<u8>,
    /// Sets of attributes: reference, number of attributes, bytes.
    pub(super) sets: Vec<(u64, u32, u32)>,
    /// Reference of each inode, by its number less one.
    pub(super) exports: Vec<u64>,
    /// Whether there is an export table.
    pub(super) exported: bool,
    /// The stored inode table, replacing the blocks made of `inodes`.
    pub(super) inode_blocks: Option<Vec<u8>>,
    /// The same for the directory table.
    pub(super) listing_blocks: Option<Vec<u8>>,
    /// Codec of the tables. With one, references reach only the first block of a table.
    pub(super) codec: Option<Spec>,
    /// The mode of the next inodes.
    pub(super) mode: u16,
}

impl Draft {
    /// An empty image with blocks of 4096 bytes, gzip, everything owned by root.
    pub(super) fn new() -> Draft {
        Draft {
            block_log: 12,
            compressor: 1,
            flags: 0,
            options: Vec::new(),
            data: Vec::new(),
            inodes: Vec::new(),
            listings: Vec::new(),
            fragments: Vec::new(),
            ids: vec![0],
            values: Vec::new(),
            sets: Vec::new(),
            exports: Vec::new(),
            exported: false,
            inode_blocks: None,
            listing_blocks: None,
            codec: None,
            mode: 0o755,
        }
    }

    /// Image offset of the next data.
    pub(super) fn here(&self) -> u64 {
        let options = if self.options.is_empty() { 0 } else { self.options.len() + 2 };
        (SUPERBLOCK + options + self.data.len()) as u64
    }

    /// Appends bytes to the data area; returns their offset.
    pub(super) fn store(&mut self, bytes: &[u8]) -> u64 {
        let at = self.here();
        self.data.all(bytes);
        at
    }

    /// Appends a fragment block with this stored form; returns its index.
    pub(super) fn fragment(&mut self, bytes: &[u8], word: u32) -> u32 {
        let start = self.store(bytes);
        self.fragments.push((start, word));
        self.fragments.len() as u32 - 1
    }

    pub(super) fn stored_fragment(&mut self, bytes: &[u8]) -> u32 {
        self.fragment(bytes, bytes.len() as u32 | STORED_BLOCK)
    }

    /// An inode of any type with any body after its common part.
    pub(super) fn inode(&mut self, kind: u16, body: &[u8]) -> Ino {
        let number = self.exports.len() as u32 + 1;
        self.numbered_inode(kind, number, 0, body)
    }

    /// An inode with any number and index of its owner.
    pub(super) fn numbered_inode(&mut self, kind: u16, number: u32, owner: u16, body: &[u8]) -> Ino {
        let position = self.inodes.len();
        let mode = self.mode;
        self.inodes.u16(kind).u16(mode).u16(owner).u16(0).u32(1_700_000_000).u32(number).all(body);
        self.exports.push(reference(position));
        Ino { position, number, kind: if kind > 7 { kind.wrapping_sub(7) } else { kind } }
    }

    /// The extended directory that will be written after `directories` others.
    pub(super) fn ahead(&self, directories: usize) -> Ino {
        const LENGTH: usize = 40;
        let number = self.exports.len() as u32 + 1 + directories as u32;
        Ino { position: self.inodes.len() + LENGTH * directories, number, kind: 1 }
    }

    /// A file with this content in stored blocks.
    pub(super) fn file(&mut self, content: &[u8]) -> Ino {
        let start = self.store(content);
        let words = content.chunks(1 << self.block_log).map(|block| block.len() as u32 | STORED_BLOCK).collect();
        self.file_with(&FileFields::new(start, content.len() as u64, words))
    }

    /// An extended file with any fields.
    pub(super) fn file_with(&mut self, fields: &FileFields) -> Ino {
        self.inode(9, &extended_file(fields))
    }

    pub(super) fn symlink(&mut self, target: &[u8]) -> Ino {
        let mut body = Vec::new();
        body.u32(1).u32(target.len() as u32).all(target);
        self.inode(3, &body)
    }

    /// A listing of these entries, with a header for each run of inodes of one block; returns its position and length.
    pub(super) fn listing(&mut self, entries: &[(&[u8], Ino)]) -> (usize, u32) {
        let at = self.listings.len();
        let mut rest = entries;
        while let Some((_, first)) = rest.first() {
            let base = first.number;
            let fits = |(_, ino): &(&[u8], Ino)| {
                ino.position / 8192 == first.position / 8192
                    && i16::try_from(i64::from(ino.number) - i64::from(base)).is_ok()
            };
            let length = rest.iter().take(256).take_while(|entry| fits(entry)).count().max(1);
            self.run(&rest[..length], base);
            rest = &rest[length..];
        }
        (at, (self.listings.len() - at) as u32)
    }

    /// A header and its entries.
    fn run(&mut self, entries: &[(&[u8], Ino)], base: u32) {
        let block = reference(entries[0].1.position) >> 16;
        self.listings.u32(entries.len() as u32 - 1).u32(block as u32).u32(base);
        for (name, ino) in entries {
            let offset = reference(ino.position) as u16;
            let delta = (i64::from(ino.number) - i64::from(base)) as i16;
            self.listings
                .u16(offset)
                .u16(delta as u16)
                .u16(ino.kind)
                .u16((name.len() as u16).wrapping_sub(1))
                .all(name);
        }
    }

    /// A directory of these entries.
    pub(super) fn directory(&mut self, entries: &[(&[u8], Ino)]) -> Ino {
        let (at, length) = self.listing(entries);
        let directory = self.directory_at(at, length);
        for (_, child) in entries.iter().filter(|(_, child)| child.kind == 1 && child.position < directory.position) {
            self.set_parent(*child, directory.number);
        }
        directory
    }

    /// Both forms of a directory have the parent's number at the same offset.
    fn set_parent(&mut self, directory: Ino, parent: u32) {
        const PARENT: usize = 28;
        over(&mut self.inodes, directory.position + PARENT, 4, parent.into());
    }

    /// A directory whose listing is `length` bytes from byte `at` of the directory table on.
    pub(super) fn directory_at(&mut self, at: usize, length: u32) -> Ino {
        let body = self.directory_body(at, length.wrapping_add(3));
        self.inode(8, &body)
    }

    /// The body of an extended directory without index, of any size.
    pub(super) fn directory_body(&self, at: usize, size: u32) -> Vec<u8> {
        let place = if self.codec.is_some() { at as u64 } else { reference(at) };
        let parent = self.exports.len() as u32 + 2;
        let mut body = Vec::new();
        body.u32(2).u32(size).u32((place >> 16) as u32).u32(parent).u16(0).u16(place as u16).u32(NONE);
        body
    }

    /// The whole image with this root, padded.
    pub(super) fn build(self, root: Ino) -> Vec<u8> {
        let count = self.exports.len() as u32;
        let mut out = self.superblock(count, root);
        if !self.options.is_empty() {
            out.all(&with_header(self.options.len() as u16 | STORED, &self.options));
        }
        out.all(&self.data);
        let codec = self.codec.as_ref();
        note(&mut out, INODE_TABLE);
        let table = || blocks(&self.inodes, codec);
        out.all(&self.inode_blocks.clone().unwrap_or_else(table));
        note(&mut out, DIRECTORY_TABLE);
        let table = || blocks(&self.listings, codec);
        out.all(&self.listing_blocks.clone().unwrap_or_else(table));
        self.lookup_tables(&mut out);
        let used = out.len() as u64;
        set(&mut out, BYTES_USED, used);
        out.resize(out.len().next_multiple_of(4096), 0);
        out
    }

    fn superblock(&self, count: u32, root: Ino) -> Vec<u8> {
        let mut flags = self.flags;
        flags |= if self.options.is_empty() { 0 } else { 0x400 };
        flags |= if self.exported { 0x80 } else { 0 };
        flags |= if self.sets.is_empty() { 0x200 } else { 0 };
        let mut out = Vec::new();
        out.all(b"hsqs").u32(count).u32(1_700_000_000).u32(1 << self.block_log).u32(self.fragments.len() as u32);
        out.u16(self.compressor).u16(self.block_log).u16(flags).u16(self.ids.len() as u16).u16(4).u16(0);
        let place = if self.codec.is_some() { root.position as u64 } else { reference(root.position) };
        out.u64(place);
        out.resize(SUPERBLOCK, 0xff);
        out
    }

    /// The fragment, export, id and xattr tables.
    fn lookup_tables(&self, out: &mut Vec<u8>) {
        let mut table = |field, raw: Vec<u8>| {
            let (bytes, index) = indexed(&raw, out.len() as u64, self.codec.as_ref());
            out.all(&bytes);
            set(out, field, index);
        };
        if !self.fragments.is_empty() {
            let entry = |raw: &mut Vec<u8>, (start, word): &(u64, u32)| {
                raw.u64(*start).u32(*word).u32(0);
            };
            table(FRAGMENT_TABLE, gathered(&self.fragments, entry));
        }
        if self.exported {
            table(
                EXPORT_TABLE,
                gathered(&self.exports, |raw, at| {
                    raw.u64(*at);
                }),
            );
        }
        table(
            ID_TABLE,
            gathered(&self.ids, |raw, id| {
                raw.u32(*id);
            }),
        );
        if !self.sets.is_empty() {
            self.xattr_table(out);
        }
    }

    /// Values, sets, and the header with the index of the sets.
    fn xattr_table(&self, out: &mut Vec<u8>) {
        let values = out.len() as u64;
        out.all(&blocks(&self.values, self.codec.as_ref()));
        let raw = gathered(&self.sets, |raw, (at, count, size)| {
            raw.u64(*at).u32(*count).u32(*size);
        });
        let (bytes, index) = indexed(&raw, out.len() as u64, self.codec.as_ref());
        let index_at = (index - out.len() as u64) as usize;
        out.all(&bytes[..index_at]);
        set(out, XATTR_TABLE, index);
        out.u64(values).u32(self.sets.len() as u32).u32(0).all(&bytes[index_at..]);
    }
}

/// The body of an extended file.
pub(super) fn extended_file(fields: &FileFields) -> Vec<u8> {
    let mut body = Vec::new();
    body.u64(fields.start).u64(fields.size).u64(fields.sparse).u32(fields.links);
    body.u32(fields.fragment).u32(fields.offset).u32(fields.xattr);
    fields.words.iter().fold(&mut body, |body, word| body.u32(*word));
    body
}

fn gathered<T>(items: &[T], put: impl Fn(&mut Vec<u8>, &T)) -> Vec<u8> {
    let mut raw = Vec::new();
    items.iter().for_each(|item| put(&mut raw, item));
    raw
}

/// Stores the current length as the start of a table in the superblock.
fn note(out: &mut [u8], field: Field) {
    let here = out.len() as u64;
    set(out, field, here);
}

/// Overwrites a number of the superblock.
pub(super) fn set(image: &mut [u8], field: Field, number: u64) {
    over(image, field.0, field.1, number);
}

/// Reads a number of the superblock.
pub(super) fn get(image: &[u8], field: Field) -> u64 {
    super::bytes::number(image, field.0, field.1)
}
