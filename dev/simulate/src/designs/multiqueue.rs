//! Several queues in output order, each under its own lock; a worker takes the earliest job that needs no waiting for a lock.

use super::{Choice, Design, Entry, Order};
use crate::machine::Costs;
use std::collections::BTreeSet;

#[derive(Debug)]
pub struct MultiQueue {
    queues: Vec<Order>,
    /// Queues with jobs, ordered by their earliest job.
    best: BTreeSet<(Entry, usize)>,
    workers: usize,
    pending: usize,
    next: usize,
    peek: f64,
    transfer: f64,
}

impl MultiQueue {
    /// `queues` queues, at most one a worker; consecutive workers share a queue, as consecutive cores share a cache.
    pub fn new(workers: usize, queues: usize, costs: &Costs) -> Self {
        let queues = vec![Order::default(); queues.clamp(1, workers.max(1))];
        let peek = costs.peek;
        let transfer = costs.transfer;
        Self { queues, best: BTreeSet::new(), workers: workers.max(1), pending: 0, next: 0, peek, transfer }
    }

    /// Cost of reading every queue's earliest key. Assumes that the keys of all queues with jobs have changed since the last time.
    fn cost(&self) -> f64 {
        let foreign = self.queues.len().saturating_sub(1) as f64;
        foreign * self.peek + foreign.min(self.best.len() as f64) * self.transfer
    }

    fn change(&mut self, queue: usize, change: impl FnOnce(&mut Order) -> Option<Entry>) -> Option<Entry> {
        if let Some(first) = self.queues[queue].first() {
            self.best.remove(&(first, queue));
        }
        let entry = change(&mut self.queues[queue]);
        if let Some(first) = self.queues[queue].first() {
            self.best.insert((first, queue));
        }
        entry
    }
}

impl Design for MultiQueue {
    fn queues(&self) -> usize {
        self.queues.len()
    }

    fn home(&self, worker: usize) -> usize {
        worker * self.queues.len() / self.workers
    }

    fn target(&mut self, near: Option<usize>, _woken: Option<usize>) -> usize {
        if let Some(worker) = near {
            return self.home(worker);
        }
        self.next = (self.next + 1) % self.queues.len();
        self.next
    }

    fn push(&mut self, queue: usize, entry: Entry) {
        self.pending += 1;
        self.change(queue, |order| {
            order.push(entry);
            None
        });
    }

    fn choose(&mut self, worker: usize, held: &dyn Fn(usize) -> bool) -> Choice {
        let skipped = self.best.iter().take_while(|(_, queue)| held(*queue)).count();
        let free = self.best.iter().nth(skipped).map(|&(_, queue)| queue);
        // If every queue with a job is locked, the worker waits for its own, or for the one with the earliest job.
        let own = Some(self.home(worker)).filter(|&home| self.queues[home].first().is_some());
        let queue = free.or(own).or_else(|| self.best.first().map(|&(_, queue)| queue));
        Choice { queue, cost: self.cost(), skipped: skipped as u64 }
    }

    fn pop(&mut self, queue: usize) -> Option<usize> {
        let (_, job) = self.change(queue, Order::pop)?;
        self.pending -= 1;
        Some(job)
    }

    fn pending(&self) -> usize {
        self.pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_with_jobs() -> MultiQueue {
        let mut queues = MultiQueue::new(4, 2, &Costs { peek: 3.0, transfer: 80.0, ..Costs::FREE });
        queues.push(0, (7, 70));
        queues.push(1, (5, 50));
        queues
    }

    #[test]
    fn the_earliest_job_of_all_queues_is_taken() {
        let mut queues = two_with_jobs();
        assert_eq!(queues.choose(0, &|_| false), Choice { queue: Some(1), cost: 83.0, skipped: 0 });
        assert_eq!(queues.pop(1), Some(50));
        assert_eq!(queues.choose(3, &|_| false).queue, Some(0));
    }

    #[test]
    fn a_locked_queue_is_skipped_unless_all_are() {
        let mut queues = two_with_jobs();
        assert_eq!(queues.choose(3, &|queue| queue == 1), Choice { queue: Some(0), cost: 83.0, skipped: 1 });
        assert_eq!(queues.choose(0, &|_| true).queue, Some(0), "the worker's own");
        assert_eq!(queues.choose(3, &|_| true).queue, Some(1), "the worker's own");
    }

    #[test]
    fn jobs_go_to_the_queue_near_their_data_or_in_turn() {
        let mut queues = MultiQueue::new(16, 4, &Costs::FREE);
        assert_eq!([0, 3, 4, 15].map(|worker| queues.target(Some(worker), None)), [0, 0, 1, 3]);
        let turns: Vec<usize> = (0..5).map(|_| queues.target(None, Some(9))).collect();
        assert_eq!(turns, [1, 2, 3, 0, 1]);
        assert_eq!(MultiQueue::new(2, 8, &Costs::FREE).queues(), 2);
    }
}
