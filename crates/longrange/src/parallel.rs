//! Numbered jobs on threads of the moment: in any order, or with results handed out in order.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};

use crate::FindError;
use crate::error::Broken;

/// Who works, and who may stop it.
pub(crate) struct Crew<'a> {
    /// Threads at most; with 0 or 1 everything runs on the caller's own, as it does where the system starts no thread. Fewer
    /// run if it starts fewer.
    pub(crate) workers: usize,
    pub(crate) stop: &'a (dyn Fn() -> bool + Sync),
}

impl Crew<'_> {
    /// Runs jobs 0 to `count` in any order, each with the state of its worker, and returns the states.
    ///
    /// Jobs are begun in order and what is begun is ended, so the failure that is returned is that of the first job
    /// that fails, whatever the timing.
    pub(crate) fn each<S: Send>(
        &self,
        count: usize,
        begin: impl Fn() -> S + Sync,
        job: impl Fn(&mut S, usize) -> Result<(), Broken> + Sync,
    ) -> Result<Vec<S>, Broken> {
        let round = Round { next: AtomicUsize::new(0), failed: AtomicBool::new(false), failure: Mutex::new(None) };
        let work = || {
            let mut state = begin();
            while let Some(number) = round.next(count) {
                let outcome = if (self.stop)() { Err(Broken::Stopped) } else { job(&mut state, number) };
                outcome.unwrap_or_else(|broken| round.fail(number, broken));
            }
            state
        };
        let states = match self.threads(count) {
            0 => vec![work()],
            threads => thread::scope(|scope| {
                let hands: Vec<_> = (0..threads).map_while(|_| spawn(scope, work)).collect();
                if hands.is_empty() {
                    return vec![work()];
                }
                hands.into_iter().map(|hand| hand.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
            }),
        };
        let failure = round.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        failure.map_or(Ok(states), |(_, broken)| Err(broken))
    }

    /// Runs jobs 0 to `count` and gives their results to `take` on the caller's thread, in order; at most `ahead` of
    /// them are begun and not yet taken.
    pub(crate) fn ordered<S, R: Send, E>(
        &self,
        count: usize,
        ahead: usize,
        begin: impl Fn() -> S + Sync,
        job: impl Fn(&mut S, usize) -> Result<R, Broken> + Sync,
        mut take: impl FnMut(R) -> Result<(), FindError<E>>,
    ) -> Result<(), FindError<E>> {
        let threads = self.threads(count);
        let row = Row {
            count,
            ahead: ahead.max(threads),
            places: Mutex::default(),
            room: Condvar::new(),
            ready: Condvar::new(),
        };
        thread::scope(|scope| {
            // Dropped before the scope waits for its threads, however this closure is left.
            let _end = End(&row);
            if (0..threads).map_while(|_| spawn(scope, || row.work(&begin, &job))).count() == 0 {
                let mut state = begin();
                return self.in_turn(count, |number| take(job(&mut state, number)?));
            }
            self.in_turn(count, |number| take(row.take(number)?))
        })
    }

    /// Jobs 0 to `count` on the caller's thread, as long as nothing stops them.
    fn in_turn<E>(
        &self,
        count: usize,
        mut job: impl FnMut(usize) -> Result<(), FindError<E>>,
    ) -> Result<(), FindError<E>> {
        (0..count).try_for_each(|number| {
            self.go_on()?;
            job(number)
        })
    }

    /// How many threads `count` jobs are worth; none if the caller's own is enough.
    fn threads(&self, count: usize) -> usize {
        let threads = self.workers.min(count);
        if threads > 1 { threads } else { 0 }
    }

    fn go_on(&self) -> Result<(), Broken> {
        if (self.stop)() { Err(Broken::Stopped) } else { Ok(()) }
    }
}

/// Starts a thread, if the system allows one more.
fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    thread::Builder::new().name("search".into()).spawn_scoped(scope, work).ok()
}

/// Which job is next, and which of those that failed was the first.
struct Round {
    next: AtomicUsize,
    failed: AtomicBool,
    failure: Mutex<Option<(usize, Broken)>>,
}

impl Round {
    fn next(&self, count: usize) -> Option<usize> {
        if self.failed.load(Ordering::Relaxed) {
            return None;
        }
        Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < count)
    }

    fn fail(&self, number: usize, broken: Broken) {
        let mut failure = locked(&self.failure);
        if failure.as_ref().is_none_or(|(earlier, _)| number < *earlier) {
            *failure = Some((number, broken));
        }
        self.failed.store(true, Ordering::Relaxed);
    }
}

/// Results on their way to the caller, who takes them in order.
struct Row<R> {
    count: usize,
    ahead: usize,
    places: Mutex<Places<R>>,
    /// A result was taken, so another job may begin.
    room: Condvar,
    /// The result that the caller waits for may be there.
    ready: Condvar,
}

struct Places<R> {
    begun: usize,
    taken: usize,
    results: BTreeMap<usize, Result<R, Broken>>,
    /// The caller wants no more.
    ended: bool,
    /// A worker panicked, so its result will never come.
    lost: bool,
}

impl<R> Default for Places<R> {
    fn default() -> Self {
        Self { begun: 0, taken: 0, results: BTreeMap::new(), ended: false, lost: false }
    }
}

