//! Entries that many machines share.

use std::fmt::Debug;
use std::time::Duration;

/// Entries on a server. All errors are its own: an entry that is not to be had is none, and what cannot be added is not.
pub trait Remote: Debug + Send + Sync {
    /// Reads an entry of up to `most` bytes into `bytes`, which may become 1 KiB longer meanwhile, and are empty if there is none. Whether
    /// it is right is not checked.
    fn get(&self, key: &[u8; 32], most: usize, bytes: &mut Vec<u8>);

    /// Whether an entry that [`Remote::get`] returned was right.
    fn judge(&self, is_right: bool);

    /// Adds an entry, which is in two parts, now or later.
    fn put(&self, key: &[u8; 32], entry: [&[u8]; 2]);

    /// A clock that only goes forward.
    fn now(&self) -> Duration;

    /// A block of so many bytes took so long to be compressed.
    fn encoded(&self, bytes: usize, time: Duration);

    /// Whether [`Remote::encoded`] should be called, although there may be nothing to compress.
    fn wants_time(&self) -> bool;

    /// Memory for entries of up to `most` bytes.
    fn memory(&self, most: usize) -> RemoteMemory;

    /// Waits a limited time until entries are added.
    fn finish(&self) -> RemoteCounts;
}

/// Bytes that a [`Remote`] takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemoteMemory {
    pub shared: usize,
    pub per_worker: usize,
}

/// What became of entries on a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteCounts {
    /// Blocks that were found there and nowhere else.
    pub found: u64,
    /// Entries that were added.
    pub added: u64,
    /// Their bytes.
    pub added_bytes: u64,
    /// Time that workers waited for answers, those of all workers together.
    pub waited: Duration,
    /// What went wrong, as a sentence that names the server.
    pub warning: Option<String>,
}
