//! Results in the order in which their jobs were submitted, taken from the head.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::Task;
use crate::sync;
use crate::task::Outcome;
use crate::worker::slot::{Origin, Slot};

enum LaneEntry<T: Task> {
    /// A result that needed no worker.
    Ready(Outcome<T>),
    /// A slot that a worker fills.
    Slot(Arc<Slot<T>>, Origin),
}

/// Slots kept for reuse: about as many as a caller takes results at a time.
const USED: usize = 64;

/// Results in order. Only the caller's thread touches a lane; a worker holds single slots of it.
pub(crate) struct Lane<T: Task> {
    entries: VecDeque<LaneEntry<T>>,
    /// Slots whose results have been taken, kept for reuse. The first was taken longest ago, so most likely no worker still
    /// holds it.
    used: VecDeque<Arc<Slot<T>>>,
    /// Number of entries ever added, which is the ticket of the next.
    tickets: u64,
    /// Origin of the slot taken last.
    origin: Origin,
}

impl<T: Task> Lane<T> {
    pub(crate) fn new() -> Self {
        Self { entries: VecDeque::new(), used: VecDeque::new(), tickets: 0, origin: Origin::default() }
    }

    /// Adds a slot with a job at the end. Returns its ticket, and the slot for the queue.
    pub(crate) fn open(&mut self, job: T::In, origin: Origin) -> (u64, Arc<Slot<T>>) {
        let slot = self.slot(job);
        (self.add(LaneEntry::Slot(Arc::clone(&slot), origin)), slot)
    }

    /// A slot with a job in it, reused if possible: to allocate a slot and free it, often on another thread, would cost more
    /// than the lock.
    fn slot(&mut self, job: T::In) -> Arc<Slot<T>> {
        if let Some(mut used) = self.used.pop_front()
            && let Some(slot) = Arc::get_mut(&mut used)
        {
            sync::owned_alone(slot);
            *slot = Slot::new(job);
            return used;
        }
        Arc::new(Slot::new(job))
    }

    /// Adds a result that needs no worker.
    pub(crate) fn put(&mut self, outcome: Outcome<T>) {
        self.add(LaneEntry::Ready(outcome));
    }

    fn add(&mut self, entry: LaneEntry<T>) -> u64 {
        self.entries.push_back(entry);
        self.tickets += 1;
        self.tickets - 1
    }

    /// Takes the result at the head, if there is one.
    pub(crate) fn take_ready(&mut self) -> Option<Outcome<T>> {
        let made = match self.entries.front()? {
            LaneEntry::Slot(slot, origin) => {
                let made = slot.take()?;
                self.origin = Origin { queue: slot.ran_at(), ..*origin };
                made
            }
            LaneEntry::Ready(_) => return self.take_put(),
        };
        self.remove_head();
        Some(made)
    }

    fn remove_head(&mut self) {
        if let Some(LaneEntry::Slot(slot, _)) = self.entries.pop_front()
            && self.used.len() < USED
        {
            self.used.push_back(slot);
        }
    }

    fn take_put(&mut self) -> Option<Outcome<T>> {
        match self.entries.pop_front() {
            Some(LaneEntry::Ready(outcome)) => Some(outcome),
            _ => None,
        }
    }

    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    pub(crate) fn next_ticket(&self) -> u64 {
        self.tickets
    }

