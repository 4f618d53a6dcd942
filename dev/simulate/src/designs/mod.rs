//! Queue designs: where submitted jobs are kept until a worker takes them.

mod heap;
mod multiqueue;
mod steal;

use crate::machine::Costs;
use clap::ValueEnum;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A job in a queue: its position in the output, and its number. The smallest goes first.
pub type Entry = (u64, usize);

/// The queue that a worker takes its next job from.
#[derive(Debug, Default, PartialEq)]
pub struct Choice {
    /// `None` if no queue has a job.
    pub queue: Option<usize>,
    /// Time to choose in nanoseconds.
    pub cost: f64,
    /// Queues with earlier jobs that were skipped because they were locked.
    pub skipped: u64,
}

pub trait Design {
    fn queues(&self) -> usize;
    /// The queue of a worker, where several workers share one.
    fn home(&self, _worker: usize) -> usize {
        0
    }
    /// The queue for the next job; `near` is the worker whose cache has the job's input, `woken` the one that would be woken for it.
    fn target(&mut self, near: Option<usize>, woken: Option<usize>) -> usize;
    fn push(&mut self, queue: usize, entry: Entry);
    /// The queue for a worker's next job; `held` returns whether a queue is locked.
    fn choose(&mut self, worker: usize, held: &dyn Fn(usize) -> bool) -> Choice;
    fn pop(&mut self, queue: usize) -> Option<usize>;
    fn pending(&self) -> usize;
    /// Cost of a queue operation in nanoseconds, of a design without locks.
    fn lock_free(&self, _worker: Option<usize>, _queue: usize) -> Option<f64> {
        None
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DesignName {
    /// One queue, first in first out
    Fifo,
    /// One queue in output order
    Heap,
    /// Several queues in output order; a worker takes the earliest job it can see
    Multiqueue,
    /// A queue for each worker; an idle worker takes from another at random
    Steal,
}

impl DesignName {
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// A design for `workers` workers. `queues` is used by the multiqueue only.
pub fn build(name: DesignName, workers: usize, queues: usize, costs: &Costs) -> Box<dyn Design> {
    match name {
        DesignName::Fifo => Box::new(heap::SingleQueue::first_in_first_out()),
        DesignName::Heap => Box::new(heap::SingleQueue::in_output_order()),
        DesignName::Multiqueue => Box::new(multiqueue::MultiQueue::new(workers, queues, costs)),
        DesignName::Steal => Box::new(steal::Steal::new(workers, costs)),
    }
}

/// Jobs ordered by their position in the output.
#[derive(Debug, Clone, Default)]
pub struct Order(BinaryHeap<Reverse<Entry>>);

impl Order {
    pub fn push(&mut self, entry: Entry) {
        self.0.push(Reverse(entry));
    }

    pub fn first(&self) -> Option<Entry> {
        self.0.peek().map(|Reverse(entry)| *entry)
    }

    pub fn pop(&mut self) -> Option<Entry> {
        self.0.pop().map(|Reverse(entry)| entry)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes jobs with these positions, then takes all as one worker.
    fn taken(name: DesignName, places: &[u64]) -> Vec<u64> {
        let mut design = build(name, 4, 2, &Costs::FREE);
        for (number, &place) in places.iter().enumerate() {
            let queue = design.target(None, None);
            assert!(queue < design.queues());
            design.push(queue, (place, number));
        }
        let mut order = Vec::new();
        while let Some(queue) = design.choose(1, &|_| false).queue {
            order.push(places[design.pop(queue).unwrap()]);
        }
        assert_eq!(design.pending(), 0);
        order
    }

    #[test]
    fn each_design_gives_every_job_once_in_its_order() {
        let places = [5, 3, 8, 1, 9, 2];
        assert_eq!(taken(DesignName::Fifo, &places), places);
        assert_eq!(taken(DesignName::Heap, &places), [1, 2, 3, 5, 8, 9]);
        assert_eq!(taken(DesignName::Multiqueue, &places), [1, 2, 3, 5, 8, 9]);
        let mut stolen = taken(DesignName::Steal, &places);
        stolen.sort_unstable();
        assert_eq!(stolen, [1, 2, 3, 5, 8, 9]);
    }
}
