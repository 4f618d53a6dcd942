//! A pipeline's access to the queues of its pool.

use crate::scheduler::job_queues::{Owner, QueuedJob};
use crate::scheduler::key::Key;
use crate::worker::job::JobRef;
use crate::worker::slot::Origin;
use crate::{Class, Pool, StageName};

/// Only the caller's thread touches it.
pub(crate) struct Submitter {
    pub(crate) pool: Pool,
    pub(crate) pipeline: u64,
    /// The virtual time of the item submitted last.
    time: u64,
    /// The queue of the item submitted last.
    queue: usize,
}

impl Submitter {
    pub(crate) fn new(pool: Pool, pipeline: u64, time: u64) -> Self {
        // Pipelines begin at different queues.
        let queue = pipeline as usize % pool.queues();
        Self { pool, pipeline, time, queue }
    }

    /// An origin without an item, at the virtual time of the item submitted last.
    pub(crate) fn origin(&self) -> Origin {
        Origin { item: None, time: self.time, queue: 0 }
    }

    /// The virtual time of the next item: see [`Key`].
    pub(crate) fn next_time(&mut self) -> u64 {
        let core = self.pool.core();
        let present = if core.is_shared() { core.scheduler.queues.present() } else { 0 };
        self.time = present.max(self.time + 1);
        self.time
    }

    /// The origin of the next item, whose queue is the next in turn. The item's bytes are in the caller's cache, equally far
    /// from all workers, and neighbours in the output are then under different locks.
    pub(crate) fn next_origin(&mut self, item: u64) -> Origin {
        let queues = self.pool.queues();
        self.queue = if self.queue + 1 < queues { self.queue + 1 } else { 0 };
        Origin { item: Some(item), time: self.next_time(), queue: self.queue }
    }

    pub(crate) fn push(&self, name: StageName, class: Class, origin: Origin, ticket: u64, job: JobRef) {
        let core = self.pool.core();
        let key = Key::new(class, origin.time);
        let queued = core.now();
        let entry = QueuedJob { key, ticket, item: origin.item, queued, job };
        core.push(origin.queue, Owner { pipeline: self.pipeline, name }, entry);
    }
}
