//! The outbox to which a decision submits its jobs.

use crate::caller::stage::Stage;
use crate::caller::submitter::Submitter;
use crate::worker::slot::Origin;
use crate::{Class, Task};

/// The second stage of a [`Pipeline`](crate::Pipeline). Each call adds one result to the end of the order of commits, never
/// waits and never fails.
pub struct Outbox<C: Task> {
    pub(crate) stage: Stage<C>,
    pub(crate) submitter: Submitter,
    /// The origin of the item that is being decided.
    pub(crate) origin: Origin,
    pub(crate) submitted: u64,
    pub(crate) passed: u64,
    /// False after an error: further jobs and results are dropped.
    pub(crate) open: bool,
}

impl<C: Task> Outbox<C> {
    pub(crate) fn new(stage: Stage<C>, submitter: Submitter) -> Self {
        let origin = submitter.origin();
        Self { stage, submitter, origin, submitted: 0, passed: 0, open: true }
    }

    /// Submits a job.
    pub fn submit(&mut self, input: C::In) {
        if !self.open {
            return;
        }
        if self.origin.item.is_none() {
            // The job belongs to no item, so it takes its own turn among the pipelines.
            self.origin.time = self.submitter.next_time();
        }
        self.submitted += 1;
        self.stage.submit(&self.submitter, Class::Normal, self.origin, input);
    }

    /// Adds a result that needs no worker.
    pub fn pass(&mut self, result: C::Out) {
        if self.open {
            self.passed += 1;
            self.stage.lane.put(Ok(result));
        }
    }
}
