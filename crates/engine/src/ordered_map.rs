//! The ordered parallel map: inputs in, results out in the same order.

use std::io;
use std::sync::Arc;

use crate::caller::Caller;
use crate::caller::stage::Stage;
use crate::caller::submitter::Submitter;
use crate::caller::waker::CallerWaker;
use crate::{Class, Config, EventKind, Fault, Permit, Pool, StageName, Stats, Task};

/// Takes the results of an [`OrderedMap`] in the order of their inputs, on the thread that calls the map.
pub trait Consumer<T: Task> {
    /// Takes the next result.
    ///
    /// # Errors
    /// Defined by the consumer. An error stops the map.
    fn consume(&mut self, result: T::Out) -> Result<(), T::Error>;
}

impl<T: Task, F: FnMut(T::Out) -> Result<(), T::Error>> Consumer<T> for F {
    fn consume(&mut self, result: T::Out) -> Result<(), T::Error> {
        self(result)
    }
}

/// Runs a [`Task`] on worker threads and gives its results to the caller in the order of the inputs.
///
/// The caller sees the same results in the same order for any number of workers, any budget and any timing. On a pool
/// without workers each input is processed on the caller's thread when it is submitted.
///
/// # Errors
/// The map returns the error of the earliest input that failed. All results before that input have been consumed, and none
/// after it. The rest is dropped, and every further call returns [`Fault::Stopped`]. A panic in the task counts as an error of
/// its input. A panic of the consumer passes through the call and stops the map.
///
/// A cancelled map returns [`Fault::Cancelled`] from the next call, or within 50 ms from a call that waits.
///
/// Dropping the map drops what is queued and waits for the jobs that run.
pub struct OrderedMap<T: Task> {
    stage: Stage<T>,
    submitter: Submitter,
    caller: Caller,
}

impl<T: Task> OrderedMap<T> {
    /// Opens a map on the pool of `config`, or on a new pool.
    ///
    /// # Errors
    /// See [`Pool::new`].
    pub fn new(task: T, config: Config) -> io::Result<Self> {
        Ok(Self::on(&config.pool()?, task, config))
    }

    /// Opens a map on `pool`; the workers and the pool of `config` are ignored.
    #[must_use]
    pub fn on(pool: &Pool, task: T, config: Config) -> Self {
        let waker = Arc::new(CallerWaker::default());
        let stage = Stage::new(StageName::Map, task, &waker);
        let stages: crate::core::StageList = vec![(stage.name, stage.shared().clone())];
        let (caller, submitter) = Caller::new(pool, waker, stages, config);
        Self { stage, submitter, caller }
    }

    /// Waits until `bytes` fit into the memory budget, and takes them. Consumes results while it waits.
    ///
    /// The map adds at least 128 bytes for each input in flight. To avoid a deadlock, a request is granted even above the budget if
    /// nothing is in flight. The overshoot is at most the caller's own permits and one input.
    ///
    /// # Errors
    /// See [`OrderedMap`].
    pub fn reserve(&mut self, bytes: usize, consumer: &mut dyn Consumer<T>) -> Result<Permit, Fault<T::Error>> {
        self.call(0, |map| {
            loop {
                if let Some(permit) = map.caller.admit(bytes, &map.stage) {
                    return Ok(permit);
                }
                if !map.consume_ready(consumer)? {
                    map.caller.wait(&mut map.stage, Some(bytes))?;
                }
            }
        })
    }

    /// Submits an input, which holds its memory (taken with `reserve`) as a [`Permit`]. Never waits; consumes the results that
    /// are ready.
    ///
    /// # Errors
    /// See [`OrderedMap`].
    pub fn submit(&mut self, input: T::In, consumer: &mut dyn Consumer<T>) -> Result<(), Fault<T::Error>> {
        self.submit_as(Class::Normal, input, consumer)
    }

