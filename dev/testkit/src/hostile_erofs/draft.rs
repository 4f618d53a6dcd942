//! An image under construction: every field can be set freely, with helpers for valid values.

use crate::hostile::bytes::{Put, over};

pub(super) const BLOCK: usize = 4096;
/// Bytes before the superblock.
const BEFORE: usize = 1024;
const SUPERBLOCK: usize = 144;
const SLOT: usize = 32;

pub(super) const FILE: u16 = 0o100_644;
pub(super) const DIRECTORY: u16 = 0o040_755;
pub(super) const SYMLINK: u16 = 0o120_777;
pub(super) const FIFO: u16 = 0o010_600;

pub(super) const PLAIN: u16 = 0;
pub(super) const FULL: u16 = 1;
pub(super) const INLINE: u16 = 2;
pub(super) const COMPACT: u16 = 3;
pub(super) const CHUNKS: u16 = 4;

/// A number of the superblock: offset and length.
pub(super) type Field = (usize, usize);
pub(super) const COMPAT: Field = (8, 4);
pub(super) const BLOCK_BITS: Field = (12, 1);
pub(super) const SLOTS: Field = (13, 1);
pub(super) const ROOT: Field = (14, 2);
pub(super) const INODES: Field = (16, 8);
pub(super) const NANOSECONDS: Field = (32, 4);
pub(super) const BLOCKS: Field = (36, 4);
const INODE_BLOCK: Field = (40, 4);
pub(super) const XATTR_BLOCK: Field = (44, 4);
pub(super) const INCOMPAT: Field = (80, 4);
pub(super) const ALGORITHMS: Field = (84, 2);
pub(super) const DEVICES: Field = (86, 2);
pub(super) const DEVICE_TABLE: Field = (88, 2);
pub(super) const DIRECTORY_BITS: Field = (90, 1);
pub(super) const PREFIXES: Field = (91, 1);
pub(super) const PREFIX_START: Field = (92, 4);
pub(super) const PACKED: Field = (96, 8);
pub(super) const WIDE_ROOT: Field = (112, 8);
pub(super) const METABOX: Field = (128, 8);

/// An inode that was written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ino {
    pub(super) number: u64,
    /// Type in a directory entry.
    pub(super) kind: u8,
}

/// Fields of an extended inode and what follows it.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) format: u16,
    pub(super) mode: u16,
    pub(super) size: u64,
    /// First block, format of chunks, or device.
    pub(super) start: u32,
    pub(super) links: u32,
    /// Number of 4 bytes of attributes after the header, plus 1.
    pub(super) xattr_count: u16,
    /// Attributes with their header.
    pub(super) xattrs: Vec<u8>,
    /// What follows the attributes.
    pub(super) tail: Vec<u8>,
}

impl Node {
    pub(super) fn new(mode: u16, layout: u16, size: u64) -> Node {
        Node {
            format: layout << 1 | 1,
            mode,
            size,
            start: 0,
            links: 1,
            xattr_count: 0,
            xattrs: Vec::new(),
            tail: Vec::new(),
        }
    }

    /// A node whose content follows it.
    pub(super) fn inline(mode: u16, content: &[u8]) -> Node {
        Node::new(mode, INLINE, content.len() as u64).tail(content)
    }

    pub(super) fn start(self, start: u32) -> Node {
        Node { start, ..self }
    }

    pub(super) fn tail(self, tail: &[u8]) -> Node {
        Node { tail: tail.to_vec(), ..self }
    }

    /// Adds attributes with a header.
    pub(super) fn xattrs(self, xattrs: Vec<u8>) -> Node {
        Node { xattr_count: ((xattrs.len() - 12) / 4 + 1) as u16, xattrs, ..self }
    }

    /// A compressed file: map header, and an index after 8 more zeros.
    pub(super) fn full(size: u64, header: [u8; 8], entries: &[[u8; 8]]) -> Node {
        Node::new(FILE, FULL, size).tail(&[&header[..], &[0; 8], &entries.concat()].concat())
    }

    fn kind(&self) -> u8 {
        match self.mode & 0o170_000 {
            0o040_000 => 2,
            0o020_000 => 3,
            0o060_000 => 4,
            0o010_000 => 5,
            0o140_000 => 6,
            0o120_000 => 7,
            _ => 1,
        }
    }
}

