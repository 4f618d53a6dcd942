//! A queue for each worker, first in first out, without locks; an idle worker takes from another queue at random.

use super::{Choice, Design, Entry};
use crate::machine::Costs;
use crate::random::Random;
use std::collections::VecDeque;

#[derive(Debug)]
pub struct Steal {
    queues: Vec<VecDeque<usize>>,
    pending: usize,
    next: usize,
    random: Random,
    hold: f64,
    transfer: f64,
}

impl Steal {
    pub fn new(workers: usize, costs: &Costs) -> Self {
        let queues = vec![VecDeque::new(); workers.max(1)];
        Self { queues, pending: 0, next: 0, random: Random::new(1), hold: costs.hold, transfer: costs.transfer }
    }

    /// Tries queues at random until one has a job; at least one must. Returns the queue and the number of tries.
    fn victim(&mut self) -> (usize, f64) {
        let mut tries = 1.0;
        loop {
            let victim = self.random.below(self.queues.len());
            if !self.queues[victim].is_empty() {
                return (victim, tries);
            }
            tries += 1.0;
        }
    }
}

impl Design for Steal {
    fn queues(&self) -> usize {
        self.queues.len()
    }

    fn target(&mut self, _near: Option<usize>, woken: Option<usize>) -> usize {
        self.next = (self.next + 1) % self.queues.len();
        woken.unwrap_or(self.next)
    }

    fn push(&mut self, queue: usize, (_, job): Entry) {
        self.pending += 1;
        self.queues[queue].push_back(job);
    }

    fn choose(&mut self, worker: usize, _held: &dyn Fn(usize) -> bool) -> Choice {
        if self.pending == 0 {
            return Choice::default();
        }
        if self.queues[worker].is_empty() {
            let (victim, tries) = self.victim();
            return Choice { queue: Some(victim), cost: tries * self.transfer, skipped: 0 };
        }
        Choice { queue: Some(worker), ..Choice::default() }
    }

    fn pop(&mut self, queue: usize) -> Option<usize> {
        let job = self.queues[queue].pop_front()?;
        self.pending -= 1;
        Some(job)
    }

    fn pending(&self) -> usize {
        self.pending
    }

    /// About the cost of an uncontended lock: a fence or a compare-and-swap, on a local or a remote cache line.
    fn lock_free(&self, worker: Option<usize>, queue: usize) -> Option<f64> {
        let own = worker == Some(queue);
        Some(if own { self.hold / 2.0 } else { self.hold + self.transfer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_queue_first_then_any_that_has_jobs() {
        let mut steal = Steal::new(8, &Costs { transfer: 80.0, ..Costs::FREE });
        assert_eq!(steal.choose(3, &|_| false), Choice::default());
        steal.push(3, (9, 90));
        steal.push(5, (1, 10));
        assert_eq!(steal.choose(3, &|_| false), Choice { queue: Some(3), cost: 0.0, skipped: 0 });
        assert_eq!(steal.pop(3), Some(90));
        let stolen = steal.choose(3, &|_| false);
        assert_eq!(stolen.queue, Some(5));
        assert!(stolen.cost >= 80.0 && stolen.cost % 80.0 == 0.0);
        assert!(steal.lock_free(Some(5), 5) < steal.lock_free(Some(3), 5));
    }
}
