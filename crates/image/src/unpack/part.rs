//! A file, or several with the same content, that more than one job writes to.
//!
//! No handle is kept between jobs: the first job makes the files and notes which they are, later ones open them again and
//! check that they still are, and the last one finishes them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use packline_tree::destination::FileId;

/// What is known of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Not made yet.
    New,
    /// Made, and this is it.
    Made(FileId),
    /// Could not be made or written: the rest of it is not tried.
    Failed,
}

/// Files `first` to `first + count - 1` of the window, being written.
#[derive(Debug)]
pub struct Part {
    /// The first file.
    pub first: u32,
    /// How many are written at once.
    pub count: u32,
    /// How many more, right behind those, are to share their content when they are done.
    pub sharing: u32,
    /// Jobs that are not done, and one as long as jobs may be added.
    pending: AtomicU32,
    targets: Mutex<Vec<Target>>,
}

impl Part {
    /// Files that nothing was written to.
    pub fn new(first: u32, count: u32, sharing: u32) -> Part {
        Part {
            first,
            count,
            sharing,
            pending: AtomicU32::new(1),
            targets: Mutex::new(vec![Target::New; count as usize]),
        }
    }

    /// One more job.
    pub fn add_job(&self) {
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the calling job is the only one there is.
    pub fn is_last(&self) -> bool {
        self.pending.load(Ordering::Acquire) == 1
    }

    /// A job is done; true if it was the last.
    pub fn job_done(&self) -> bool {
        self.pending.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// What is known of the files, held so that one job makes each.
    pub fn targets(&self) -> MutexGuard<'_, Vec<Target>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
