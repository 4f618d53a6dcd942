//! Directory blocks.
//!
//! A directory is a sequence of blocks; the last one ends with the directory. A block has entries of 12 bytes, then their names in the same
//! order. An entry: inode u64, offset of the name in the block u16, type u8, 0 u8. The offset of the first name is the length of all entries.
//! A name ends where the next one starts; the last name ends before the first NUL, or with the block. Names are sorted over the whole
//! directory, `.` and `..` among them.

use packline_volume::NodeType;

use super::wire::{half, long, put};

/// Length of an entry in bytes.
const ENTRY_BYTES: usize = 12;
/// Longest name in bytes.
pub(crate) const LONGEST_NAME: usize = 255;

/// Returns the type of a number in an entry, 1 to 7; `None` for another number.
pub(crate) fn node_type(number: u8) -> Option<NodeType> {
    use NodeType::{BlockDevice, CharDevice, Directory, Fifo, File, Socket, Symlink};
    let all = [File, Directory, CharDevice, BlockDevice, Fifo, Socket, Symlink];
    all.get(usize::from(number).checked_sub(1)?).copied()
}

/// Returns the number of a type in an entry.
fn number_of(kind: NodeType) -> u8 {
    match kind {
        NodeType::File => 1,
        NodeType::Directory => 2,
        NodeType::CharDevice => 3,
        NodeType::BlockDevice => 4,
        NodeType::Fifo => 5,
        NodeType::Socket => 6,
        NodeType::Symlink => 7,
    }
}

/// Returns the bytes of an entry with its name.
pub(crate) fn bytes_of(name: &[u8]) -> usize {
    ENTRY_BYTES + name.len()
}

/// The entries of a block that is written.
#[derive(Debug, Default)]
pub(crate) struct BlockEntries {
    /// Entries with the offsets of their names in `names`.
    entries: Vec<u8>,
    names: Vec<u8>,
}

impl BlockEntries {
    /// Returns the bytes of all entries with their names, which are at most those of a block.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.len() + self.names.len()
    }

    /// Adds an entry. Names must be added in their order.
    pub(crate) fn push(&mut self, inode: u64, kind: NodeType, name: &[u8]) {
        self.entries.extend_from_slice(&inode.to_le_bytes());
        self.entries.extend_from_slice(&(self.names.len() as u16).to_le_bytes());
        self.entries.extend_from_slice(&[number_of(kind), 0]);
        self.names.extend_from_slice(name);
    }

    /// Appends all entries to `out`, without padding, and removes them.
    pub(crate) fn take(&mut self, out: &mut Vec<u8>) {
        let names = self.entries.len() as u16;
        for entry in self.entries.chunks_exact_mut(ENTRY_BYTES) {
            let offset = names + half(entry, 8);
            put(entry, 8, offset.to_le_bytes());
        }
        out.append(&mut self.entries);
        out.append(&mut self.names);
    }
}

/// A rule that a block breaks: the description and the expected value.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) what: String,
    pub(crate) expected: String,
}

impl Broken {
    fn new(what: String, expected: impl Into<String>) -> Broken {
        Broken { what, expected: expected.into() }
    }
}

/// One entry of a block.
#[derive(Debug)]
pub(crate) struct RawEntry<'b> {
    pub(crate) inode: u64,
    pub(crate) kind: u8,
    /// 1 to 255 bytes without NUL and slash.
    pub(crate) name: &'b [u8],
}

/// The bytes of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DirBlock<'b> {
    bytes: &'b [u8],
    entries: usize,
}

