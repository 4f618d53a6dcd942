//! A cache while something is packed: a directory, a server, or a server with a directory before it; and counts.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::Error;
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
    /// Whether warnings about the directory and the server were returned.
    warned: [AtomicBool; 2],
}

/// How blocks were found.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Blocks that were found.
    pub found: u64,
    /// Blocks that were not, and were compressed.
    pub missed: u64,
    /// Entries that were damaged; those in the directory were removed.
    pub damaged: u64,
    /// Whether there is a directory.
    pub has_directory: bool,
    /// Entries that were added to the directory.
    pub added: u64,
    /// Their bytes.
    pub added_bytes: u64,
    /// The first error of the file system, after which the directory was not used.
    pub error: Option<Arc<Error>>,
    /// What was found on the server and added there, if there is one.
    pub remote: Option<RemoteCounts>,
}

/// Where an entry is, in the order in which it is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Local,
    Remote,
}

impl BlockCache {
    /// Opens a cache, which is made if there is nothing, or an empty directory. It has about `limit` bytes at most: a sixteenth more while
    /// something is packed. `now` are seconds since 1970.
    ///
    /// # Errors
    /// [`Error::NotACache`] for a directory with anything else in it; [`Error::Io`].
    pub fn open(directory: &Path, limit: u64, now: i64) -> Result<BlockCache, Error> {
        Ok(BlockCache { local: Some(Local::open(directory, limit, now)?), ..BlockCache::default() })
    }

    /// A cache without a directory.
    #[must_use]
    pub fn shared(remote: Box<dyn Remote>) -> BlockCache {
        BlockCache::default().with_remote(remote)
    }

    /// The cache with a server behind it: what is not in the directory is looked for there, and what is found there is added to the
    /// directory.
    #[must_use]
    pub fn with_remote(self, remote: Box<dyn Remote>) -> BlockCache {
        BlockCache { remote: Some(remote), ..self }
    }

    /// Completes what is to be added, and removes entries if there are too many, once nothing more is added. Returns the counts.
    pub fn finish(&self) -> Counts {
        if let Some(local) = &self.local {
            local.finish();
        }
        self.counts()
    }

    /// How blocks were found so far. Waits a limited time until entries are on the server.
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

    /// What went wrong, as sentences, each once however often this is called; it has changed no byte.
    pub fn warnings(&self) -> Vec<String> {
        let Counts { error, remote, .. } = self.counts();
        let local = error.map(|error| format!("{error}; the cache was not used after that"));
        let all = [local, remote.and_then(|remote| remote.warning)];
        let is_new = |warned: &AtomicBool| !warned.swap(true, Ordering::Relaxed);
        self.warned.iter().zip(all).filter_map(|(warned, text)| text.filter(|_| is_new(warned))).collect()
    }

    /// Memory of the server's connections, besides that of [`crate::Lookup::encoder_memory`].
    pub(crate) fn remote_memory(&self, block_size: usize) -> RemoteMemory {
        self.remote.as_ref().map(|remote| remote.memory(HEADER + block_size)).unwrap_or_default()
    }

    /// Reads an entry for a block of up to `block_size` bytes; empty if there is none.
    pub(crate) fn read(&self, place: Place, key: &Key, block_size: usize, bytes: &mut Vec<u8>) {
        bytes.clear();
        match (place, &self.local, &self.remote) {
            (Place::Local, Some(local), _) => local.read(key, HEADER + block_size, bytes),
            (Place::Remote, _, Some(remote)) => remote.get(key.bytes(), HEADER + block_size, bytes),
            _ => {}
        }
    }

    /// An entry that was read is right.
    pub(crate) fn found(&self, place: Place, key: &Key, entry: Entry<'_>) {
        self.found.fetch_add(1, Ordering::Relaxed);
        if place == Place::Remote {
            self.found_remote.fetch_add(1, Ordering::Relaxed);
            self.judge(true);
            self.add_local(key, entry);
        }
    }

    /// An entry that was read is not what its block compresses to.
    pub(crate) fn damaged(&self, place: Place, key: &Key) {
        self.damaged.fetch_add(1, Ordering::Relaxed);
        match (place, &self.local) {
            (Place::Local, Some(local)) => local.remove(key),
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

    /// Compresses a block of so many bytes, and notes how long that takes if that is of interest.
    pub(crate) fn timed<T>(&self, bytes: usize, compress: impl FnOnce() -> T) -> T {
        let Some(remote) = &self.remote else { return compress() };
        let start = remote.now();
        let done = compress();
        remote.encoded(bytes, remote.now().saturating_sub(start));
        done
    }

    /// Whether a block should be compressed in any case, to see how long that takes.
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
    /// Of these counts, the part that was not in earlier ones.
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
