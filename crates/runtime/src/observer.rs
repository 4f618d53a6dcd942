//! Progress, warnings and problems, reported to the caller's observer.

use std::io;
use std::path::Path;

use crate::escape::Escape;

/// An error after which the rest of the work continues.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// The error.
    pub error: &'a dyn std::error::Error,
    /// The call that failed, if the error belongs to an output.
    pub output: Option<FailedOutput<'a>>,
}

/// A failed system call for an output.
#[derive(Debug, Clone, Copy)]
pub struct FailedOutput<'a> {
    /// The output as the user named it.
    pub path: &'a Path,
    /// The failed operation, as a phrase: `cannot create`.
    pub action: &'static str,
    pub cause: &'a io::Error,
}

impl<'a> Problem<'a> {
    /// An error that belongs to no output.
    pub fn without_output(error: &'a dyn std::error::Error) -> Problem<'a> {
        Problem { error, output: None }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries begun.
    pub entries: u64,
    /// Bytes of the source consumed: of the tar as stored, or of the files.
    pub source_bytes: u64,
    /// Total bytes of the source, where known.
    pub source_total: Option<u64>,
    /// Bytes of file content read, holes included.
    pub content_bytes: u64,
    /// Bytes of the image written.
    pub image_bytes: u64,
    /// The current pass, where the same content is read several times.
    pub pass: Option<Pass>,
}

/// One of several passes over the same content. Each pass counts bytes from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// `matching`, `compressing`, `comparing` or `packing`.
    pub name: &'static str,
    /// Number of the part in this pass, from 1.
    pub part: u64,
    /// Bytes of content done.
    pub done: u64,
    /// Total bytes of content, where known.
    pub total: Option<u64>,
}

impl Progress {
    #[must_use]
    pub fn of_source(done: u64, total: Option<u64>) -> Progress {
        Progress { source_bytes: done, source_total: total, ..Progress::default() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryInfo<'a> {
    /// The path below the root, with slashes; empty for the root.
    pub path: &'a [u8],
    pub kind: EntryKind<'a>,
}

/// Kinds of entries that observers distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind<'a> {
    File,
    /// Another name of the file with this path.
    HardLink(&'a [u8]),
    /// A directory, a symbolic link, a device, a pipe or a socket.
    Other,
}

/// Data in the image. `start` is its first byte in the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredData<'a> {
    /// The first data block of a file. Files that share the blocks of an earlier file are not reported.
    File {
        /// The file's first name: its path below the root.
        path: &'a [u8],
        start: u64,
    },
    FragmentBlock {
        /// Index in the fragment table.
        index: u32,
        start: u64,
    },
}

/// Receives reports. Every call comes from the caller's thread and should return quickly.
pub trait Observer {
    /// An entry is about to be packed or unpacked.
    fn entry(&mut self, _entry: EntryInfo<'_>, _progress: &Progress) {}
    /// Content was read: at most a few hundred kilobytes, or a hole of any size.
    fn advance(&mut self, _progress: &Progress) {}
    /// The source has ended. The remaining blocks are compressed, and tables are written.
    fn finishing(&mut self, _progress: &Progress) {}
    /// The output is being read back: `done` of `total` bytes so far. First called with 0, last with all bytes.
    fn verifying(&mut self, _done: u64, _total: u64) {}
    /// Whether the observer wants calls of [`Observer::stored`].
    fn lists_data(&self) -> bool {
        false
    }
    /// The image is complete. Called for each piece of its data, in the order of the image.
    fn stored(&mut self, _data: StoredData<'_>) {}
    /// The output is complete and is being written to the medium, which can take long.
    fn syncing(&mut self) {}
    /// An entry failed, and the caller has requested to continue with the others.
    fn problem(&mut self, _problem: Problem<'_>) {}
    /// Something was skipped or changed that the user may want to know.
    fn warning(&mut self, _message: &str) {}
    /// An output is complete, on the medium and has its name, but the system could not sync its directory: the name may be lost
    /// if the machine stops now. The input should not be removed yet.
    fn unsynced(&mut self, output: &Path, cause: &io::Error) {
        self.warning(&unsynced(output, cause));
    }
}

/// Passes every report on.
impl<O: Observer + ?Sized> Observer for &mut O {
    fn entry(&mut self, entry: EntryInfo<'_>, progress: &Progress) {
        (**self).entry(entry, progress);
    }

    fn advance(&mut self, progress: &Progress) {
        (**self).advance(progress);
    }

    fn finishing(&mut self, progress: &Progress) {
        (**self).finishing(progress);
    }

    fn verifying(&mut self, done: u64, total: u64) {
        (**self).verifying(done, total);
    }

    fn lists_data(&self) -> bool {
        (**self).lists_data()
    }

    fn stored(&mut self, data: StoredData<'_>) {
        (**self).stored(data);
    }

    fn syncing(&mut self) {
        (**self).syncing();
    }

    fn problem(&mut self, problem: Problem<'_>) {
        (**self).problem(problem);
    }

    fn warning(&mut self, message: &str) {
        (**self).warning(message);
    }

    fn unsynced(&mut self, output: &Path, cause: &io::Error) {
        (**self).unsynced(output, cause);
    }
}

/// The message for [`Observer::unsynced`].
#[must_use]
pub fn unsynced(output: &Path, cause: &io::Error) -> String {
    let output = output.escaped();
    format!(
        "{output}: cannot sync its directory: {cause} (the output is complete, but a power failure may remove its name)"
    )
}

/// Ignores every report.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
