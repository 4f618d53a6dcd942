//! The ordered parallel map: inputs in, results out in the same order.

use std::io;
use std::sync::Arc;

use crate::caller::Caller;
use crate::caller_waker::CallerWaker;
use crate::stage::Stage;
use crate::submitter::Submitter;
use crate::{Class, Config, EventKind, Fault, Permit, Pool, StageName, Stats, Task};

/// Takes the results of an [`OrderedMap`] in the order of their inputs, on the thread that calls the map.
pub trait Consumer<T: Task> {
    /// Takes the next result.
    ///
    /// # Errors
    /// The user's own; it stops the map.
    fn consume(&mut self, result: T::Out) -> Result<(), T::Error>;
}

impl<T: Task, F: FnMut(T::Out) -> Result<(), T::Error>> Consumer<T> for F {
    fn consume(&mut self, result: T::Out) -> Result<(), T::Error> {
        self(result)
    }
}

/// Runs a [`Task`] on worker threads and gives its results to the caller in the order of the inputs.
///
/// Whatever the number of workers, the budget and the timing, the caller sees the same results in the same order. On a pool
/// without workers each input is processed on the caller's thread when it is submitted.
///
/// # Errors
/// Of several errors the one of the earliest input is returned, whatever the timing; the results before it have been consumed,
/// and none after it. Everything else is dropped, and every further call returns [`Fault::Stopped`]. A panic in the task is an
/// error of its input. If the consumer panics, the panic goes up through the call, and the map has stopped.
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
    /// On the pool of `config`, or on a new one.
    ///
    /// # Errors
    /// The system refuses to start a thread; none is left running then.
    pub fn new(task: T, config: Config) -> io::Result<Self> {
        Ok(Self::on(&config.pool()?, task, config))
    }

    /// On `pool`; the workers and the pool of `config` are ignored.
    #[must_use]
    pub fn on(pool: &Pool, task: T, config: Config) -> Self {
        let waker = Arc::new(CallerWaker::default());
        let stage = Stage::new(StageName::Map, task, &waker);
        let stages: crate::core::Stages = vec![(stage.name, stage.shared().clone())];
        let (caller, submitter) = Caller::new(pool, waker, stages, config);
        Self { stage, submitter, caller }
    }

    /// Waits until `bytes` fit into the memory budget, consuming results meanwhile, and takes them.
    ///
    /// The map adds some 100 bytes for each input in flight. Deadlock rule: with nothing in flight the request is granted even
    /// above the budget. Overshoot is bounded by the caller's own permits plus one input.
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

    /// Submits an input. Its memory was taken with `reserve` and travels inside it as a [`Permit`]. Never waits; consumes the
    /// results that are ready.
    ///
    /// # Errors
    /// See [`OrderedMap`].
    pub fn submit(&mut self, input: T::In, consumer: &mut dyn Consumer<T>) -> Result<(), Fault<T::Error>> {
        self.submit_as(Class::Normal, input, consumer)
    }

    /// The same with a class: the input is processed before those of later classes. The order of results stays that of the
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
        let bytes = self.caller.trace.now().map_or(0, |_| self.stage.shared().task.bytes_in(&input));
        self.call(bytes, |map| {
            map.put(class, input);
            map.consume_ready(consumer).map(drop)
        })
    }

    /// Waits until at least one more result is consumed, if any input is in flight, and consumes those that are ready.
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

    /// Waits for all inputs in flight, and returns the error that counts when the caller has one of its own: see [`Fault::earlier`].
    pub fn earlier_error(&mut self, consumer: &mut dyn Consumer<T>, error: T::Error) -> Fault<T::Error> {
        Fault::earlier(self.drain(consumer), error)
    }

    /// Number of workers of the pool: as many as were asked for, unless a limit allows fewer.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.caller.core().workers()
    }

    #[must_use]
    pub fn stats(&self) -> Stats {
        self.caller.stats(&self.caller.counts)
    }

    /// A call of the caller, refused once the map has stopped.
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

    /// Consumes the results that are ready; whether there was one.
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