    /// Submits an input with a class: it is processed before inputs of later classes. Results still come in the order of the
    /// inputs.
    ///
    /// # Errors
    /// See [`OrderedMap`].
    pub fn submit_as(
        &mut self,
        class: Class,
        input: T::In,
        consumer: &mut dyn Consumer<T>,
    ) -> Result<(), Fault<T::Error>> {
        let bytes = if self.caller.trace.is_on() { self.stage.shared().task.bytes_in(&input) } else { 0 };
        self.call(bytes, |map| {
            map.put(class, input);
            map.consume_ready(consumer).map(drop)
        })
    }

    /// Consumes all results that are ready. If an input is in flight, waits until at least one result is consumed.
    ///
    /// # Errors
    /// See [`OrderedMap`].
    pub fn advance(&mut self, consumer: &mut dyn Consumer<T>) -> Result<(), Fault<T::Error>> {
        self.call(0, |map| {
            while !map.consume_ready(consumer)? && !map.stage.lane.is_empty() {
                map.caller.wait(&mut map.stage, None)?;
            }
            Ok(())
        })
    }

    /// Waits until all results are consumed.
    ///
    /// # Errors
    /// See [`OrderedMap`].
    pub fn drain(&mut self, consumer: &mut dyn Consumer<T>) -> Result<(), Fault<T::Error>> {
        self.call(0, |map| {
            loop {
                map.consume_ready(consumer)?;
                if map.stage.lane.is_empty() {
                    return Ok(());
                }
                map.caller.wait(&mut map.stage, None)?;
            }
        })
    }

    /// Waits for all inputs in flight, and returns the earlier of their error and the caller's own: see [`Fault::earlier`].
    pub fn earlier_error(&mut self, consumer: &mut dyn Consumer<T>, error: T::Error) -> Fault<T::Error> {
        Fault::earlier(self.drain(consumer), error)
    }

    /// Number of workers of the pool. A limit of the system can make it smaller than requested.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.caller.core().workers()
    }

    #[must_use]
    pub fn stats(&self) -> Stats {
        self.caller.stats(&self.caller.counts)
    }

    /// Runs a call of the caller, unless the map has stopped.
    fn call<R>(
        &mut self,
        bytes: u64,
        call: impl FnOnce(&mut Self) -> Result<R, Fault<T::Error>>,
    ) -> Result<R, Fault<T::Error>> {
        self.caller.trace.enter(self.stage.lane.next_ticket(), bytes);
        let result = self.caller.check().and_then(|()| call(self)).map_err(|fault| self.stop(fault));
        self.caller.trace.leave();
        result
    }

    fn put(&mut self, class: Class, input: T::In) {
        self.caller.counts.fed += 1;
        let origin = self.submitter.next_origin(self.stage.lane.next_ticket());
        self.stage.submit(&self.submitter, class, origin, input);
    }

    /// Consumes the results that are ready. Returns whether there was one.
    fn consume_ready(&mut self, consumer: &mut dyn Consumer<T>) -> Result<bool, Fault<T::Error>> {
        let before = self.caller.counts.committed;
        while let Some(outcome) = self.stage.take_ready() {
            let begin = self.caller.trace.now();
            let bytes = begin.and(outcome.as_ref().ok()).map_or(0, |out| self.stage.shared().task.bytes_out(out));
            let result = outcome.and_then(|out| self.caller.guarded(|| consumer.consume(out)));
            self.caller.trace.record(EventKind::Commit, begin, self.stage.lane.head_ticket() - 1, bytes);
            result?;
            self.caller.counts.committed += 1;
        }
        Ok(self.caller.counts.committed > before)
    }

    /// Drops everything in flight.
    fn stop(&mut self, fault: Fault<T::Error>) -> Fault<T::Error> {
        self.caller.stopped = true;
        self.caller.clear();
        self.stage.lane.clear();
        fault
    }
}

impl<T: Task> Drop for OrderedMap<T> {
    fn drop(&mut self) {
        self.stage.close();
        self.caller.close(&self.caller.counts);
    }
}
