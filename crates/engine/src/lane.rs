//! A row of results in the order they were asked for, taken from the head.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::slot::{Outcome, Slot};

/// What stands in one place of a lane.
#[derive(Debug)]
enum Entry<T, E> {
    /// Needed no worker.
    Ready(T),
    /// A worker fills it.
    Slot(Arc<Slot<T, E>>),
}

/// Results in order. Only the caller holds a lane; workers hold single slots of it.
#[derive(Debug)]
pub(crate) struct Lane<T, E> {
    entries: VecDeque<Entry<T, E>>,
    /// How many entries there ever were: the ticket of the next.
    tickets: u64,
}

impl<T, E> Lane<T, E> {
    /// An empty lane.
    pub(crate) fn new() -> Self {
        Self { entries: VecDeque::new(), tickets: 0 }
    }

    /// Adds a slot at the end: its ticket, and the slot for the job that fills it.
    pub(crate) fn open(&mut self) -> (u64, Arc<Slot<T, E>>) {
        let slot = Arc::new(Slot::new());
        (self.add(Entry::Slot(Arc::clone(&slot))), slot)
    }

    /// Adds a result that is here already.
    pub(crate) fn put(&mut self, value: T) {
        self.add(Entry::Ready(value));
    }

    fn add(&mut self, entry: Entry<T, E>) -> u64 {
        self.entries.push_back(entry);
        self.tickets += 1;
        self.tickets - 1
    }

    /// Takes the head, if its result is here.
    pub(crate) fn take_ready(&mut self) -> Option<Outcome<T, E>> {
        let outcome = match self.entries.front()? {
            Entry::Slot(slot) => slot.take()?,
            Entry::Ready(_) => return self.take_put(),
        };
        self.entries.pop_front();
        Some(outcome)
    }

    fn take_put(&mut self) -> Option<Outcome<T, E>> {
        match self.entries.pop_front() {
            Some(Entry::Ready(value)) => Some(Ok(value)),
            _ => None,
        }
    }

    /// Entries in the lane.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is in the lane.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Asks for a ring when there is enough to take; false if the head is here already.
    ///
    /// The caller could wait for the head, and would be woken for each job. So it waits for a result further on, when
    /// those before it are mostly here too, and takes them all at one wake-up; not so far that `busy` jobs, which keep
    /// the workers at work meanwhile, would not be left behind it. If that result is here already, the head is what
    /// everything waits for.
    pub(crate) fn want(&self, busy: usize) -> bool {
        let ahead = self.len().saturating_sub(busy).min(self.len() / 4);
        self.want_at(ahead) || self.want_at(0)
    }

    fn want_at(&self, index: usize) -> bool {
        match self.entries.get(index) {
            Some(Entry::Slot(slot)) => slot.want(),
            Some(Entry::Ready(_)) | None => false,
        }
    }

    /// Drops every entry from `length` on. Jobs that fill them still run; their results go nowhere.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.entries.truncate(length);
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bell::Bell;

    type Row = Lane<u32, ()>;

    fn head(lane: &mut Row) -> Option<u32> {
        lane.take_ready().map(Result::unwrap)
    }

    #[test]
    fn results_leave_in_order_whenever_they_came() {
        let (mut lane, bell) = (Row::new(), Bell::default());
        let (_, first) = lane.open();
        lane.put(1);
        let (ticket, third) = lane.open();
        assert_eq!((ticket, lane.len()), (2, 3));
        third.fill(Ok(2), &bell);
        assert_eq!(head(&mut lane), None);
        first.fill(Ok(0), &bell);
        assert_eq!([head(&mut lane), head(&mut lane), head(&mut lane)], [Some(0), Some(1), Some(2)]);
        assert!(lane.is_empty() && head(&mut lane).is_none());
    }

    #[test]
    fn waits_a_quarter_ahead_but_leaves_the_workers_busy() {
        let rung = |busy: usize, done: usize| {
            let (mut lane, bell) = (Row::new(), Bell::default());
            let slots: Vec<_> = (0..16).map(|_| lane.open().1).collect();
            bell.arm();
            assert!(lane.want(busy));
            slots[done].fill(Ok(0), &bell);
            !bell_armed(&bell)
        };
        assert!(rung(4, 4) && !rung(4, 0) && !rung(4, 3));
        assert!(rung(15, 1) && rung(16, 0) && rung(99, 0));
    }

    fn bell_armed(bell: &Bell) -> bool {
        let cancel = crate::CancelToken::new();
        cancel.cancel();
        bell.sleep(&cancel)
    }

    #[test]
    fn waits_for_the_head_when_what_is_ahead_is_here() {
        let (mut lane, bell) = (Row::new(), Bell::default());
        let slots: Vec<_> = (0..8).map(|_| lane.open().1).collect();
        slots[2].fill(Ok(2), &bell);
        bell.arm();
        assert!(lane.want(0));
        slots[0].fill(Ok(0), &bell);
        assert!(!bell_armed(&bell));
        assert!(!lane.want(0) || head(&mut lane).is_some());
    }
}
