//! The lengths of blocks of the old image that differ from its inodes, or cannot be decoded.

use super::form::Block;
use crate::format::NUMBERS_MOST;
use crate::format::numbers::{Fault, Numbers, put};

/// Encodes the lengths of the blocks that differ from the list, as numbers: the number of blocks between such a block and the previous one,
/// and the block's length. `found` has the decoded length of each block; 0 if the block cannot be decoded.
///
/// Returns `None` if there are too many lengths for a delta.
pub(crate) fn lengths_of(listed: &[Block], found: &[u32]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut next = 0;
    for (number, (block, found)) in (0_u64..).zip(listed.iter().zip(found)) {
        if block.plain() != *found {
            put(&mut out, number - next);
            put(&mut out, (*found).into());
            next = number + 1;
        }
    }
    (out.len() <= NUMBERS_MOST).then_some(out)
}

/// Returns the listed blocks with these lengths, without the blocks that cannot be decoded.
pub(crate) fn apply_lengths(mut blocks: Vec<Block>, lengths: &[u8]) -> Result<Vec<Block>, Fault> {
    let mut numbers = Numbers::new(lengths);
    let mut next = 0_u64;
    while !numbers.is_at_end() {
        let number = next.saturating_add(numbers.next()?);
        let length = numbers.at_most(packline_squashfs::BlockSize::MAX.into())?;
        let found = usize::try_from(number).ok().and_then(|number| blocks.get_mut(number));
        let block = found.ok_or_else(|| (format!("the length of block {number}"), "a block of the old image"))?;
        *block = block.with_plain(length as u32);
        next = number + 1;
    }
    blocks.retain(|block| block.plain() > 0);
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applies_the_lengths_that_differ() {
        let listed: Vec<Block> = (1..=5).map(|at| Block::new(at * 10, 5, 100, at == 2)).collect();
        for found in [[100; 5], [100, 7, 100, 0, 100], [0; 5], [1; 5]] {
            let lengths = lengths_of(&listed, &found).unwrap();
            let applied = apply_lengths(listed.clone(), &lengths).unwrap();
            let expected = listed.iter().zip(found).map(|(block, plain)| block.with_plain(plain));
            assert_eq!(applied, expected.filter(|block| block.plain() > 0).collect::<Vec<_>>());
            assert_eq!(lengths.is_empty(), found == [100; 5]);
        }
        assert!(apply_lengths(listed.clone(), &[5, 1]).is_err());
        assert!(apply_lengths(listed, &[1]).is_err());
    }
}
