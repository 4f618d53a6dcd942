//! A queue of timed events; equal times in the order of scheduling.

use std::collections::BTreeMap;

/// Events by key and number. A key is a time in nanoseconds, or any other monotonic measure; at least 0, so that its bits are in
/// the order of the numbers.
#[derive(Debug)]
pub struct Events<T> {
    queue: BTreeMap<(u64, u64), T>,
    scheduled: u64,
}

impl<T> Default for Events<T> {
    fn default() -> Self {
        Self { queue: BTreeMap::new(), scheduled: 0 }
    }
}

impl<T> Events<T> {
    pub fn at(&mut self, key: f64, event: T) {
        self.queue.insert((key.max(0.0).to_bits(), self.scheduled), event);
        self.scheduled += 1;
    }

    pub fn next_key(&self) -> Option<f64> {
        self.queue.first_key_value().map(|((key, _), _)| f64::from_bits(*key))
    }

    pub fn pop(&mut self) -> Option<(f64, T)> {
        self.queue.pop_first().map(|((key, _), event)| (f64::from_bits(key), event))
    }

    pub fn len(&self) -> usize {
        self.queue.len()
    }
}

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
