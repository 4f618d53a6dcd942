//! Ways to keep jobs until a worker takes them.

mod heap;
mod multiqueue;
mod order;
mod steal;

use super::machine::Costs;

/// A job as queues know it: where it stands in the output, and its number. The smallest goes first.
pub type Entry = (u64, usize);

/// Where a worker goes for its next job, and what it cost to find out.
#[derive(Debug, Default, PartialEq)]
pub struct Choice {
    /// The queue; `None` if none has a job.
    pub queue: Option<usize>,
    /// Nanoseconds.
    pub cost: f64,
    /// Better queues that were passed by, being locked.
    pub skipped: u64,
}

/// One design.
pub trait Design {
    /// How many queues there are.
    fn queues(&self) -> usize;
    /// The queue of a worker, of those that several share.
    fn home(&self, _worker: usize) -> usize {
        0
    }
    /// The queue for the next job; `near` is the worker that has what it works on, `woken` the one that would be woken for it.
    fn target(&mut self, near: Option<usize>, woken: Option<usize>) -> usize;
    /// Puts a job there.
    fn push(&mut self, queue: usize, entry: Entry);
    /// Where a worker should look; `held` tells which queues are locked.
    fn choose(&mut self, worker: usize, held: &dyn Fn(usize) -> bool) -> Choice;
    /// Takes a job from a queue: its number.
    fn pop(&mut self, queue: usize) -> Option<usize>;
    /// Jobs in all queues.
    fn pending(&self) -> usize;
    /// What a queue's operation costs without its lock, nanoseconds, for designs that have none.
    fn lock_free(&self, _worker: Option<usize>, _queue: usize) -> Option<f64> {
        None
    }
}

/// Names of the designs.
pub const NAMES: [&str; 4] = ["fifo", "heap", "multiqueue", "steal"];

/// A design by name, for `workers` workers; `queues` queues if it has several of its own choice.
pub fn build(name: &str, workers: usize, queues: usize, costs: &Costs) -> Result<Box<dyn Design>, String> {
    match name {
        "fifo" => Ok(Box::new(heap::One::first_in_first_out())),
        "heap" => Ok(Box::new(heap::One::by_place())),
        "multiqueue" => Ok(Box::new(multiqueue::MultiQueue::new(workers, queues, costs))),
        "steal" => Ok(Box::new(steal::Steal::new(workers, costs))),
        _ => Err(format!("--design {name} (expected one of {NAMES:?})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes jobs with these places, then lets one worker take all.
    fn taken(name: &str, places: &[u64]) -> Vec<u64> {
        let mut design = build(name, 4, 2, &Costs::FREE).unwrap();
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
        assert_eq!(taken("fifo", &places), places);
        assert_eq!(taken("heap", &places), [1, 2, 3, 5, 8, 9]);
        assert_eq!(taken("multiqueue", &places), [1, 2, 3, 5, 8, 9]);
        let mut stolen = taken("steal", &places);
        stolen.sort_unstable();
        assert_eq!(stolen, [1, 2, 3, 5, 8, 9]);
    }

    #[test]
    fn an_unknown_design_is_refused() {
        assert!(build("lifo", 1, 1, &Costs::FREE).is_err());
    }
}