/// An image under construction. Data is in the blocks after the superblock, then there are the inodes.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    data: Vec<u8>,
    metadata: Vec<u8>,
    /// Bytes after the superblock.
    pub(super) records: Vec<u8>,
    /// Fields of the superblock that are set last.
    pub(super) fields: Vec<(Field, u64)>,
    /// Offsets in the metadata of the entry `..` of directories, by their number.
    parents: Vec<(u64, usize)>,
    count: u64,
    /// Whether the checksum is right.
    pub(super) is_summed: bool,
}

impl Draft {
    /// An empty image with blocks of 4096 bytes.
    pub(super) fn new() -> Draft {
        Draft {
            data: Vec::new(),
            // Number 0 is not used.
            metadata: vec![0; SLOT],
            records: Vec::new(),
            fields: Vec::new(),
            parents: Vec::new(),
            count: 0,
            is_summed: true,
        }
    }

    /// An image with records of lz4, lzma and zstd with windows of 128 KiB, and with clusters of several blocks.
    pub(super) fn compressed() -> Draft {
        let mut draft = Draft::new();
        draft.records.u16(14).u16(0xffff).u16(256).all(&[0; 10]);
        draft.records.u16(14).u32(1 << 17).all(&[0; 10]);
        draft.records.u16(6).all(&[0, 7, 0, 0, 0, 0]);
        draft.set(INCOMPAT, 3).set(ALGORITHMS, 0b1011);
        draft
    }

    /// Sets a field at the end.
    pub(super) fn set(&mut self, field: Field, number: u64) -> &mut Draft {
        self.fields.retain(|(other, _)| *other != field);
        self.fields.push((field, number));
        self
    }

    /// Appends bytes to the data, up to the end of a block; returns their first block.
    pub(super) fn store(&mut self, bytes: &[u8]) -> u32 {
        let block = 1 + self.data.len() / BLOCK;
        self.data.extend_from_slice(bytes);
        self.data.resize(self.data.len().next_multiple_of(BLOCK), 0);
        block as u32
    }

    /// Appends bytes that end with a block, after zeros; returns their first block.
    pub(super) fn store_cluster(&mut self, bytes: &[u8]) -> u32 {
        let zeros = bytes.len().next_multiple_of(BLOCK) - bytes.len();
        self.store(&[&vec![0; zeros][..], bytes].concat())
    }

    /// Returns the number of the next inode, if all of its bytes are in one block.
    pub(super) fn next(&self, length: usize) -> u64 {
        let left = BLOCK - self.metadata.len() % BLOCK;
        let skipped = if length > left && length <= BLOCK { left } else { 0 };
        ((self.metadata.len() + skipped) / SLOT) as u64
    }

    /// Appends an inode.
    pub(super) fn node(&mut self, node: &Node) -> Ino {
        let mut bytes = Vec::new();
        bytes.u16(node.format).u16(node.xattr_count).u16(node.mode).u16(0).u64(node.size).u32(node.start);
        bytes.u32(self.count as u32 + 1).u32(0).u32(0).u64(1_700_000_000).u32(0).u32(node.links).all(&[0; 16]);
        bytes.all(&node.xattrs).all(&node.tail);
        let number = self.next(bytes.len());
        self.metadata.resize(number as usize * SLOT, 0);
        self.metadata.extend_from_slice(&bytes);
        self.metadata.resize(self.metadata.len().next_multiple_of(SLOT), 0);
        self.count += 1;
        Ino { number, kind: node.kind() }
    }

    /// A file with content after its inode.
    pub(super) fn file(&mut self, content: &[u8]) -> Ino {
        self.node(&Node::inline(FILE, content))
    }

