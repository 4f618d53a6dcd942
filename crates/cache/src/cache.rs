//! A cache while something is packed: entries, a limit, and counts.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Error;
use crate::entry::{Entry, HEADER};
use crate::key::Key;
use crate::store::Store;

/// Of the limit, the part that may be added before entries are removed.
const ADDED_PART: u64 = 16;

/// A cache of compressed blocks, shared by all workers.
#[derive(Debug)]
pub struct BlockCache {
    store: Store,
    limit: u64,
    found: AtomicU64,
    missed: AtomicU64,
    damaged: AtomicU64,
    added: AtomicU64,
    added_bytes: AtomicU64,
    /// Bytes that were added since entries were removed.
    untrimmed: AtomicU64,
    /// Whether an error has ended the use of the file system.
    ended: AtomicBool,
    first_error: Mutex<Option<Arc<Error>>>,
}

/// How blocks were found.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Blocks that were found.
    pub found: u64,
    /// Blocks that were not, and were compressed.
    pub missed: u64,
    /// Of those, blocks whose entries were damaged; they were removed.
    pub damaged: u64,
    /// Entries that were added.
    pub added: u64,
    /// Their bytes.
    pub added_bytes: u64,
    /// The first error of the file system, after which nothing was read or written.
    pub error: Option<Arc<Error>>,
}

impl BlockCache {
    /// Opens a cache, which is made if there is nothing, or an empty directory. It has about `limit` bytes at most: a sixteenth more while
    /// something is packed. `now` are seconds since 1970.
    ///
    /// # Errors
    /// [`Error::NotACache`] for a directory with anything else in it; [`Error::Io`].
    pub fn open(directory: &Path, limit: u64, now: i64) -> Result<BlockCache, Error> {
        Ok(BlockCache {
            store: Store::open(directory, now)?,
            limit,
            found: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            damaged: AtomicU64::new(0),
            added: AtomicU64::new(0),
            added_bytes: AtomicU64::new(0),
            untrimmed: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            first_error: Mutex::new(None),
        })
    }

    /// Removes entries if there are too many, once nothing more is added. Returns the counts.
    pub fn finish(&self) -> Counts {
        if self.untrimmed.swap(0, Ordering::Relaxed) > 0 {
            self.trim();
        }
        self.counts()
    }

    /// How blocks were found so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            found: of(&self.found),
            missed: of(&self.missed),
            damaged: of(&self.damaged),
            added: of(&self.added),
            added_bytes: of(&self.added_bytes),
            error: self.first_error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Reads the file of an entry for a block of up to `block_size` bytes; empty if there is none.
    pub(crate) fn read(&self, key: &Key, block_size: usize, bytes: &mut Vec<u8>) {
        bytes.clear();
        if !self.ended.load(Ordering::Relaxed)
            && let Err(error) = self.store.read(key, HEADER + block_size, bytes)
        {
            self.end(error);
        }
    }

    pub(crate) fn count_found(&self) {
        self.found.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_missed(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// An entry is not what its block compresses to.
    pub(crate) fn remove_damaged(&self, key: &Key) {
        self.damaged.fetch_add(1, Ordering::Relaxed);
        self.store.remove(key);
    }

    pub(crate) fn add(&self, key: &Key, entry: Entry<'_>) {
        if self.ended.load(Ordering::Relaxed) {
            return;
        }
        match self.store.write(key, entry) {
            Ok(bytes) => {
                self.added.fetch_add(1, Ordering::Relaxed);
                self.added_bytes.fetch_add(bytes, Ordering::Relaxed);
                let untrimmed = self.untrimmed.fetch_add(bytes, Ordering::Relaxed) + bytes;
                if untrimmed > self.limit / ADDED_PART && self.untrimmed.swap(0, Ordering::Relaxed) >= untrimmed {
                    self.trim();
                }
            }
            Err(error) => self.end(error),
        }
    }

    fn trim(&self) {
        if let Err(error) = self.store.trim(self.limit) {
            self.end(error);
        }
    }

    /// Uses the file system no more.
    fn end(&self, error: Error) {
        self.ended.store(true, Ordering::Relaxed);
        let mut first = self.first_error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| Arc::new(error));
    }
}
