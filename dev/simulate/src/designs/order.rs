//! Jobs ordered by their position in the output.

use super::Entry;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
