//! Locks, asked for at the moment they are wanted and handed over in order.

use std::collections::VecDeque;

/// Who asks for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    /// The thread that reads, decides and commits.
    Caller,
    /// A worker, by number.
    Worker(usize),
}

/// One lock.
#[derive(Debug, Default)]
pub struct Lock {
    holder: Option<Agent>,
    /// Who held it last: whose cache has its lines.
    last: Option<Agent>,
    waiting: VecDeque<(Agent, f64)>,
}

/// What the locks of a run were used for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LockCounts {
    /// Times a lock was taken.
    pub taken: u64,
    /// Of those, after waiting for another holder.
    pub contended: u64,
    /// Times that a try found it held, and went elsewhere.
    pub skipped: u64,
    /// Waiting in all, nanoseconds.
    pub waited: f64,
    /// The longest wait, nanoseconds.
    pub longest: f64,
}

impl Lock {
    /// Whether somebody holds it.
    pub fn held(&self) -> bool {
        self.holder.is_some()
    }

    /// Asks at time `now`: whether it is granted at once. If not, [`Lock::release`] will name the agent in its turn.
    pub fn ask(&mut self, now: f64, agent: Agent, counts: &mut LockCounts) -> bool {
        counts.taken += 1;
        counts.contended += u64::from(self.held());
        self.ask_again(now, agent)
    }

    /// Asks after having slept for it: the lock may be held again.
    pub fn ask_again(&mut self, now: f64, agent: Agent) -> bool {
        if self.held() {
            self.waiting.push_back((agent, now));
            return false;
        }
        self.holder = Some(agent);
        true
    }

    /// Whether the lock's lines come from another core; the agent's cache has them from now on.
    pub fn moves_to(&mut self, agent: Agent) -> bool {
        self.last.replace(agent) != Some(agent)
    }

    /// Gives the lock back at time `now`. Who has waited longest has it next if that was at most `spin` long, and
    /// otherwise sleeps: it has to be woken and to ask again.
    pub fn release(&mut self, now: f64, spin: f64, counts: &mut LockCounts) -> Next {
        self.holder = None;
        let Some((agent, since)) = self.waiting.pop_front() else { return Next::Nobody };
        counts.waited += now - since;
        counts.longest = counts.longest.max(now - since);
        if now - since > spin {
            return Next::Sleeps(agent);
        }
        self.holder = Some(agent);
        Next::Holds(agent)
    }
}

/// Who comes after a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// None waits.
    Nobody,
    /// The lock has passed to this agent, which was watching it.
    Holds(Agent),
    /// The lock is free; this agent is to be woken.
    Sleeps(Agent),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handed_over_in_order_and_counted() {
        let (mut lock, mut counts) = (Lock::default(), LockCounts::default());
        assert!(lock.ask(0.0, Agent::Caller, &mut counts));
        assert!(lock.held() && lock.moves_to(Agent::Caller) && !lock.moves_to(Agent::Caller));
        assert!(!lock.ask(2.0, Agent::Worker(3), &mut counts));
        assert!(!lock.ask(5.0, Agent::Worker(1), &mut counts));
        assert_eq!(lock.release(10.0, 9.0, &mut counts), Next::Holds(Agent::Worker(3)));
        assert_eq!(lock.release(11.0, 9.0, &mut counts), Next::Holds(Agent::Worker(1)));
        assert_eq!(lock.release(12.0, 9.0, &mut counts), Next::Nobody);
        assert!(!lock.held());
        assert_eq!(counts, LockCounts { taken: 3, contended: 2, skipped: 0, waited: 14.0, longest: 8.0 });
    }

    #[test]
    fn an_early_request_never_waits_for_a_later_one() {
        let (mut lock, mut counts) = (Lock::default(), LockCounts::default());
        assert!(lock.ask(0.0, Agent::Worker(0), &mut counts));
        assert_eq!(lock.release(1.0, 0.0, &mut counts), Next::Nobody);
        assert!(lock.ask(1.0, Agent::Worker(1), &mut counts));
        assert_eq!(counts.contended, 0);
    }

    #[test]
    fn who_sleeps_for_a_lock_may_find_it_held_again() {
        let (mut lock, mut counts) = (Lock::default(), LockCounts::default());
        assert!(lock.ask(0.0, Agent::Worker(0), &mut counts));
        assert!(!lock.ask(1.0, Agent::Worker(1), &mut counts));
        assert_eq!(lock.release(10.0, 5.0, &mut counts), Next::Sleeps(Agent::Worker(1)));
        assert!(lock.ask(11.0, Agent::Worker(2), &mut counts), "it is free meanwhile");
        assert!(!lock.ask_again(12.0, Agent::Worker(1)));
        assert_eq!((counts.taken, counts.contended), (3, 1));
    }
}