impl<'b> DirBlock<'b> {
    /// Checks the length of the entries.
    pub(crate) fn new(bytes: &'b [u8]) -> Result<DirBlock<'b>, Broken> {
        let length = usize::from(half(bytes, 8));
        if bytes.len() <= ENTRY_BYTES || length < ENTRY_BYTES || length >= bytes.len() || length % ENTRY_BYTES != 0 {
            let expected = format!("a multiple of 12 below {}, the length of the block", bytes.len());
            return Err(Broken::new(format!("directory block with {length} bytes of entries"), expected));
        }
        Ok(DirBlock { bytes, entries: length / ENTRY_BYTES })
    }

    /// Returns the number of entries, at least one.
    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    /// Returns the offset of the first byte after the last name, if not all bytes from there on are zero.
    pub(crate) fn stray_end(&self) -> Option<usize> {
        let start = usize::from(half(self.bytes, (self.entries - 1) * ENTRY_BYTES + 8));
        let rest = self.bytes.get(start..).unwrap_or(&[]);
        let end = before_nul(rest).len();
        rest[end..].iter().any(|byte| *byte != 0).then_some(start + end)
    }

    /// Returns the entry with a number below [`DirBlock::entries`].
    pub(crate) fn entry(&self, number: usize) -> Result<RawEntry<'b>, Broken> {
        let at = number * ENTRY_BYTES;
        let start = usize::from(half(self.bytes, at + 8));
        let is_last = number + 1 == self.entries;
        let end = if is_last { self.bytes.len() } else { usize::from(half(self.bytes, at + ENTRY_BYTES + 8)) };
        let names = self.entries * ENTRY_BYTES;
        let Some(bytes) = self.bytes.get(start..end).filter(|_| start >= names) else {
            let expected = format!("consecutive offsets from {names} to {}", self.bytes.len());
            return Err(Broken::new(
                format!("directory entry whose name is from {start} to {end} of its block"),
                expected,
            ));
        };
        let name = if is_last { before_nul(bytes) } else { bytes };
        if name.is_empty() || name.len() > LONGEST_NAME || memchr::memchr2(0, b'/', name).is_some() {
            let start = &name[..name.len().min(LONGEST_NAME)];
            let what = format!("directory entry named \"{}\"", start.escape_ascii());
            return Err(Broken::new(what, "a name of 1 to 255 bytes without slash and NUL"));
        }
        Ok(RawEntry { inode: long(self.bytes, at), kind: self.bytes[at + 10], name })
    }
}

fn before_nul(bytes: &[u8]) -> &[u8] {
    &bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of entries with these offsets of names, which follow.
    fn block(offsets: &[u16], names: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, offset) in offsets.iter().enumerate() {
            bytes.extend_from_slice(&(number as u64).to_le_bytes());
            bytes.extend_from_slice(&offset.to_le_bytes());
            bytes.extend_from_slice(&[1, 0]);
        }
        bytes.extend_from_slice(names);
        bytes
    }

    #[test]
    fn reads_names_up_to_the_next_name_or_nul() {
        let bytes = block(&[24, 25], b"abc\0\0\0");
        let block = DirBlock::new(&bytes).unwrap();
        assert_eq!(block.entries(), 2);
        assert_eq!(block.entry(0).unwrap().name, b"a");
        let last = block.entry(1).unwrap();
        assert_eq!((last.name, last.inode, last.kind), (b"bc".as_slice(), 1, 1));
    }

    #[test]
    fn reads_what_was_written() {
        use NodeType::{BlockDevice, CharDevice, Directory, Fifo, File, Socket, Symlink};
        let kinds = [File, Directory, CharDevice, BlockDevice, Fifo, Socket, Symlink];
        let mut entries = BlockEntries::default();
        let mut out = Vec::new();
        for round in 0..2 {
            let mut bytes = 0;
            for (number, kind) in (0..).zip(kinds) {
                let name = vec![b'a' + number as u8; 1 + number as usize * 40];
                entries.push(number << 33 | round, kind, &name);
                bytes += bytes_of(&name);
            }
            assert_eq!(entries.bytes(), bytes);
            out.clear();
            entries.take(&mut out);
            assert_eq!((out.len(), entries.bytes()), (bytes, 0));
            let block = DirBlock::new(&out).unwrap();
            assert_eq!(block.entries(), kinds.len());
            for (number, kind) in (0..).zip(kinds) {
                let entry = block.entry(number as usize).unwrap();
                assert_eq!((entry.inode, node_type(entry.kind)), (number << 33 | round, Some(kind)));
                assert_eq!(entry.name, vec![b'a' + number as u8; 1 + number as usize * 40]);
            }
        }
    }

    #[test]
    fn rejects_names_outside_of_the_block_or_of_no_bytes() {
        for (offsets, names) in [
            ([24u16, 24], b"abc".as_slice()),
            ([24, 23], b"abc"),
            ([24, 28], b"abc"),
            ([24, 25], b"/bc"),
            ([24, 26], b"\0bc"),
            ([24, 25], b"a\0bc"),
        ] {
            let bytes = block(&offsets, names);
            let block = DirBlock::new(&bytes).unwrap();
            assert!(block.entry(0).is_err() || block.entry(1).is_err(), "{offsets:?} {names:?}");
        }
    }

    #[test]
    fn rejects_entries_of_a_wrong_total_length() {
        for first in [0, 11, 13, 36, 40] {
            assert!(DirBlock::new(&block(&[first, 25], b"abcdefghijkl")).is_err(), "{first}");
        }
    }
}