    pub(crate) fn head_ticket(&self) -> u64 {
        self.tickets - self.entries.len() as u64
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Asks to wake the caller when there are enough results to take; false if the head has its result already.
    ///
    /// Waiting for the head would wake the caller for each job. The caller therefore waits for a later result, when most of the
    /// results before it are done too, and takes them all at one wake-up. At least `busy` jobs remain after that result, to
    /// occupy the workers. If that result is done already, the caller waits for the head.
    pub(crate) fn wait_for(&self, busy: usize) -> bool {
        let ahead = self.len().saturating_sub(busy).min(self.len() / 4);
        self.want_at(ahead) || self.want_at(0)
    }

    fn want_at(&self, index: usize) -> bool {
        match self.entries.get(index) {
            Some(LaneEntry::Slot(slot, _)) => slot.wait_for(),
            Some(LaneEntry::Ready(_)) | None => false,
        }
    }

    /// Drops every entry from `length` on. Their jobs still run, and the results are dropped. Their tickets are not reused.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.entries.truncate(length);
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::caller::waker::CallerWaker;
    use crate::task::tests::Echo;

    type Echoes = Lane<Echo>;

    fn open(lane: &mut Echoes) -> Arc<Slot<Echo>> {
        lane.open(0, Origin::default()).1
    }

    fn head(lane: &mut Echoes) -> Option<u32> {
        lane.take_ready().map(Result::unwrap)
    }

    #[test]
    fn returns_results_in_order_of_submission() {
        let mut lane = Echoes::new();
        let waker = CallerWaker::default();
        let first = open(&mut lane);
        lane.put(Ok(1));
        let (ticket, third) = lane.open(0, Origin { item: None, time: 8, queue: 0 });
        assert_eq!((ticket, lane.len(), lane.head_ticket(), lane.next_ticket()), (2, 3, 0, 3));
        third.fill(Ok(2), 5, &waker);
        assert_eq!(head(&mut lane), None);
        first.fill(Ok(0), 0, &waker);
        assert_eq!([head(&mut lane), head(&mut lane), head(&mut lane)], [Some(0), Some(1), Some(2)]);
        assert_eq!(lane.origin(), Origin { item: None, time: 8, queue: 5 });
        assert!(lane.is_empty() && head(&mut lane).is_none());
    }

    #[test]
    fn reuses_a_slot_once_no_worker_holds_it() {
        let mut lane = Echoes::new();
        let waker = CallerWaker::default();
        let first = open(&mut lane);
        first.fill(Ok(1), 3, &waker);
        assert_eq!(head(&mut lane), Some(1));
        let second = open(&mut lane);
        assert!(!Arc::ptr_eq(&first, &second), "its worker still holds it");
        second.fill(Ok(2), 3, &waker);
        let place = Arc::as_ptr(&second);
        drop(second);
        assert_eq!(head(&mut lane), Some(2));
        let third = open(&mut lane);
        assert!(std::ptr::eq(place, Arc::as_ptr(&third)) && head(&mut lane).is_none() && third.ran_at() == 0);
        assert!(third.run_job(0, &waker, |job| Ok(job + 3)) && head(&mut lane) == Some(3));
    }

    #[test]
    fn waits_a_quarter_ahead_but_leaves_the_workers_busy() {
        let rung = |busy: usize, done: usize| {
            let mut lane = Echoes::new();
            let waker = CallerWaker::default();
            let slots: Vec<_> = (0..16).map(|_| open(&mut lane)).collect();
            waker.prepare();
            assert!(lane.wait_for(busy));
            slots[done].fill(Ok(0), 0, &waker);
            !waker_armed(&waker)
        };
        assert!(rung(4, 4) && !rung(4, 0) && !rung(4, 3));
        assert!(rung(15, 1) && rung(16, 0) && rung(99, 0));
    }

    fn waker_armed(waker: &CallerWaker) -> bool {
        let cancel = crate::CancelToken::new();
        cancel.cancel();
        waker.sleep(&cancel)
    }

    #[test]
    fn waits_for_the_head_when_the_later_result_is_done() {
        let mut lane = Echoes::new();
        let waker = CallerWaker::default();
        let slots: Vec<_> = (0..8).map(|_| open(&mut lane)).collect();
        slots[2].fill(Ok(2), 0, &waker);
        waker.prepare();
        assert!(lane.wait_for(0));
        slots[0].fill(Ok(0), 0, &waker);
        assert!(!waker_armed(&waker));
        assert!(!lane.wait_for(0) || head(&mut lane).is_some());
    }
}
