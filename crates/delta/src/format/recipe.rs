//! The recipe: how the plain form of NEW becomes NEW.

use super::numbers::{Fault, Numbers, put, put_signed};
use packline_codec::METADATA_BLOCK_SIZE;

/// Upper bound for the bytes of a step that is not a run of blocks.
const LONGEST: u64 = 1 << 62;
/// Upper bound for the blocks of a run. With it, the sum of the blocks' lengths does not overflow.
const RUN_MOST: u64 = 1 << 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// A data or a fragment block.
    Data,
    /// A metadata block with its header.
    Metadata,
}

/// How the next bytes of the plain form are written to NEW.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The bytes are written unchanged.
    Raw { length: u64 },
    /// The bytes are `count` blocks of one length, and each block is encoded.
    Encode { kind: BlockKind, length: u32, count: u64 },
    /// The bytes are `count` blocks of the old image from number `first`, and the blocks are written as they are stored there.
    Keep { first: u64, count: u64 },
}

/// Encodes and decodes the steps of each part of the recipe.
#[derive(Debug)]
pub(crate) struct StepCoder {
    block_size: u32,
    /// The number of the block that follows the last kept block of the old image.
    next: u64,
}

/// Upper bound for the steps of a part.
pub(crate) const STEPS_MOST: usize = 1 << 16;

impl StepCoder {
    /// `block_size` is the block size of the new image; 0 if no block is encoded.
    pub(crate) fn new(block_size: u32) -> StepCoder {
        StepCoder { block_size, next: 0 }
    }

    fn largest(&self, kind: BlockKind) -> u64 {
        match kind {
            BlockKind::Data => self.block_size.into(),
            BlockKind::Metadata if self.block_size > 0 => METADATA_BLOCK_SIZE as u64,
            BlockKind::Metadata => 0,
        }
    }

    pub(crate) fn put(&mut self, out: &mut Vec<u8>, step: &Step) {
        match *step {
            Step::Raw { length } => put(out, length << 2),
            Step::Encode { kind, length, count } => {
                put(out, count << 2 | if kind == BlockKind::Data { 1 } else { 2 });
                put(out, self.largest(kind).saturating_sub(length.into()));
            }
            Step::Keep { first, count } => {
                put(out, count << 2 | 3);
                put_signed(out, first.cast_signed() - self.next.cast_signed());
                self.next = first + count;
            }
        }
    }

    /// Decodes the steps of a part.
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> Result<Vec<Step>, Fault> {
        let mut numbers = Numbers::new(bytes);
        let mut steps = Vec::new();
        while !numbers.is_at_end() {
            if steps.len() == STEPS_MOST {
                return Err(("too many steps in a part of the recipe".into(), "at most 65536"));
            }
            steps.push(self.step(&mut numbers)?);
        }
        Ok(steps)
    }

    fn step(&mut self, numbers: &mut Numbers<'_>) -> Result<Step, Fault> {
        let number = numbers.next()?;
        let amount = number >> 2;
        let empty = || ("invalid step in the recipe".to_string(), "a step with a length and count within the limits");
        let limit = if number & 3 == 0 { LONGEST } else { RUN_MOST };
        if amount == 0 || amount > limit {
            return Err(empty());
        }
        Ok(match number & 3 {
            0 => Step::Raw { length: amount },
            3 => self.keep(amount, numbers.signed()?)?,
            kind => {
                let kind = if kind == 1 { BlockKind::Data } else { BlockKind::Metadata };
                let length = self.largest(kind).checked_sub(numbers.next()?).filter(|length| *length > 0);
                Step::Encode { kind, length: length.ok_or_else(empty)? as u32, count: amount }
            }
        })
    }

    fn keep(&mut self, count: u64, from: i64) -> Result<Step, Fault> {
        let in_range = self.next.checked_add_signed(from).filter(|first| *first <= LONGEST);
        let first = in_range.ok_or_else(|| ("a block number out of range".to_string(), "a block of the old image"))?;
        self.next = first + count;
        Ok(Step::Keep { first, count })
    }
}

/// Appends a step, or joins it with the last step if it continues that step.
pub(crate) fn join(steps: &mut Vec<Step>, next: Step) {
    let joined = match (steps.last_mut(), next) {
        (Some(Step::Raw { length }), Step::Raw { length: more }) => {
            *length += more;
            true
        }
        (Some(Step::Encode { kind, length, count }), Step::Encode { kind: other, length: its, count: more })
            if *kind == other && *length == its && *count + more <= RUN_MOST =>
        {
            *count += more;
            true
        }
        (Some(Step::Keep { first, count }), Step::Keep { first: next, count: more })
            if *first + *count == next && *count + more <= RUN_MOST =>
        {
            *count += more;
            true
        }
        _ => false,
    };
    if !joined {
        steps.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> Vec<Step> {
        use BlockKind::{Data, Metadata};
        vec![
            Step::Raw { length: 96 },
            Step::Keep { first: 0, count: 70 },
            Step::Encode { kind: Data, length: 131_072, count: 3 },
            Step::Encode { kind: Data, length: 1, count: 1 },
            Step::Keep { first: 74, count: 1 },
            Step::Keep { first: 3, count: 2 },
            Step::Encode { kind: Metadata, length: 8192, count: 9 },
            Step::Raw { length: 5 << 40 },
        ]
    }

    fn encoded(steps: &[Step]) -> Vec<u8> {
        let mut coder = StepCoder::new(131_072);
        let mut out = Vec::new();
        steps.iter().for_each(|step| coder.put(&mut out, step));
        out
    }

    #[test]
    fn decodes_the_steps_that_it_encodes() {
        assert_eq!(StepCoder::new(131_072).decode(&encoded(&steps())).unwrap(), steps());
    }

    #[test]
    fn joins_steps_that_continue() {
        let mut joined = Vec::new();
        let raw = |length| Step::Raw { length };
        let keep = |first, count| Step::Keep { first, count };
        let block = |length| Step::Encode { kind: BlockKind::Data, length, count: 1 };
        for step in [raw(1), raw(2), keep(5, 1), keep(6, 1), keep(8, 1), block(7), block(7), block(8)] {
            join(&mut joined, step);
        }
        let twice = Step::Encode { kind: BlockKind::Data, length: 7, count: 2 };
        assert_eq!(joined, [raw(3), keep(5, 2), keep(8, 1), twice, block(8)]);
    }

    #[test]
    fn rejects_empty_and_too_long_steps() {
        let decode = |bytes: &[u8]| StepCoder::new(4096).decode(bytes);
        assert!(decode(&[0]).is_err() && decode(&[1]).is_err() && decode(&[3, 0]).is_err());
        let longer = encoded(&[Step::Encode { kind: BlockKind::Data, length: 1, count: 1 }]);
        assert!(decode(&longer).is_err(), "a block of 1 - 131072 + 4096 bytes");
        assert!(decode(&encoded(&[Step::Keep { first: 0, count: 1 << 40 }])).is_err());
        let before = [7, 1];
        assert!(decode(&before).is_err(), "block -1");
        assert!(decode(&[4].repeat(STEPS_MOST)).is_ok());
        assert!(decode(&[4].repeat(STEPS_MOST + 1)).is_err());
    }
}
