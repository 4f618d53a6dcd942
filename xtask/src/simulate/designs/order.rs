//! Jobs by their place.

use super::Entry;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A heap that knows its first entry.
#[derive(Debug, Clone, Default)]
pub struct Order(BinaryHeap<Reverse<Entry>>);

impl Order {
    /// Adds an entry.
    pub fn push(&mut self, entry: Entry) {
        self.0.push(Reverse(entry));
    }

    /// The first entry.
    pub fn first(&self) -> Option<Entry> {
        self.0.peek().map(|Reverse(entry)| *entry)
    }

    /// Takes the first entry.
    pub fn pop(&mut self) -> Option<Entry> {
        self.0.pop().map(|Reverse(entry)| entry)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
