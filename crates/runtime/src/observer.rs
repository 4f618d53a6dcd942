//! Progress, warnings and problems, reported to the caller's observer.

use std::io;
use std::path::Path;

use crate::escape::Escape;

/// Progress of the work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries begun.
    pub entries: u64,
    /// Bytes of the source consumed: of the tar as it is stored, or of the files.
    pub source_bytes: u64,
    /// Bytes of the source in all, where that is known.
    pub source_total: Option<u64>,
    /// Bytes of file content read, holes included.
    pub content_bytes: u64,
    /// Bytes of the image written.
    pub image_bytes: u64,
    /// The pass that is being done, where the same content is gone over several times.
    pub pass: Option<Pass>,
}

/// One of several passes over the same content, each of which counts it from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Its operation: `matching`, `compressing`; `comparing`, `packing`.
    pub name: &'static str,
    /// Number of the part in this pass, from 1.
    pub part: u64,
    /// Bytes of content done.
    pub done: u64,
    /// Bytes of content in all, where that is known.
    pub total: Option<u64>,
}

impl Progress {
    /// Bytes of the source consumed, of `total` if that is known.
    #[must_use]
    pub fn of_source(done: u64, total: Option<u64>) -> Progress {
        Progress { source_bytes: done, source_total: total, ..Progress::default() }
    }
}

/// An entry of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryInfo<'a> {
    /// Its path below the root, with slashes; empty for the root.
    pub path: &'a [u8],
    /// Its kind.
    pub kind: EntryKind<'a>,
}

/// Kinds of entries that observers distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind<'a> {
    /// A regular file.
    File,
    /// Another name of the file with this path.
    HardLink(&'a [u8]),
    /// A directory, a symbolic link, a device, a pipe or a socket.
    Other,
}

/// Data in the image, and the byte of the image at which it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredData<'a> {
    /// The first data block of the file with this path below the root. Not of a file that shares its blocks with an earlier one.
    File {
        /// The first of its names.
        path: &'a [u8],
        /// Byte of the image.
        start: u64,
    },
    /// A fragment block.
    FragmentBlock {
        /// Its index in the fragment table.
        index: u32,
        /// Byte of the image.
        start: u64,
    },
}

/// Receives reports. Every call comes on the caller's thread and should cost next to nothing.
pub trait Observer {
    /// An entry is about to be packed or unpacked.
    fn entry(&mut self, _entry: EntryInfo<'_>, _progress: &Progress) {}
    /// Content was read: after every piece of at most a few hundred kilobytes, or a hole of any size.
    fn advance(&mut self, _progress: &Progress) {}
    /// The source has ended; what is in flight is compressed, and tables are written.
    fn finishing(&mut self, _progress: &Progress) {}
    /// The output is being read back: so many of its bytes are, of so many. First called with 0, at the end with all.
    fn verifying(&mut self, _done: u64, _total: u64) {}
    /// Whether [`Observer::stored`] is to be called.
    fn lists_data(&self) -> bool {
        false
    }
    /// The image is complete, and has this data: all of it, in the order of the image.
    fn stored(&mut self, _data: StoredData<'_>) {}
    /// The output is whole, and is being written to the medium, which can take long.
    fn syncing(&mut self) {}
    /// Something failed, and the rest continues on request.
    fn problem(&mut self, _error: &(dyn std::error::Error + 'static)) {}
    /// Something was left out or changed that the user may want to know.
    fn warning(&mut self, _message: &str) {}
    /// An output is whole, on the medium and has its name, but the system refused to sync the directory that the name is in: the
    /// name may be lost if the machine stops now. What it was made from should not be removed yet.
    fn unsynced(&mut self, output: &Path, cause: &io::Error) {
        self.warning(&unsynced(output, cause));
    }
}

/// The message for [`Observer::unsynced`].
#[must_use]
pub fn unsynced(output: &Path, cause: &io::Error) -> String {
    let output = output.escaped();
    format!("{output}: cannot sync its directory: {cause} (it is whole, but may lose its name at a power failure)")
}

/// Ignores every report.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
