//! Runs numbered jobs on the engine's workers. Each job reuses the state of a finished one.

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};

use packline_engine::{Config, Fault, OrderedMap, Pool, Scheduling, Task};

use crate::error::PhaseError;

/// The workers of a search, and its cancellation.
pub(crate) struct Workers<'a> {
    pool: Pool,
    stop: &'a dyn Fn() -> bool,
}

impl<'a> Workers<'a> {
    /// Starts `workers` threads, or as many as the system allows. For one worker it starts none, because the caller's thread is enough.
    pub(crate) fn new(workers: usize, stop: &'a dyn Fn() -> bool) -> io::Result<Self> {
        let workers = if workers > 1 { workers } else { 0 };
        Ok(Self { pool: Pool::new(workers, &Scheduling::default(), None)?, stop })
    }

    /// Runs `count` jobs, numbered from 0, each with a state that `begin` made for this or an earlier job. Returns the states.
    ///
    /// # Errors
    /// The error of the lowest job that fails, independent of timing.
    pub(crate) fn each<S: Send + 'static>(
        &self,
        count: usize,
        begin: impl Fn() -> S + Send + Sync + 'static,
        job: impl Fn(&mut S, usize) -> Result<(), PhaseError> + Send + Sync + 'static,
    ) -> Result<Vec<S>, PhaseError> {
        self.ordered(count, begin, job, Ok)
    }

    /// Does the same and passes the results to `take` on the caller's thread, in order. At most twice as many jobs as workers are in flight.
    pub(crate) fn ordered<S: Send + 'static, R: Send + 'static, E: From<PhaseError>>(
        &self,
        count: usize,
        begin: impl Fn() -> S + Send + Sync + 'static,
        job: impl Fn(&mut S, usize) -> Result<R, PhaseError> + Send + Sync + 'static,
        mut take: impl FnMut(R) -> Result<(), E>,
    ) -> Result<Vec<S>, E> {
        let states = Arc::<States<S>>::default();
        let shared = Arc::clone(&states);
        let task = Job(move |number| shared.with(&begin, |state| job(state, number)), PhantomData);
        let mut map = OrderedMap::on(&self.pool, task, Config::new(0, usize::MAX));
        let taken = Cell::new(0);
        let mut refused = None;
        let mut consumer = |result| {
            taken.set(taken.get() + 1);
            take(result).map_err(|error| {
                refused = Some(error);
                PhaseError::Stopped
            })
        };
        let mut run = || {
            for number in 0..count {
                while number >= taken.get() + 2 * self.pool.workers().max(1) {
                    map.advance(&mut consumer)?;
                }
                if (self.stop)() {
                    return Err(Fault::Work(PhaseError::Stopped));
                }
                map.submit(number, &mut consumer)?;
            }
            map.drain(&mut consumer)
        };
        let ended = run();
        match (ended, refused) {
            (Ok(()), _) => Ok(states.take()),
            (Err(_), Some(error)) => Err(error),
            (Err(Fault::Work(error)), None) => Err(error.into()),
            (Err(Fault::Panic(message)), None) => resume_unwind(Box::new(message)),
            (Err(Fault::Cancelled | Fault::Stopped), None) => Err(PhaseError::Stopped.into()),
        }
    }
}

struct Job<F, R>(F, PhantomData<fn() -> R>);

impl<F, R> Task for Job<F, R>
where
    F: Fn(usize) -> Result<R, PhaseError> + Send + Sync + 'static,
    R: Send + 'static,
{
    type In = usize;
    type Out = R;
    type Error = PhaseError;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), number: usize) -> Result<R, PhaseError> {
        self.0(number)
    }
}

/// The states of finished jobs, as many as ran at the same time. Unlike a worker's tool, they are returned.
struct States<S>(Mutex<Vec<S>>);

impl<S> Default for States<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S> States<S> {
    fn with<R>(&self, begin: impl Fn() -> S, job: impl FnOnce(&mut S) -> R) -> R {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut state = idle.unwrap_or_else(begin);
        let result = job(&mut state);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(state);
        result
    }

    fn take(&self) -> Vec<S> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FindError;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn workers(count: usize) -> Workers<'static> {
        Workers::new(count, &|| false).unwrap()
    }

    fn error(at: usize) -> PhaseError {
        PhaseError::Read { at: at as u64, length: 0, source: io::ErrorKind::Other.into() }
    }

    #[test]
    fn runs_each_job_once_and_returns_the_states() {
        for count in [0, 1, 2, 7] {
            let states = workers(count).each(100, Vec::new, |state, number| {
                state.push(number);
                Ok(())
            });
            let mut all = states.unwrap().concat();
            all.sort_unstable();
            assert_eq!(all, (0..100).collect::<Vec<_>>(), "{count} workers");
        }
    }

    #[test]
    fn returns_the_failure_of_the_lowest_job() {
        for count in [0, 1, 2, 7] {
            let fail = |(): &mut (), number| if number >= 20 { Err(error(number)) } else { Ok(()) };
            assert!(
                matches!(workers(count).each(100, || (), fail), Err(PhaseError::Read { at: 20, .. })),
                "{count} workers"
            );
            let mut taken = 0;
            let take = |()| {
                taken += 1;
                Ok::<_, FindError<()>>(())
            };
            let end = workers(count).ordered(100, || (), fail, take);
            assert!(matches!(end, Err(FindError::Read { at: 20, .. })), "{count} workers");
            assert_eq!(taken, 20);
        }
    }

    #[test]
    fn results_come_in_order_with_a_bounded_number_in_flight() {
        for count in [0, 1, 2, 7] {
            let begun = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&begun);
            let job = move |(): &mut (), number| {
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(number)
            };
            let mut taken = 0;
            let take = |number| {
                assert_eq!(number, taken);
                assert!(begun.load(Ordering::SeqCst) <= taken + 2 * count.max(1));
                taken += 1;
                Ok::<_, FindError<()>>(())
            };
            assert!(workers(count).ordered(200, || (), job, take).is_ok());
            assert_eq!(taken, 200);
        }
    }

    #[test]
    fn an_error_of_the_consumer_ends_all_jobs() {
        for count in [0, 2, 7] {
            let take = |number| if number == 5 { Err(FindError::Consumer("enough")) } else { Ok(()) };
            let end = workers(count).ordered(1_000_000_000, || (), |(), number| Ok(number), take);
            assert!(matches!(end, Err(FindError::Consumer("enough"))));
        }
    }

    #[test]
    fn stop_ends_all_jobs() {
        for count in [0, 2, 7] {
            let asked = AtomicUsize::new(0);
            let stop = || asked.fetch_add(1, Ordering::SeqCst) >= 10;
            let workers = Workers::new(count, &stop).unwrap();
            assert!(matches!(workers.each(1_000_000_000, || (), |(), _| Ok(())), Err(PhaseError::Stopped)));
            asked.store(0, Ordering::SeqCst);
            let end = workers.ordered(1_000_000_000, || (), |(), _| Ok(()), Ok::<_, FindError<()>>);
            assert!(matches!(end, Err(FindError::Cancelled)));
        }
    }

    #[test]
    fn a_panic_of_a_worker_reaches_the_caller() {
        for count in [2, 7] {
            let job = |(): &mut (), number| if number == 30 { panic!("as wanted") } else { Ok(()) };
            let caught = |what: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(what)).is_err();
            assert!(caught(&|| drop(workers(count).each(100, || (), job))));
            assert!(caught(&|| drop(workers(count).ordered(100, || (), job, Ok::<_, FindError<()>>))));
        }
    }
}
