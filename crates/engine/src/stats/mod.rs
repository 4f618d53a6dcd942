//! Counters of a pipeline and its pool.

pub(crate) mod histogram;
pub(crate) mod run_stats;

/// Counters of a pipeline since it was opened. No decision depends on them.
///
/// Times are measured only with a [`Tracer`](crate::Tracer), and are 0 otherwise. A counter marked "The pool's" counts for
/// all pipelines on the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Items submitted: jobs of the first stage.
    pub fed: u64,
    /// Items decided.
    pub decided: u64,
    /// Jobs submitted to the second stage.
    pub submitted: u64,
    /// Results passed on that needed no worker.
    pub passed: u64,
    /// Results committed.
    pub committed: u64,
    /// Workers woken for a job: at most one for each job. 0 on a pool without threads. The pool's.
    pub wakes: u64,
    /// Times a worker went to sleep because there was no job. The pool's.
    pub parks: u64,
    /// Times the caller waited for a result or for memory.
    pub waits: u64,
    /// Number of `waits` that were long enough to put the caller's thread to sleep.
    pub sleeps: u64,
    /// Jobs the caller ran itself while it waited.
    pub helped: u64,
    /// Jobs moved to [`Class::Now`](crate::Class::Now) because the caller waited for them. 0 unless the pool is shared.
    pub promoted: u64,
    /// Times a run queue was locked: about twice for each job. The pool's.
    pub locks: u64,
    /// Times a run queue was found locked by another thread. The pool's.
    pub contended: u64,
    /// Times the list of sleeping workers was locked. The pool's.
    pub sleeper_locks: u64,
    /// Times the list of sleeping workers was found locked by another thread. The pool's.
    pub sleeper_contended: u64,
    /// Jobs that a thread took from a queue other than its own. The pool's.
    pub steals: u64,
    /// The longest time a job was queued, in nanoseconds. The pool's.
    pub longest_wait_ns: u64,
    /// The 99.9th percentile of the time jobs were queued, in nanoseconds, at most a quarter too large. The pool's.
    pub p999_wait_ns: u64,
    /// Nanoseconds the caller waited for the first result in order, or for memory: head-of-line stall.
    pub stall_ns: u64,
    /// Processor time of the caller between calls of the pipeline, in nanoseconds: it makes the items.
    pub reading_ns: u64,
    /// Processor time of decisions, in nanoseconds.
    pub deciding_ns: u64,
    /// Processor time of commits, in nanoseconds, which includes writing.
    pub committing_ns: u64,
    /// Sum of the nanoseconds in which workers had nothing to do. The pool's.
    pub idle_ns: u64,
    /// Bytes of permits in flight now.
    pub bytes_in_flight: usize,
    /// The most bytes of permits ever in flight.
    pub peak_bytes: usize,
}

impl Stats {
    pub(crate) fn add(&mut self, other: &Stats) {
        let Stats { bytes_in_flight, peak_bytes, longest_wait_ns, p999_wait_ns, .. } = *self;
        *self = Stats {
            fed: self.fed + other.fed,
            decided: self.decided + other.decided,
            submitted: self.submitted + other.submitted,
            passed: self.passed + other.passed,
            committed: self.committed + other.committed,
            wakes: self.wakes + other.wakes,
            parks: self.parks + other.parks,
            waits: self.waits + other.waits,
            sleeps: self.sleeps + other.sleeps,
            helped: self.helped + other.helped,
            promoted: self.promoted + other.promoted,
            locks: self.locks + other.locks,
            contended: self.contended + other.contended,
            sleeper_locks: self.sleeper_locks + other.sleeper_locks,
            sleeper_contended: self.sleeper_contended + other.sleeper_contended,
            steals: self.steals + other.steals,
            stall_ns: self.stall_ns + other.stall_ns,
            reading_ns: self.reading_ns + other.reading_ns,
            deciding_ns: self.deciding_ns + other.deciding_ns,
            committing_ns: self.committing_ns + other.committing_ns,
            idle_ns: self.idle_ns + other.idle_ns,
            longest_wait_ns: longest_wait_ns.max(other.longest_wait_ns),
            p999_wait_ns: p999_wait_ns.max(other.p999_wait_ns),
            bytes_in_flight: bytes_in_flight + other.bytes_in_flight,
            peak_bytes: peak_bytes.max(other.peak_bytes),
        };
    }

    /// Jobs of both stages so far.
    #[must_use]
    pub fn jobs(&self) -> u64 {
        self.fed + self.submitted
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Jobs taken from the queue.
    pub jobs: u64,
    pub locks: u64,
    /// Times the queue was found locked by another thread.
    pub contended: u64,
    /// Workers woken for a job in the queue.
    pub wakes: u64,
    /// Jobs taken by a thread of another queue.
    pub steals: u64,
    /// The longest time a job was queued, in nanoseconds; 0 without a tracer.
    pub longest_wait_ns: u64,
    /// The 99.9th percentile of the time jobs were queued, in nanoseconds, at most a quarter too large; 0 without a tracer.
    pub p999_wait_ns: u64,
}

impl QueueStats {
    pub(crate) fn add(&mut self, other: &QueueStats) {
        self.jobs += other.jobs;
        self.locks += other.locks;
        self.contended += other.contended;
        self.wakes += other.wakes;
        self.steals += other.steals;
        self.longest_wait_ns = self.longest_wait_ns.max(other.longest_wait_ns);
        self.p999_wait_ns = self.p999_wait_ns.max(other.p999_wait_ns);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerStats {
    /// The worker's own queue.
    pub queue: usize,
    /// Jobs the worker took, from any queue.
    pub jobs: u64,
    /// Times the worker went to sleep because there was no job.
    pub parks: u64,
    /// Nanoseconds without a job, spinning or asleep; 0 without a tracer.
    pub idle_ns: u64,
}

impl WorkerStats {
    /// Adds the counters of the worker of the same number in another pool.
    pub(crate) fn add(&mut self, other: &WorkerStats) {
        self.jobs += other.jobs;
        self.parks += other.parks;
        self.idle_ns += other.idle_ns;
    }
}
