//! A pipeline's access to the queues of its pool.

use crate::job::JobRef;
use crate::scheduler::job_queues::{Entry, Owner};
use crate::scheduler::key::Key;
use crate::slot::Origin;
use crate::{Class, Pool, StageName};

/// The number of a pipeline on its pool, its virtual time, and the queue for its next item.
pub(crate) struct Submitter {
    pub(crate) pool: Pool,
    pub(crate) pipeline: u64,
    /// Of the item submitted last.
    time: u64,
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

    /// The origin of the next item; its queue is each one in turn. The item's bytes are in the caller's cache, equally far from
    /// all workers, and neighbours in the output then lie under different locks.
    pub(crate) fn next_origin(&mut self, item: u64) -> Origin {
        let queues = self.pool.queues();
        self.queue = if self.queue + 1 < queues { self.queue + 1 } else { 0 };
        Origin { item: Some(item), time: self.next_time(), queue: self.queue }
    }

    pub(crate) fn push(&self, name: StageName, class: Class, origin: Origin, ticket: u64, job: JobRef) {
        let core = self.pool.core();
        let key = Key::new(class, origin.time);
        let queued = core.now();
        let entry = Entry { key, ticket, item: origin.item, queued, job };
        core.push(origin.queue, Owner { pipeline: self.pipeline, name }, entry);
    }
}
