//! Lines whose work is loops that only take time: what no real codec does on demand.

use super::answer::{Cost, timed};
use super::way::Way;
use packline::line::{Caller, Config, Line, Outbox, ParallelLine, Permit, Work};
use std::convert::Infallible;

/// Bytes that each item takes of the budget, and how many items have room.
const ITEM: usize = 128 << 10;
const ROOM: usize = 128;

/// How long everything takes, in rounds of a loop (1 to 2 ns each).
#[derive(Debug, Clone, Copy)]
pub struct Fake {
    /// Items.
    pub items: u64,
    /// Rounds of an item's hash.
    pub hash: u64,
    /// Rounds of an item's compression.
    pub compress: u64,
    /// Rounds of the first item's compression.
    pub head: u64,
    /// Rounds of a commit.
    pub sink: u64,
    /// Worker threads.
    pub workers: usize,
}

/// An item on its way: its number, what has been made of it, its memory.
pub struct Item {
    number: u64,
    made: u64,
    _permit: Permit,
}

struct Sink {
    rounds: u64,
    sum: blake3::Hasher,
}

/// Takes time, and gives a number that hangs on every round.
fn spin(seed: u64, rounds: u64) -> u64 {
    (0..rounds).fold(seed, |sum, round| (sum ^ std::hint::black_box(round)).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

impl Work for Fake {
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

impl Caller<Fake> for Sink {
    fn decide(&mut self, item: Item, next: &mut dyn Outbox<Fake>) -> Result<(), Infallible> {
        next.submit(item);
        Ok(())
    }

    fn commit(&mut self, item: Item) -> Result<(), Infallible> {
        self.sum.update(&spin(item.made, self.rounds).to_le_bytes());
        Ok(())
    }
}

impl Fake {
    /// Sends all items through a line.
    pub fn run(&self, way: &Way) -> Result<Cost, String> {
        timed(|| self.send(way), |sum| Ok(sum.finalize()))
    }

    fn send(&self, way: &Way) -> Result<blake3::Hasher, String> {
        let config = Config { workers: self.workers, budget: ROOM * ITEM, ..way.config() };
        let mut line = ParallelLine::new(*self, config).map_err(|cause| cause.to_string())?;
        let mut sink = Sink { rounds: self.sink, sum: blake3::Hasher::new() };
        for number in 0..self.items {
            let permit = line.reserve(ITEM, &mut sink).map_err(|fault| fault.to_string())?;
            let item = Item { number, made: 0, _permit: permit };
            line.feed(item, &mut sink).map_err(|fault| fault.to_string())?;
        }
        line.drain(&mut sink).map_err(|fault| fault.to_string())?;
        Ok(sink.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::super::way::WAYS;
    use super::*;

    #[test]
    fn the_answer_hangs_on_every_item_and_no_way() {
        let fake = Fake { items: 300, hash: 5, compress: 20, head: 9_000, sink: 3, workers: 3 };
        let answer = |fake: Fake, way: &Way| fake.run(way).unwrap().answer;
        let [plain, .., local, help] = WAYS;
        assert_eq!(answer(fake, &plain), answer(fake, &local));
        assert_eq!(answer(fake, &plain), answer(Fake { workers: 1, ..fake }, &help));
        assert_ne!(answer(fake, &plain), answer(Fake { items: 299, ..fake }, &plain));
        assert_ne!(answer(fake, &plain), answer(Fake { head: 9_001, ..fake }, &plain));
    }
}
