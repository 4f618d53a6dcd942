//! Entries on a server that many machines share.

use std::fmt::Debug;
use std::time::Duration;

/// Entries on a server. The server handles all its errors: an entry that cannot be read counts as missing, and an entry that
/// cannot be added is dropped.
pub trait Remote: Debug + Send + Sync {
    /// Reads an entry of up to `most` bytes into `bytes`. `bytes` is empty if there is no entry, and may be up to 1 KiB longer
    /// during the call. The entry is not checked.
    fn get(&self, key: &[u8; 32], most: usize, bytes: &mut Vec<u8>);

    /// Reports whether an entry that [`Remote::get`] returned was correct.
    fn judge(&self, is_right: bool);

    /// Adds an entry, given in two parts, now or later.
    fn put(&self, key: &[u8; 32], entry: [&[u8]; 2]);

    /// A monotonic clock.
    fn now(&self) -> Duration;

    /// Reports that compressing `bytes` bytes took `time`.
    fn encoded(&self, bytes: usize, time: Duration);

    /// Whether [`Remote::encoded`] should be called even if no block must be compressed.
    fn wants_time(&self) -> bool;

    /// Memory for entries of up to `most` bytes.
    fn memory(&self, most: usize) -> RemoteMemory;

    /// Waits for a limited time until all entries are added.
    fn finish(&self) -> RemoteCounts;
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemoteMemory {
    pub shared: usize,
    pub per_worker: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteCounts {
    /// Blocks that were found only on the server.
    pub found: u64,
    pub added: u64,
    /// Bytes of the entries that were added.
    pub added_bytes: u64,
    /// Sum of the times that workers waited for answers.
    pub waited: Duration,
    /// The problem, as a sentence that names the server.
    pub warning: Option<String>,
}
