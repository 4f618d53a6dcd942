//! Locks, granted in the order of the requests.

use std::collections::VecDeque;

/// A simulated thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    Caller,
    Worker(usize),
}

#[derive(Debug, Default)]
pub struct Lock {
    holder: Option<Agent>,
    /// The last holder, whose cache has the lock's lines.
    last: Option<Agent>,
    waiting: VecDeque<(Agent, f64)>,
}

/// Counters of all locks of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LockCounts {
    pub taken: u64,
    /// Times a lock was taken after waiting for another holder.
    pub contended: u64,
    /// Times a worker passed by a queue because its lock was held.
    pub skipped: u64,
    /// Total waiting time in nanoseconds.
    pub waited: f64,
    /// Longest wait in nanoseconds.
    pub longest: f64,
}

impl Lock {
    pub fn held(&self) -> bool {
        self.holder.is_some()
    }

    /// Requests the lock at time `now`. Returns whether it is granted at once; if not, a later [`Lock::release`] names the agent.
    pub fn ask(&mut self, now: f64, agent: Agent, counts: &mut LockCounts) -> bool {
        counts.taken += 1;
        counts.contended += u64::from(self.held());
        self.ask_again(now, agent)
    }

    /// Requests the lock after sleeping for it: it may be held again.
    pub fn ask_again(&mut self, now: f64, agent: Agent) -> bool {
        if self.held() {
            self.waiting.push_back((agent, now));
            return false;
        }
        self.holder = Some(agent);
        true
    }

    /// Moves the lock's cache lines to the agent's core. Returns whether they came from another core.
    pub fn moves_to(&mut self, agent: Agent) -> bool {
        self.last.replace(agent) != Some(agent)
    }

    /// Releases the lock at time `now`. The agent that waits longest is next: it gets the lock if it has waited at most `spin`,
    /// otherwise it sleeps, has to be woken and requests the lock again.
    pub fn release(&mut self, now: f64, spin: f64, counts: &mut LockCounts) -> Next {
        self.holder = None;
        let Some((agent, since)) = self.waiting.pop_front() else { return Next::None };
        counts.waited += now - since;
        counts.longest = counts.longest.max(now - since);
        if now - since > spin {
            return Next::Sleeps(agent);
        }
        self.holder = Some(agent);
        Next::Holds(agent)
    }
}

/// The agent after a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    None,
    /// The lock has passed to this agent, which was spinning.
    Holds(Agent),
    /// The lock is free; this agent has to be woken.
    Sleeps(Agent),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handed_over_in_order_and_counted() {
        let mut lock = Lock::default();
        let mut counts = LockCounts::default();
        assert!(lock.ask(0.0, Agent::Caller, &mut counts));
        assert!(lock.held() && lock.moves_to(Agent::Caller) && !lock.moves_to(Agent::Caller));
        assert!(!lock.ask(2.0, Agent::Worker(3), &mut counts));
        assert!(!lock.ask(5.0, Agent::Worker(1), &mut counts));
        assert_eq!(lock.release(10.0, 9.0, &mut counts), Next::Holds(Agent::Worker(3)));
        assert_eq!(lock.release(11.0, 9.0, &mut counts), Next::Holds(Agent::Worker(1)));
        assert_eq!(lock.release(12.0, 9.0, &mut counts), Next::None);
        assert!(!lock.held());
        assert_eq!(counts, LockCounts { taken: 3, contended: 2, skipped: 0, waited: 14.0, longest: 8.0 });
    }

    #[test]
    fn an_early_request_never_waits_for_a_later_one() {
        let mut lock = Lock::default();
        let mut counts = LockCounts::default();
        assert!(lock.ask(0.0, Agent::Worker(0), &mut counts));
        assert_eq!(lock.release(1.0, 0.0, &mut counts), Next::None);
        assert!(lock.ask(1.0, Agent::Worker(1), &mut counts));
        assert_eq!(counts.contended, 0);
    }

    #[test]
    fn a_lock_may_be_held_again_after_sleeping_for_it() {
        let mut lock = Lock::default();
        let mut counts = LockCounts::default();
        assert!(lock.ask(0.0, Agent::Worker(0), &mut counts));
        assert!(!lock.ask(1.0, Agent::Worker(1), &mut counts));
        assert_eq!(lock.release(10.0, 5.0, &mut counts), Next::Sleeps(Agent::Worker(1)));
        assert!(lock.ask(11.0, Agent::Worker(2), &mut counts), "it is free");
        assert!(!lock.ask_again(12.0, Agent::Worker(1)));
        assert_eq!((counts.taken, counts.contended), (3, 1));
    }
}
