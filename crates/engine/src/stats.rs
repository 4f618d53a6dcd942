//! What a line counted.

/// Counters of a line, since it was made. They say how it ran; nothing it does depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Items fed: jobs of the hash stage.
    pub fed: u64,
    /// Items decided.
    pub decided: u64,
    /// Jobs handed to the compress stage.
    pub submitted: u64,
    /// Results handed on that needed no worker.
    pub passed: u64,
    /// Results committed.
    pub committed: u64,
    /// Workers woken for a job: at most one a job of either stage. 0 on a line without threads.
    pub wakes: u64,
    /// Times a worker went to sleep because there was no job.
    pub parks: u64,
    /// Times the caller had to wait for a result or for memory.
    pub waits: u64,
    /// Those of `waits` that were long enough to put its thread to sleep.
    pub sleeps: u64,
    /// Bytes of permits in flight now.
    pub bytes_in_flight: usize,
    /// The most bytes of permits ever in flight.
    pub peak_bytes: usize,
}

impl Stats {
    /// Jobs of both stages so far.
    #[must_use]
    pub fn jobs(&self) -> u64 {
        self.fed + self.submitted
    }
}
