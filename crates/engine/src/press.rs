//! The second half of a line: what decisions hand on.

use crate::key::Key;
use crate::lane::Lane;
use crate::rows::{Entry, Owner};
use crate::slot::Origin;
use crate::stage::PressStage;
use crate::task::Job;
use crate::{Class, LaneName, Outbox, Pool, Work};

/// The commit lane, and the way into the queues.
pub(crate) struct PressSide<W: Work> {
    pub(crate) lane: Lane<PressStage<W>>,
    pub(crate) post: Post,
    /// Of the item whose decision is running.
    pub(crate) origin: Origin,
    pub(crate) submitted: u64,
    pub(crate) passed: u64,
    /// Whether a job was handed on that waits until nothing else is to do.
    pub(crate) any_idle: bool,
    /// After an error what is handed on goes nowhere.
    pub(crate) open: bool,
}

impl<W: Work> PressSide<W> {
    /// An empty lane.
    pub(crate) fn new(post: Post) -> Self {
        let origin = Origin { item: None, time: post.time, queue: 0 };
        Self { lane: Lane::new(), post, origin, submitted: 0, passed: 0, any_idle: false, open: true }
    }
}

impl<W: Work> Outbox<W> for PressSide<W> {
    fn submit_as(&mut self, class: Class, job: W::Job) {
        if !self.open {
            return;
        }
        if self.origin.item.is_none() {
            // Nothing that was fed stands for it, so it takes its turn among the lines by itself.
            self.origin.time = self.post.next_time();
        }
        self.submitted += 1;
        self.any_idle |= class == Class::Idle;
        let (ticket, slot) = self.lane.open(job, self.origin);
        let (owner, entry) = self.post.address(LaneName::Commit, class, self.origin, ticket, slot);
        self.post.pool.core().push(self.origin.queue, owner, entry);
    }

    fn pass(&mut self, packed: W::Packed) {
        if self.open {
            self.passed += 1;
            self.lane.put(packed);
        }
    }
}

/// A line's place on its pool: its number, its virtual time, and the queue that is next for a new item.
pub(crate) struct Post {
    pub(crate) pool: Pool,
    pub(crate) line: u64,
    /// Of the item fed last.
    time: u64,
    queue: usize,
}

impl Post {
    /// The place of line `line`, which begins at `time`.
    pub(crate) fn new(pool: Pool, line: u64, time: u64) -> Self {
        // Lines begin at different queues.
        let queue = line as usize % pool.queues();
        Self { pool, line, time, queue }
    }

    /// The virtual time of the next item: see [`Key`].
    pub(crate) fn next_time(&mut self) -> u64 {
        let core = self.pool.core();
        let present = if core.is_shared() { core.dispatch.present() } else { 0 };
        self.time = present.max(self.time + 1);
        self.time
    }

    /// Where the next item comes from, and goes: to each queue in turn. Its bytes are in the caller's cache, so to all
    /// workers it is equally near; and what stands in a row in the output then lies under different locks.
    pub(crate) fn next_origin(&mut self, item: u64) -> Origin {
        let queues = self.pool.queues();
        self.queue = if self.queue + 1 < queues { self.queue + 1 } else { 0 };
        Origin { item: Some(item), time: self.next_time(), queue: self.queue }
    }

    /// Puts what a queue has to know to a job.
    pub(crate) fn address(
        &self,
        lane: LaneName,
        class: Class,
        origin: Origin,
        ticket: u64,
        job: Job,
    ) -> (Owner, Entry<Job>) {
        let (key, queued) = (Key::new(class, origin.time), self.pool.core().now());
        (Owner { line: self.line, lane }, Entry { key, ticket, item: origin.item, queued, job })
    }
}
