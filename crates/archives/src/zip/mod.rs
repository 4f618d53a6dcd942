//! Zip archives as a source. A zip archive is read at offsets: its central directory, which lists the entries, is at its end.
//!
//! - Entries come in the order of the central directory. A path may occur twice. The source reports both entries, and
//!   [`packline_tree::Namespace`] keeps the last one, as for a tar.
//! - The central directory is read twice: first to check all entries, then to return them. So names, methods and encrypted entries are
//!   rejected before a content is read. Memory holds 8 bytes for each entry: the positions of the local headers, which show where
//!   each entry must end. No two entries may overlap, so the contents are no larger than what the archive can hold.
//! - Other bytes may come before an archive, as in a program that unpacks itself. The end record then shows where the archive begins, and all
//!   offsets are counted from there, or from the start of the file if the archive's writer has adjusted them.
//! - The local header of an entry is compared with the central directory when the content is read. Sizes and CRC-32 are compared with what
//!   was decoded.
//! - `docs/format/zip.md` lists what is read, and where programs differ.

mod content;
mod directory;
mod entry;
mod extra;
mod names;
mod source;

use std::sync::Arc;

use packline_runtime::Input;
use packline_tree::Error;

use directory::End;
pub use source::ZipSource;

use crate::decompress::Limits;
use crate::tar::{ErrorPosition, unreadable};

/// Bytes of the longest mark at the start of an archive.
const MARK: usize = 8;

/// Whether a file with this start is a zip archive: the first entry, the end of an archive without entries, or the mark of an archive that
/// was divided.
pub fn is_start(head: &[u8]) -> bool {
    const MARKS: [&[u8]; 4] = [b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08PK\x03\x04", b"PK00PK\x03\x04"];
    MARKS.iter().any(|mark| head.starts_with(mark))
}

/// A zip archive of which only the end was read.
pub struct ZipArchive {
    file: ZipFile,
    end: End,
}

/// The bytes of a zip archive, and its name in messages.
#[derive(Clone)]
struct ZipFile {
    input: Arc<dyn Input>,
    name: Arc<str>,
    /// Byte of the input from which offsets are counted.
    base: u64,
}

impl ZipArchive {
    /// Reads the end of an archive, which is called `name` in messages.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the end is damaged, or the archive is one of several parts. [`Error::Io`] if it cannot be read.
    pub fn open(input: Arc<dyn Input>, name: String) -> Result<ZipArchive, Error> {
        let mut file = ZipFile { input, name: name.into(), base: 0 };
        let end = End::find(&file)?;
        file.base = end.base;
        Ok(ZipArchive { file, end })
    }

    /// Whether an input is a zip archive that does not begin as one, because other bytes come first.
    pub fn is_after_other_bytes(input: &Arc<dyn Input>) -> bool {
        let mut head = [0; MARK];
        input.read_at(0, &mut head).is_ok()
            && !is_start(&head)
            && ZipArchive::open(Arc::clone(input), String::new())
                .is_ok_and(|archive| archive.end.has_entries(&archive.file))
    }

    /// Memory in bytes for the positions of the entries, at most.
    pub fn positions(&self) -> u64 {
        // A list has up to a quarter more than it needs.
        let position = size_of::<u64>() as u64;
        self.end.entries_most().saturating_mul(position + position / 4).saturating_add(4096)
    }

    /// Reads the central directory, and returns the entries. A decoder may use the window of `limits`.
    ///
    /// # Errors
    /// [`Error::Malformed`] for the first entry that is not valid, encrypted, or compressed by an unknown method.
    pub fn source(self, limits: &Limits) -> Result<ZipSource, Error> {
        // One content is read at a time.
        ZipSource::new(self.file, self.end, Limits { threads: 1, ..*limits })
    }
}

impl ZipFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let offset = self.base.saturating_add(offset);
        self.input.read_at(offset, buffer).map_err(|cause| unreadable(&self.name, cause))
    }

    /// A fault of the structure at `offset`; `entry` is empty if it belongs to no entry.
    fn malformed(&self, entry: &[u8], offset: u64, what: impl Into<String>, expected: impl Into<String>) -> Error {
        ErrorPosition { input: &self.name, entry, offset: self.base.saturating_add(offset) }.malformed(what, expected)
    }
}

/// A number of two bytes at a position; 0 after the end.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |number| u16::from_le_bytes(*number))
}

/// A number of four bytes at a position; 0 after the end.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |number| u32::from_le_bytes(*number))
}

/// A number of eight bytes at a position; 0 after the end.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |number| u64::from_le_bytes(*number))
}
