//! Access to a file's block list by number: positions in it are recorded, a bounded number for a list of any length.

use packline_runtime::TaskError;

use crate::read::{Block, Blocks, ReadError};

/// Maximum number of marks; when it is reached, every other one is dropped.
const MARKS: usize = 32;
/// Blocks between two marks at first. Reading that many size words takes less time than decoding a block.
const FIRST_STEP: u64 = 256;

/// Recorded positions in a block list.
pub(super) struct BlockIndex {
    /// The state of the list before block 0, `step`, 2 * `step`, ...
    marks: Vec<Blocks>,
    step: u64,
    /// The state of the list after the block that was read last, and the number of the next.
    here: (u64, Blocks),
}

impl BlockIndex {
    pub(super) fn new(blocks: Blocks) -> BlockIndex {
        BlockIndex { marks: vec![blocks.clone()], step: FIRST_STEP, here: (0, blocks) }
    }

    /// The block `number`, which must be less than the length of the list.
    pub(super) fn get(&mut self, number: u64) -> Result<Block, ReadError> {
        let (mut next, mut blocks) = self.nearest(number);
        loop {
            self.mark(next, &blocks);
            let Some(block) = blocks.next() else { return Err(short(number, next)) };
            let block = block?;
            next += 1;
            if next > number {
                self.here = (next, blocks);
                return Ok(block);
            }
        }
    }

    /// The nearest known place at or before a block.
    fn nearest(&mut self, number: u64) -> (u64, Blocks) {
        let mark = (number / self.step).min(self.marks.len() as u64 - 1);
        if (mark * self.step..=number).contains(&self.here.0) {
            return self.here.clone();
        }
        (mark * self.step, self.marks[mark as usize].clone())
    }

    fn mark(&mut self, next: u64, blocks: &Blocks) {
        if next != self.marks.len() as u64 * self.step {
            return;
        }
        if self.marks.len() == MARKS {
            let mut number = 0;
            self.marks.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.step *= 2;
        }
        if next == self.marks.len() as u64 * self.step {
            self.marks.push(blocks.clone());
        }
    }
}

fn short(number: u64, length: u64) -> ReadError {
    ReadError::internal(format!("block {number} of a list of {length}"))
}
