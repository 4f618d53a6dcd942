//! The directory of a cache during a pack: its limit, and the entries added.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Error;
use crate::entry::Entry;
use crate::key::Key;
use crate::store::Store;

/// Entries are removed when this part (1/16) of the limit has been added.
const ADDED_PART: u64 = 16;

/// Entries in a directory, which is not used after an error of the file system.
#[derive(Debug)]
pub struct Local {
    store: Store,
    limit: u64,
    added: AtomicU64,
    added_bytes: AtomicU64,
    /// Bytes added since entries were last removed.
    untrimmed: AtomicU64,
    /// Set by an error of the file system: the directory is not used any more.
    ended: AtomicBool,
    first_error: Mutex<Option<Arc<Error>>>,
}

impl Local {
    pub fn open(directory: &Path, limit: u64, now: i64) -> Result<Local, Error> {
        Ok(Local {
            store: Store::open(directory, now)?,
            limit,
            added: AtomicU64::new(0),
            added_bytes: AtomicU64::new(0),
            untrimmed: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            first_error: Mutex::new(None),
        })
    }

    /// Reads the file of an entry of up to `most` bytes. `bytes` stay empty if the file does not exist.
    pub fn read(&self, key: &Key, most: usize, bytes: &mut Vec<u8>) {
        bytes.clear();
        if !self.ended.load(Ordering::Relaxed)
            && let Err(error) = self.store.read(key, most, bytes)
        {
            self.end(error);
        }
    }

    pub fn remove(&self, key: &Key) {
        self.store.remove(key);
    }

    pub fn add(&self, key: &Key, entry: Entry<'_>) {
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

    /// Removes entries if there are too many. Called after the last entry is added.
    pub fn finish(&self) {
        if self.untrimmed.swap(0, Ordering::Relaxed) > 0 {
            self.trim();
        }
    }

    /// The number of entries added, and their bytes.
    pub fn added(&self) -> (u64, u64) {
        (self.added.load(Ordering::Relaxed), self.added_bytes.load(Ordering::Relaxed))
    }

    pub fn first_error(&self) -> Option<Arc<Error>> {
        self.first_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn trim(&self) {
        if let Err(error) = self.store.trim(self.limit) {
            self.end(error);
        }
    }

    /// Stops using the file system.
    fn end(&self, error: Error) {
        self.ended.store(true, Ordering::Relaxed);
        let mut first = self.first_error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| Arc::new(error));
    }
}
