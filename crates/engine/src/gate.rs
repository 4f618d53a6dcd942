//! Keeps compress jobs of a line back while as many as may run at once are queued or running.

use std::collections::VecDeque;

use crate::core::Core;
use crate::rows::{Entry, Owner};
use crate::sync::{self, Mutex};
use crate::task::Job;

/// The limit of one line. What is kept back is in no queue: no worker finds it, so none has to pass it by.
pub(crate) struct Gate {
    limit: usize,
    inner: Mutex<Inner>,
}

struct Inner {
    /// Jobs let through and not ended.
    inside: usize,
    waiting: VecDeque<(usize, Owner, Entry<Job>)>,
}

impl Gate {
    /// Lets `limit` jobs through at a time, one at least.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), inner: Mutex::new(Inner { inside: 0, waiting: VecDeque::new() }) }
    }

    /// Queues a job, now or when one that is inside has ended.
    pub(crate) fn enter(&self, core: &Core, queue: usize, owner: Owner, entry: Entry<Job>) {
        let mut inner = sync::lock(&self.inner);
        if inner.inside < self.limit {
            inner.inside += 1;
            core.push(queue, owner, entry);
        } else {
            inner.waiting.push_back((queue, owner, entry));
        }
    }

    /// A job has ended: the next is queued, if there is one.
    pub(crate) fn leave(&self, core: &Core) {
        let mut inner = sync::lock(&self.inner);
        match inner.waiting.pop_front() {
            // Under the lock: once the gate has been cleared nothing more is queued.
            Some((queue, owner, entry)) => core.push(queue, owner, entry),
            None => inner.inside = inner.inside.saturating_sub(1),
        }
    }

    /// Drops what is kept back.
    pub(crate) fn clear(&self) {
        let waiting = std::mem::take(&mut sync::lock(&self.inner).waiting);
        drop(waiting);
    }
}
