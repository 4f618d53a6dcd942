//! A cache during a pack, with counts: a directory, a server, or a directory in front of a server.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::Error;
use crate::cluster::LargestBlock;
use crate::entry::{Entry, HEADER};
use crate::key::Key;
use crate::local::Local;
use crate::remote::{Remote, RemoteCounts, RemoteMemory};

/// A cache of compressed blocks, shared by all workers.
#[derive(Debug, Default)]
pub struct BlockCache {
    local: Option<Local>,
    remote: Option<Box<dyn Remote>>,
    found: AtomicU64,
    found_remote: AtomicU64,
    missed: AtomicU64,
    damaged: AtomicU64,
    /// Whether a warning about the directory, and about the server, was returned.
    warned: [AtomicBool; 2],
}

#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Counts {
    pub found: u64,
    /// Blocks that were not found, and were compressed.
    pub missed: u64,
    /// Damaged entries. Damaged entries of the directory were removed.
    pub damaged: u64,
    pub has_directory: bool,
    pub added: u64,
    /// Bytes of the entries that were added to the directory.
    pub added_bytes: u64,
    /// The first error of the file system. The directory was not used after it.
    pub error: Option<Arc<Error>>,
    /// Counts of the server, if there is one.
    pub remote: Option<RemoteCounts>,
}

/// The place of an entry, in the order of lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryLocation {
    Local,
    Remote,
}

impl EntryLocation {
    /// Returns the location as text for log messages.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            EntryLocation::Local => "in the directory",
            EntryLocation::Remote => "on the server",
        }
    }
}

impl BlockCache {
    /// Opens a cache. Creates it if `directory` is missing or empty. The cache has at most about `limit` bytes, and a sixteenth
    /// more during a pack. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// [`Error::NotACache`] for a directory with any other content; [`Error::Io`].
    pub fn open(directory: &Path, limit: u64, now: i64) -> Result<BlockCache, Error> {
        Ok(BlockCache { local: Some(Local::open(directory, limit, now)?), ..BlockCache::default() })
    }

    /// A cache without a directory.
    #[must_use]
    pub fn shared(remote: Box<dyn Remote>) -> BlockCache {
        BlockCache::default().with_remote(remote)
    }

    /// The same cache with a server after the directory: entries that are not in the directory are looked up on the server, and
    /// entries found there are added to the directory.
    #[must_use]
    pub fn with_remote(self, remote: Box<dyn Remote>) -> BlockCache {
        BlockCache { remote: Some(remote), ..self }
    }

    /// Called after the last entry is added: completes the additions, and removes entries if there are too many.
    pub fn finish(&self) -> Counts {
        if let Some(local) = &self.local {
            local.finish();
        }
        let counts = self.counts();
        let Counts { found, missed, damaged, added, .. } = counts;
        log::debug!(
            "cache: {found} blocks found, {missed} not found, {damaged} damaged, {added} added to the directory"
        );
        counts
    }

    /// The counts so far. Waits for a limited time until all entries are on the server.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (added, added_bytes) = self.local.as_ref().map(Local::added).unwrap_or_default();
        let remote = self.remote.as_ref().map(|remote| remote.finish());
        Counts {
            found: of(&self.found),
            missed: of(&self.missed),
            damaged: of(&self.damaged),
            has_directory: self.local.is_some(),
            added,
            added_bytes,
            error: self.local.as_ref().and_then(Local::first_error),
            remote: remote.map(|counts| RemoteCounts { found: of(&self.found_remote), ..counts }),
        }
    }

    /// The problems so far, as sentences. Each is returned only once. No problem has changed a byte of output.
    pub fn warnings(&self) -> Vec<String> {
        let Counts { error, remote, .. } = self.counts();
        let local = error.map(|error| format!("{error}; the cache was not used after that"));
        let all = [local, remote.and_then(|remote| remote.warning)];
        let is_new = |warned: &AtomicBool| !warned.swap(true, Ordering::Relaxed);
        self.warned.iter().zip(all).filter_map(|(warned, text)| text.filter(|_| is_new(warned))).collect()
    }

    /// Memory of the server's connections, in addition to [`crate::Lookup::encoder_memory`].
    pub(crate) fn remote_memory(&self, largest: LargestBlock) -> RemoteMemory {
        self.remote.as_ref().map(|remote| remote.memory(HEADER + largest.entry())).unwrap_or_default()
    }

    /// Reads an entry of up to `most` bytes after its header. `bytes` is empty if there is none.
    pub(crate) fn read(&self, location: EntryLocation, key: &Key, most: usize, bytes: &mut Vec<u8>) {
        bytes.clear();
        match (location, &self.local, &self.remote) {
            (EntryLocation::Local, Some(local), _) => local.read(key, HEADER + most, bytes),
            (EntryLocation::Remote, _, Some(remote)) => remote.get(key.bytes(), HEADER + most, bytes),
            _ => {}
        }
    }

    /// Reports that an entry that was read is correct.
    pub(crate) fn found(&self, location: EntryLocation, key: &Key, entry: Entry<'_>) {
        self.found.fetch_add(1, Ordering::Relaxed);
        if location == EntryLocation::Remote {
            self.found_remote.fetch_add(1, Ordering::Relaxed);
            self.judge(true);
            self.add_local(key, entry);
        }
    }

    /// Reports that an entry that was read does not contain its block.
    pub(crate) fn damaged(&self, location: EntryLocation, key: &Key) {
        self.damaged.fetch_add(1, Ordering::Relaxed);
        match (location, &self.local) {
            (EntryLocation::Local, Some(local)) => local.remove(key),
            _ => self.judge(false),
        }
    }

    pub(crate) fn count_missed(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds an entry that was made in this run.
    pub(crate) fn add(&self, key: &Key, entry: Entry<'_>) {
        self.add_local(key, entry);
        if let Some(remote) = &self.remote {
            remote.put(key.bytes(), [&entry.header(key), entry.block()]);
        }
    }

    /// Compresses a block of `bytes` bytes, and measures the time if the server needs it.
    pub(crate) fn timed<T>(&self, bytes: usize, compress: impl FnOnce() -> T) -> T {
        let Some(remote) = &self.remote else { return compress() };
        let start = remote.now();
        let done = compress();
        remote.encoded(bytes, remote.now().saturating_sub(start));
        done
    }

    /// Whether a block should be compressed even if it may be found, to measure the time.
    pub(crate) fn wants_time(&self) -> bool {
        self.remote.as_ref().is_some_and(|remote| remote.wants_time())
    }

    fn judge(&self, is_right: bool) {
        if let Some(remote) = &self.remote {
            remote.judge(is_right);
        }
    }

    fn add_local(&self, key: &Key, entry: Entry<'_>) {
        if let Some(local) = &self.local {
            local.add(key, entry);
        }
    }
}

impl Counts {
    /// The difference from earlier counts.
    #[must_use]
    pub fn since(mut self, before: &Counts) -> Counts {
        let subtract = |count: &mut u64, before| *count = count.saturating_sub(before);
        subtract(&mut self.found, before.found);
        subtract(&mut self.missed, before.missed);
        subtract(&mut self.damaged, before.damaged);
        subtract(&mut self.added, before.added);
        subtract(&mut self.added_bytes, before.added_bytes);
        if let (Some(remote), Some(before)) = (&mut self.remote, &before.remote) {
            subtract(&mut remote.found, before.found);
            subtract(&mut remote.added, before.added);
            subtract(&mut remote.added_bytes, before.added_bytes);
            remote.waited = remote.waited.saturating_sub(before.waited);
        }
        self
    }
}
