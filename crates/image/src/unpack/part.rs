//! A file, or several with the same content, written by more than one job.
//!
//! No handle is kept between jobs: the first job creates the files and records their ids, later ones reopen them and verify the ids, and the
//! last one finishes them.

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
    /// Could not be created or written: later jobs skip it.
    Failed,
}

/// Files `first` to `first + count - 1` of the window, being written.
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
    /// Some of the content could not be read.
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

    /// Records that zeros are in place of some of the content.
    pub fn mark_damaged(&self) {
        self.damaged.store(true, Ordering::Relaxed);
    }

    /// Whether zeros are in place of some of the content; final when the last job is done.
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// The numbers of all files that have this content.
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

    /// Ends a job; true if it was the last.
    pub fn job_done(&self) -> bool {
        self.pending.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// The states of the files, locked so that one job creates each.
    pub fn targets(&self) -> MutexGuard<'_, Vec<Target>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