impl<R> Row<R> {
    fn work<S>(&self, begin: impl Fn() -> S, job: impl Fn(&mut S, usize) -> Result<R, Broken>) {
        let _lost = Lost(self);
        let mut state = begin();
        while let Some(number) = self.begin() {
            let result = job(&mut state, number);
            locked(&self.places).results.insert(number, result);
            self.ready.notify_one();
        }
    }

    /// The next job, as soon as there is room for its result.
    fn begin(&self) -> Option<usize> {
        let full = |places: &mut Places<R>| !places.ended && places.begun - places.taken >= self.ahead;
        let mut places = self.room.wait_while(locked(&self.places), full).unwrap_or_else(PoisonError::into_inner);
        let number = places.begun;
        (!places.ended && number < self.count).then(|| {
            places.begun += 1;
            number
        })
    }

    fn take(&self, number: usize) -> Result<R, Broken> {
        let missing = |places: &mut Places<R>| !places.lost && !places.results.contains_key(&number);
        let mut places = self.ready.wait_while(locked(&self.places), missing).unwrap_or_else(PoisonError::into_inner);
        places.taken += 1;
        self.room.notify_one();
        // Without a result a worker has panicked, and the scope passes its panic on.
        places.results.remove(&number).unwrap_or(Err(Broken::Stopped))
    }
}

/// Lets the workers go when the caller is gone.
struct End<'a, R>(&'a Row<R>);

impl<R> Drop for End<'_, R> {
    fn drop(&mut self) {
        locked(&self.0.places).ended = true;
        self.0.room.notify_all();
    }
}

/// Lets the caller go when a worker panics.
struct Lost<'a, R>(&'a Row<R>);

impl<R> Drop for Lost<'_, R> {
    fn drop(&mut self) {
        if thread::panicking() {
            locked(&self.0.places).lost = true;
            self.0.ready.notify_one();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

    fn broken(at: usize) -> Broken {
        Broken::Read { at: at as u64, length: 0, source: std::io::ErrorKind::Other.into() }
    }

    #[test]
    fn each_job_runs_once_and_states_come_back() {
        for workers in [0, 1, 2, 7] {
            let crew = Crew { workers, stop: NEVER };
            let states = crew.each(100, Vec::new, |state, number| {
                state.push(number);
                Ok(())
            });
            let mut all = states.unwrap().concat();
            all.sort_unstable();
            assert_eq!(all, (0..100).collect::<Vec<_>>(), "{workers} workers");
        }
    }

    #[test]
    fn the_failure_of_the_first_job_is_returned() {
        for workers in [0, 1, 2, 7] {
            let crew = Crew { workers, stop: NEVER };
            let fail = |_: &mut (), number| if number >= 20 { Err(broken(number)) } else { Ok(()) };
            assert!(matches!(crew.each(100, || (), fail), Err(Broken::Read { at: 20, .. })), "{workers} workers");
            let mut taken = 0;
            let end = crew.ordered::<_, _, ()>(
                100,
                4,
                || (),
                fail,
                |()| {
                    taken += 1;
                    Ok(())
                },
            );
            assert!(matches!(end, Err(FindError::Read { at: 20, .. })), "{workers} workers");
            assert_eq!(taken, 20);
        }
    }

    #[test]
    fn results_come_in_order_and_no_more_wait_than_allowed() {
        for workers in [0, 1, 2, 7] {
            let crew = Crew { workers, stop: NEVER };
            let begun = AtomicUsize::new(0);
            let mut taken = 0;
            let job = |_: &mut (), number| {
                begun.fetch_add(1, Ordering::SeqCst);
                Ok(number)
            };
            let end = crew.ordered::<_, _, ()>(
                200,
                9,
                || (),
                job,
                |number| {
                    assert_eq!(number, taken);
                    assert!(begun.load(Ordering::SeqCst) <= taken + 1 + 9);
                    taken += 1;
                    Ok(())
                },
            );
            assert!(end.is_ok());
            assert_eq!(taken, 200);
        }
    }

    #[test]
    fn an_error_of_the_taker_ends_all() {
        for workers in [0, 2, 7] {
            let crew = Crew { workers, stop: NEVER };
            let take = |number| if number == 5 { Err(FindError::Taken("enough")) } else { Ok(()) };
            let end = crew.ordered(1_000_000_000, 4, || (), |(), number| Ok(number), take);
            assert!(matches!(end, Err(FindError::Taken("enough"))));
        }
    }

    #[test]
    fn stopping_ends_all() {
        for workers in [0, 2, 7] {
            let asked = AtomicUsize::new(0);
            let stop = || asked.fetch_add(1, Ordering::SeqCst) >= 10;
            let crew = Crew { workers, stop: &stop };
            assert!(matches!(crew.each(1_000_000_000, || (), |(), _| Ok(())), Err(Broken::Stopped)));
            asked.store(0, Ordering::SeqCst);
            let end = crew.ordered::<_, _, ()>(1_000_000_000, 4, || (), |(), _| Ok(()), Ok);
            assert!(matches!(end, Err(FindError::Stopped)));
        }
    }

    #[test]
    fn a_panic_of_a_worker_reaches_the_caller() {
        for workers in [2, 7] {
            let crew = Crew { workers, stop: NEVER };
            let job = |(): &mut (), number| if number == 30 { panic!("as wanted") } else { Ok(()) };
            let caught = |what: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(what)).is_err();
            assert!(caught(&|| drop(crew.each(100, || (), job))));
            assert!(caught(&|| drop(crew.ordered::<_, _, ()>(100, 4, || (), job, Ok))));
        }
    }
}
