//! One queue under one lock: first in first out, or in output order.

use super::{Choice, Design, Entry, Order};

#[derive(Debug)]
pub struct SingleQueue {
    order: Order,
    by_place: bool,
    pushed: u64,
}

impl SingleQueue {
    pub fn first_in_first_out() -> Self {
        Self { order: Order::default(), by_place: false, pushed: 0 }
    }

    pub fn in_output_order() -> Self {
        Self { by_place: true, ..Self::first_in_first_out() }
    }
}

impl Design for SingleQueue {
    fn queues(&self) -> usize {
        1
    }

    fn target(&mut self, _near: Option<usize>, _woken: Option<usize>) -> usize {
        0
    }

    fn push(&mut self, _queue: usize, (place, job): Entry) {
        self.order.push((if self.by_place { place } else { self.pushed }, job));
        self.pushed += 1;
    }

    fn choose(&mut self, _worker: usize, _held: &dyn Fn(usize) -> bool) -> Choice {
        Choice { queue: self.order.first().map(|_| 0), ..Choice::default() }
    }

    fn pop(&mut self, _queue: usize) -> Option<usize> {
        self.order.pop().map(|(_, job)| job)
    }

    fn pending(&self) -> usize {
        self.order.len()
    }
}
