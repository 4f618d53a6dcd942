//! Lines whose work is loops that only take time: what no real codec does on demand.

use super::answer::{Cost, timed};
use super::way::Way;
use packline::line::{Config, ParallelLine};
use packline_bench::Idle;

/// Bytes that each item takes of the budget, and how many items have room.
const ITEM: usize = 128 << 10;
const ROOM: usize = 128;

/// A line of such work.
#[derive(Debug, Clone, Copy)]
pub struct Fake {
    /// Items.
    pub items: u64,
    /// How long each takes.
    pub idle: Idle,
    /// Worker threads.
    pub workers: usize,
}

impl Fake {
    /// Sends all items through a line.
    pub fn run(&self, way: &Way) -> Result<Cost, String> {
        timed(|| self.send(way), |sum| Ok(blake3::hash(&sum.to_le_bytes())))
    }

    fn send(&self, way: &Way) -> Result<u64, String> {
        let config = Config { workers: self.workers, budget: ROOM * ITEM, ..way.config() };
        let mut line = ParallelLine::new(self.idle, config).map_err(|cause| cause.to_string())?;
        self.idle.send(&mut line, self.items, ITEM).map_err(|fault| fault.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::super::way::WAYS;
    use super::*;

    #[test]
    fn the_answer_hangs_on_no_way() {
        let idle = Idle { hash: 5, compress: 20, head: 9_000, sink: 3, ..Idle::default() };
        let fake = Fake { items: 300, idle, workers: 3 };
        let answer = |fake: Fake, way: &Way| fake.run(way).unwrap().answer;
        let [plain, .., local, help] = WAYS;
        assert_eq!(answer(fake, &plain), answer(fake, &local));
        assert_eq!(answer(fake, &plain), answer(Fake { workers: 1, ..fake }, &help));
        assert_ne!(answer(fake, &plain), answer(Fake { items: 299, ..fake }, &plain));
    }
}
