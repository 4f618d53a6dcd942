//! Work that only takes time: what is measured with it is the line.

use packline_engine::{Caller, Fault, Line, Outbox, Permit, Work};
use std::convert::Infallible;

/// How long everything takes, in rounds of a loop (1 to 2 ns each).
#[derive(Debug, Clone, Copy, Default)]
pub struct Idle {
    /// What the caller does before it feeds an item.
    pub read: u64,
    /// Hashing an item.
    pub hash: u64,
    /// Compressing an item other than the first.
    pub compress: u64,
    /// Compressing the first.
    pub head: u64,
    /// Committing an item.
    pub sink: u64,
}

/// An item on its way: its number, what has been made of it, its memory.
pub struct Item {
    number: u64,
    made: u64,
    _permit: Permit,
}

/// What has arrived so far, as a number that hangs on every item and on their order.
struct Sink {
    rounds: u64,
    sum: u64,
}

/// Takes time, and gives a number that hangs on every round.
fn spin(seed: u64, rounds: u64) -> u64 {
    (0..rounds).fold(seed, |sum, round| mixed(sum, std::hint::black_box(round)))
}

fn mixed(sum: u64, more: u64) -> u64 {
    (sum ^ more).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Work for Idle {
    type Raw = Item;
    type Hashed = Item;
    type Job = Item;
    type Packed = Item;
    type Error = Infallible;
    type Tool = ();

    fn tool(&self) {}

    fn hash(&self, (): &mut (), item: Item) -> Result<Item, Infallible> {
        Ok(Item { made: spin(item.number, self.hash), ..item })
    }

    fn compress(&self, (): &mut (), item: Item) -> Result<Item, Infallible> {
        let rounds = if item.number == 0 { self.head } else { self.compress };
        Ok(Item { made: spin(item.made, rounds), ..item })
    }
}

impl Caller<Idle> for Sink {
    fn decide(&mut self, item: Item, next: &mut dyn Outbox<Idle>) -> Result<(), Infallible> {
        next.submit(item);
        Ok(())
    }

    fn commit(&mut self, item: Item) -> Result<(), Infallible> {
        self.sum = mixed(self.sum.rotate_left(7), spin(item.made, self.rounds));
        Ok(())
    }
}

impl Idle {
    /// Sends `items` items of `bytes` bytes each down a line of this work: a number that hangs on what came out, and in what
    /// order.
    ///
    /// # Errors
    /// The line's own: it was cancelled, say.
    pub fn send(&self, line: &mut dyn Line<Idle>, items: u64, bytes: usize) -> Result<u64, Fault<Infallible>> {
        let mut sink = Sink { rounds: self.sink, sum: 0 };
        for number in 0..items {
            let permit = line.reserve(bytes, &mut sink)?;
            let item = Item { number, made: spin(number, self.read), _permit: permit };
            line.feed(item, &mut sink)?;
        }
        line.drain(&mut sink)?;
        Ok(sink.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_engine::{Config, ParallelLine, SerialLine};

    #[test]
    fn the_answer_hangs_on_every_item_and_no_worker() {
        let idle = Idle { read: 2, hash: 5, compress: 20, head: 900, sink: 3 };
        let serial = |idle: Idle, items| idle.send(&mut SerialLine::new(idle), items, 100).unwrap();
        let mut line = ParallelLine::new(idle, Config::new(3, 1000)).unwrap();
        assert_eq!(idle.send(&mut line, 300, 100).unwrap(), serial(idle, 300));
        assert_ne!(serial(idle, 300), serial(idle, 299));
        assert_ne!(serial(idle, 300), serial(Idle { head: 901, ..idle }, 300));
    }
}
