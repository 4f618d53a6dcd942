//! A file, or several files with the same content, written by more than one job.
//!
//! No handle is kept between jobs. The first job creates the files and records their ids. Later jobs reopen the files and check the ids, and the
//! last job finishes the files.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use packline_tree::destination::FileId;

/// State of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Not created yet.
    New,
    /// Created, with this id.
    Made(FileId),
    /// Could not be created or written. Later jobs skip it.
    Failed,
}

/// Files `first` to `first + count - 1` of the window.
#[derive(Debug)]
pub struct Part {
    /// The first file.
    pub first: u32,
    /// Number of files that are written together.
    pub count: u32,
    /// Number of files after those that share the content in the end.
    pub sharing: u32,
    /// Unfinished jobs, plus one while jobs may be added.
    pending: AtomicU32,
    targets: Mutex<Vec<Target>>,
    /// Whether some of the content could not be read.
    damaged: AtomicBool,
}

impl Part {
    pub fn new(first: u32, count: u32, sharing: u32) -> Part {
        Part {
            first,
            count,
            sharing,
            pending: AtomicU32::new(1),
            targets: Mutex::new(vec![Target::New; count as usize]),
            damaged: AtomicBool::new(false),
        }
    }

    /// Records that zeros replace some of the content.
    pub fn mark_damaged(&self) {
        self.damaged.store(true, Ordering::Relaxed);
    }

    /// Whether zeros replace some of the content. Final when the last job is done.
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Returns the numbers of all files with this content.
    pub fn files(&self) -> Range<u32> {
        self.first..self.first + self.count + self.sharing
    }

    /// Counts one more job.
    pub fn add_job(&self) {
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the calling job is the only one.
    pub fn is_last(&self) -> bool {
        self.pending.load(Ordering::Acquire) == 1
    }

    /// Ends a job; returns whether it was the last.
    pub fn job_done(&self) -> bool {
        self.pending.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Returns the states of the files, locked so that one job creates each file.
    pub fn targets(&self) -> MutexGuard<'_, Vec<Target>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
