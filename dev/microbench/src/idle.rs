//! Work that only takes time, to measure the pipeline itself.

use packline_engine::{Config, Fault, Outbox, Permit, Pipeline, Sequencer, Task};
use std::convert::Infallible;
use std::io;

/// The duration of each step, in rounds of a loop (1 to 2 ns each).
#[derive(Debug, Clone, Copy, Default)]
pub struct Idle {
    /// The caller's work before each item.
    pub read: u64,
    pub hash: u64,
    /// Compressing an item other than the first.
    pub compress: u64,
    pub head: u64,
    pub sink: u64,
}

/// An item in flight: its number, the result so far, its memory.
pub struct Item {
    number: u64,
    made: u64,
    _permit: Permit,
}

/// A sum that depends on every result and on their order.
struct Sink {
    rounds: u64,
    sum: u64,
}

/// Takes time, and returns a number that depends on every round.
fn spin(seed: u64, rounds: u64) -> u64 {
    (0..rounds).fold(seed, |sum, round| mixed(sum, std::hint::black_box(round)))
}

fn mixed(sum: u64, more: u64) -> u64 {
    (sum ^ more).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// A stage of [`Idle`]: rounds of the first item, and of each other.
pub struct Stage {
    first: u64,
    others: u64,
}

pub type IdlePipeline = Pipeline<Stage, Stage>;

impl Task for Stage {
    type In = Item;
    type Out = Item;
    type Error = Infallible;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), item: Item) -> Result<Item, Infallible> {
        let rounds = if item.number == 0 { self.first } else { self.others };
        Ok(Item { made: spin(item.made, rounds), ..item })
    }
}

impl Sequencer<Stage, Stage> for Sink {
    fn decide(&mut self, item: Item, next: &mut Outbox<Stage>) -> Result<(), Infallible> {
        next.submit(item);
        Ok(())
    }

    fn commit(&mut self, item: Item) -> Result<(), Infallible> {
        self.sum = mixed(self.sum.rotate_left(7), spin(item.made, self.rounds));
        Ok(())
    }
}

impl Idle {
    pub fn pipeline(self, config: Config) -> io::Result<IdlePipeline> {
        let hash = Stage { first: self.hash, others: self.hash };
        Pipeline::new(hash, Stage { first: self.head, others: self.compress }, config)
    }

    /// Sends `items` items of `bytes` bytes each through a pipeline of this work. Returns a number that depends on every result and
    /// on their order.
    pub fn send(&self, pipeline: &mut IdlePipeline, items: u64, bytes: usize) -> Result<u64, Fault<Infallible>> {
        let mut sink = Sink { rounds: self.sink, sum: 0 };
        for number in 0..items {
            let permit = pipeline.reserve(bytes, &mut sink)?;
            let item = Item { number, made: spin(number, self.read), _permit: permit };
            pipeline.submit(item, &mut sink)?;
        }
        pipeline.drain(&mut sink)?;
        Ok(sink.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_hangs_on_every_item_and_no_worker() {
        let idle = Idle { read: 2, hash: 5, compress: 20, head: 900, sink: 3 };
        let serial = |idle: Idle, items| idle.send(&mut idle.pipeline(Config::new(0, 0)).unwrap(), items, 100).unwrap();
        let mut line = idle.pipeline(Config::new(3, 1000)).unwrap();
        assert_eq!(idle.send(&mut line, 300, 100).unwrap(), serial(idle, 300));
        assert_ne!(serial(idle, 300), serial(idle, 299));
        assert_ne!(serial(idle, 300), serial(Idle { head: 901, ..idle }, 300));
    }
}
