//! How a worker finds its next job, and who is woken for one: the one seam of the scheduler.

use std::sync::Arc;

use crate::hand::Taker;
use crate::histogram::Histogram;
use crate::lobby::Lobby;
use crate::plain::PlainQueue;
use crate::queues::Queues;
use crate::rows::{Entry, Owner};
use crate::run_queue::Taken;
use crate::seat::Seat;
use crate::sync;
use crate::{Policy, QueueStats};

/// The queued jobs of a pool, and the workers that wait for some.
#[derive(Debug)]
pub(crate) enum Dispatch<J> {
    /// The baseline.
    Plain(PlainQueue<J>),
    /// The scheduler.
    Ordered(Scheduler<J>),
}

/// Run queues, and a lobby beside them.
#[derive(Debug)]
pub(crate) struct Scheduler<J> {
    queues: Queues<J>,
    lobby: Lobby,
}

impl<J> Dispatch<J> {
    /// The baseline.
    pub(crate) fn plain() -> Self {
        Self::Plain(PlainQueue::new())
    }

    /// `queues` queues, one at least.
    pub(crate) fn ordered(queues: usize, policy: Policy) -> Self {
        Self::Ordered(Scheduler { queues: Queues::new(queues, policy), lobby: Lobby::new(queues.max(1)) })
    }

    /// How many queues there are.
    pub(crate) fn queues(&self) -> usize {
        match self {
            Self::Plain(_) => 1,
            Self::Ordered(scheduler) => scheduler.queues.len(),
        }
    }

    /// Adds a job to `queue` and wakes a worker if one is needed.
    pub(crate) fn push(&self, queue: usize, owner: Owner, entry: Entry<J>) {
        match self {
            Self::Plain(plain) => plain.push(owner, entry),
            Self::Ordered(scheduler) => {
                scheduler.queues.push(queue, owner, entry);
                scheduler.lobby.call(queue);
            }
        }
    }

    /// The next job; sleeps until there is one. `None` when `changed` says that something else is to be seen to; who
    /// changes it calls `wake_all` after.
    pub(crate) fn next(&self, taker: &Taker<'_>, seat: &Arc<Seat>, changed: &dyn Fn() -> bool) -> Option<Taken<J>> {
        match self {
            Self::Plain(plain) => plain.next(taker, seat, changed),
            Self::Ordered(scheduler) => scheduler.next(taker, seat, changed),
        }
    }

    /// Takes a job as a worker does, unless there is none.
    #[cfg(test)]
    pub(crate) fn take(&self, taker: &Taker<'_>) -> Option<Taken<J>> {
        match self {
            Self::Plain(plain) => plain.next(taker, &Seat::here(0), &|| true),
            Self::Ordered(scheduler) => scheduler.queues.take(taker),
        }
    }

    /// Takes the earliest job of `line` that is queued, for its caller.
    pub(crate) fn take_of(&self, line: u64, taker: &Taker<'_>) -> Option<Taken<J>> {
        match self {
            Self::Plain(plain) => plain.take_of(line, taker),
            Self::Ordered(scheduler) => scheduler.queues.take_of(line, taker),
        }
    }

    /// Makes a job due now, if it is still queued. The baseline knows no such thing.
    pub(crate) fn promote(&self, owner: Owner, ticket: u64) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Ordered(scheduler) => {
                // Nobody has to be woken: a queued job either has had its wake-up, or all workers are at work.
                scheduler.queues.promote(owner, ticket).is_some()
            }
        }
    }

    /// The latest virtual time of a job that was taken: the present.
    pub(crate) fn present(&self) -> u64 {
        match self {
            Self::Plain(plain) => plain.present(),
            Self::Ordered(scheduler) => scheduler.queues.present(),
        }
    }

    /// Drops every job of `line`.
    pub(crate) fn clear(&self, line: u64) {
        match self {
            Self::Plain(plain) => plain.clear(Some(line)),
            Self::Ordered(scheduler) => scheduler.queues.clear(line),
        }
    }

    /// Drops every job.
    pub(crate) fn clear_all(&self) {
        match self {
            Self::Plain(plain) => plain.clear(None),
            Self::Ordered(scheduler) => scheduler.queues.clear_all(),
        }
    }

    /// Wakes every sleeper, to see what has changed.
    pub(crate) fn wake_all(&self) {
        match self {
            Self::Plain(plain) => plain.wake_all(),
            Self::Ordered(scheduler) => scheduler.lobby.wake_all(),
        }
    }

    /// What each queue counted, with how long all jobs waited.
    pub(crate) fn stats(&self) -> (Vec<QueueStats>, Histogram) {
        match self {
            Self::Plain(plain) => {
                let (stats, waits) = plain.stats();
                (vec![stats], waits)
            }
            Self::Ordered(scheduler) => scheduler.stats(),
        }
    }

    /// How many workers sleep.
    #[cfg(test)]
    pub(crate) fn sleepers(&self) -> usize {
        match self {
            Self::Plain(_) => 0,
            Self::Ordered(scheduler) => scheduler.lobby.sleepers(),
        }
    }
}

impl<J> Scheduler<J> {
    fn next(&self, taker: &Taker<'_>, seat: &Arc<Seat>, changed: &dyn Fn() -> bool) -> Option<Taken<J>> {
        if let Some(taken) = self.queues.take(taker) {
            return Some(taken);
        }
        let since = taker.now();
        let taken = self.wait(taker, seat, changed);
        let now = taken.as_ref().map_or_else(|| taker.now(), |taken| taken.now);
        taker.hand.was_idle(now.saturating_sub(since));
        taken
    }

    /// Looks for a job, asleep or awake, until there is one or something has changed.
    fn wait(&self, taker: &Taker<'_>, seat: &Arc<Seat>, changed: &dyn Fn() -> bool) -> Option<Taken<J>> {
        let mut searcher = self.lobby.search();
        loop {
            let taken = if searcher { self.catch(taker) } else { self.queues.take(taker) };
            if taken.is_some() || changed() {
                match (searcher, self.queues.first()) {
                    (true, _) => self.lobby.found(|| self.queues.first()),
                    // Whoever added what is left may have looked while this worker was still the searcher.
                    (false, Some(queue)) if taken.is_some() => self.lobby.call(queue),
                    (false, _) => {}
                }
                return taken;
            }
            taker.hand.parks();
            searcher = self.lobby.sleep(seat, searcher, || self.queues.first().is_some() || changed());
        }
    }

    /// Takes a job, if one comes within a bounded spin.
    fn catch(&self, taker: &Taker<'_>) -> Option<Taken<J>> {
        for _ in 0..sync::SPINS {
            if self.queues.first().is_some() {
                break;
            }
            sync::hint::spin_loop();
        }
        self.queues.take(taker)
    }

    fn stats(&self) -> (Vec<QueueStats>, Histogram) {
        let (mut stats, waits) = self.queues.stats();
        stats.iter_mut().zip(self.lobby.wakes()).for_each(|(queue, wakes)| queue.wakes = wakes);
        (stats, waits)
    }
}