    /// A directory of these entries, `.` and `..`.
    pub(super) fn directory(&mut self, entries: &[(&[u8], Ino)]) -> Ino {
        let mut all = vec![(&b"."[..], Ino { number: 0, kind: 2 }), (b"..", Ino { number: 0, kind: 2 })];
        all.extend(entries);
        all.sort_by_key(|(name, _)| *name);
        let number = self.next(64 + listing(&all).len());
        for (name, ino) in &mut all {
            if matches!(*name, b"." | b"..") {
                ino.number = number;
            }
        }
        let dots = all.iter().position(|(name, _)| *name == b"..").unwrap_or(0);
        let directories = 2 + entries.iter().filter(|(_, ino)| ino.kind == 2).count() as u32;
        let made = self.node(&Node { links: directories, ..Node::inline(DIRECTORY, &listing(&all)) });
        self.parents.push((made.number, made.number as usize * SLOT + 64 + 12 * dots));
        for (_, child) in entries {
            if let Some((_, at)) = self.parents.iter().find(|(number, _)| *number == child.number) {
                over(&mut self.metadata, *at, 8, made.number);
            }
        }
        made
    }

    /// The image with a root of this file, named `file`.
    pub(super) fn of_file(mut self, file: Ino) -> Vec<u8> {
        let root = self.directory(&[(b"file", file)]);
        self.build(root)
    }

    /// The image with a root of this node, named `file`.
    pub(super) fn of_node(mut self, node: &Node) -> Vec<u8> {
        let file = self.node(node);
        self.of_file(file)
    }

    /// The whole image.
    pub(super) fn build(self, root: Ino) -> Vec<u8> {
        let mut out = vec![0; BLOCK];
        let mut superblock = vec![0; SUPERBLOCK];
        let inode_block = 1 + self.data.len() / BLOCK;
        let metadata = self.metadata.len().next_multiple_of(BLOCK);
        let known: [(Field, u64); 7] = [
            ((0, 4), 0xe0f5_e1e2),
            (COMPAT, 3),
            (BLOCK_BITS, 12),
            (ROOT, root.number),
            (INODES, self.count),
            (BLOCKS, (inode_block + metadata / BLOCK) as u64),
            (INODE_BLOCK, inode_block as u64),
        ];
        for (field, number) in known.into_iter().chain(self.fields.iter().copied()) {
            over(&mut superblock, field.0, field.1, number);
        }
        let length = 128 + usize::from(superblock[SLOTS.0]).min(1) * 16;
        out[BEFORE..BEFORE + length].copy_from_slice(&superblock[..length]);
        out[BEFORE + length..BEFORE + length + self.records.len()].copy_from_slice(&self.records);
        let sum = checksum(&out[BEFORE..]);
        over(&mut out, BEFORE + 4, 4, u64::from(if self.is_summed { sum } else { !sum }));
        out.extend_from_slice(&self.data);
        out.extend_from_slice(&self.metadata);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
        out
    }
}

/// One block of entries with their names.
pub(super) fn listing(entries: &[(&[u8], Ino)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut at = 12 * entries.len();
    for (name, ino) in entries {
        bytes.u64(ino.number).u16(at as u16).all(&[ino.kind, 0]);
        at += name.len();
    }
    entries.iter().for_each(|(name, _)| bytes.extend_from_slice(name));
    bytes
}

/// CRC-32C without final inversion.
fn checksum(bytes: &[u8]) -> u32 {
    let zero_in_field = bytes.iter().enumerate().map(|(at, byte)| if (4..8).contains(&at) { 0 } else { *byte });
    zero_in_field.fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| sum >> 1 ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 })
    })
}

/// A sound image: files of several layouts, a directory, a link, an attribute.
pub fn sound() -> Vec<u8> {
    let mut draft = Draft::compressed();
    let block = draft.store(&[7; 5000]);
    let plain = draft.node(&Node::new(FILE, PLAIN, 5000).start(block));
    let frame = super::frames::zstd_repeat(17, b'x', 20_000);
    let cluster = draft.store_cluster(&frame);
    let coded = draft.node(&super::indexes::one_cluster(20_000, cluster, 3));
    let link = draft.node(&Node::inline(SYMLINK, b"plain"));
    let attribute = super::xattrs::set(&[], &[super::xattrs::entry(1, b"name", b"value")]);
    let short = draft.node(&Node::inline(FILE, b"short").xattrs(attribute));
    let below = draft.directory(&[(b"short", short)]);
    let root = draft.directory(&[(b"below", below), (b"coded", coded), (b"link", link), (b"plain", plain)]);
    draft.build(root)
}
