//! A queue of timed events; equal times in the order of scheduling.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

#[derive(Debug)]
pub struct Events<T> {
    heap: BinaryHeap<Reverse<Timed<T>>>,
    scheduled: u64,
}

/// `key` is a time in nanoseconds, or any other monotonic measure.
#[derive(Debug)]
struct Timed<T> {
    key: f64,
    order: u64,
    event: T,
}

impl<T> Default for Events<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), scheduled: 0 }
    }
}

impl<T> Events<T> {
    pub fn at(&mut self, key: f64, event: T) {
        self.heap.push(Reverse(Timed { key, order: self.scheduled, event }));
        self.scheduled += 1;
    }

    pub fn next_key(&self) -> Option<f64> {
        self.heap.peek().map(|Reverse(timed)| timed.key)
    }

    pub fn pop(&mut self) -> Option<(f64, T)> {
        self.heap.pop().map(|Reverse(timed)| (timed.key, timed.event))
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }
}

impl<T> Ord for Timed<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.total_cmp(&other.key).then(self.order.cmp(&other.order))
    }
}

impl<T> PartialOrd for Timed<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Timed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Timed<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_time_and_then_by_order() {
        let mut events = Events::default();
        for (time, name) in [(3.0, "c"), (1.0, "a"), (3.0, "d"), (2.0, "b"), (1.0, "a2")] {
            events.at(time, name);
        }
        assert_eq!((events.next_key(), events.len()), (Some(1.0), 5));
        let order: Vec<_> = std::iter::from_fn(|| events.pop()).map(|(_, name)| name).collect();
        assert_eq!(order, ["a", "a2", "b", "c", "d"]);
    }
}
