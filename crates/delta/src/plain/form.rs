//! The plain form of a file: the bytes of the file, with the blocks of an image decoded.

use crate::format::recipe::Step;

/// A compressed block of an image in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    /// The block's first byte in the file.
    pub(crate) at: u64,
    /// The block's first byte in the plain form.
    pub(crate) start: u64,
    /// The number of stored bytes.
    pub(crate) stored: u32,
    /// The number of decoded bytes. The highest bit marks a metadata block.
    packed: u32,
}

/// The bit that marks a metadata block.
const METADATA: u32 = 1 << 31;

impl Block {
    /// Returns a block whose position in the plain form is not known yet.
    pub(crate) fn new(at: u64, stored: u32, plain: u32, is_metadata: bool) -> Block {
        Block { at, start: 0, stored, packed: plain & !METADATA | if is_metadata { METADATA } else { 0 } }
    }

    pub(crate) fn plain(&self) -> u32 {
        self.packed & !METADATA
    }

    pub(crate) fn is_metadata(&self) -> bool {
        self.packed & METADATA != 0
    }

    /// Returns the block with another decoded length.
    pub(crate) fn with_plain(self, plain: u32) -> Block {
        Block { packed: plain | self.packed & METADATA, ..self }
    }

    /// The block's end in the file.
    pub(crate) fn end(&self) -> u64 {
        self.at + u64::from(self.stored)
    }

    /// Whether the block ends beyond a file of `size` bytes.
    pub(crate) fn is_beyond(&self, size: u64) -> bool {
        self.at.checked_add(self.stored.into()).is_none_or(|end| end > size)
    }

    /// The block's end in the plain form.
    pub(crate) fn plain_end(&self) -> u64 {
        self.start + u64::from(self.plain())
    }
}

/// Maps the bytes of a plain form to the bytes of the file.
#[derive(Debug, Default)]
pub(crate) struct Form {
    blocks: Vec<Block>,
    /// Length of the plain form in bytes.
    plain: u64,
}

/// The origin of a byte of the plain form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteOrigin {
    /// The next `length` bytes of the plain form equal those of the file from byte `at`.
    Raw { at: u64, length: u64 },
    /// A byte of the block with this number, at this offset in the decoded block.
    Block { number: usize, offset: u32 },
}

impl Form {
    /// Returns the form of a file of `size` bytes with these blocks, which must be in order and must not overlap.
    pub(crate) fn new(mut blocks: Vec<Block>, size: u64) -> Form {
        let mut stored = 0;
        let mut plain = 0;
        for block in &mut blocks {
            block.start = plain + (block.at - stored);
            stored = block.end();
            plain = block.plain_end();
        }
        Form { blocks, plain: plain + (size - stored) }
    }

    pub(crate) fn plain(&self) -> u64 {
        self.plain
    }

    pub(crate) fn all(&self) -> &[Block] {
        &self.blocks
    }

    /// The number of blocks.
    pub(crate) fn count(&self) -> usize {
        self.blocks.len()
    }

    /// Returns `count` blocks from number `first`; `None` if there are fewer blocks.
    pub(crate) fn blocks(&self, first: u64, count: u64) -> Option<&[Block]> {
        let first = usize::try_from(first).ok()?;
        let count = usize::try_from(count).ok()?;
        self.blocks.get(first..first.checked_add(count)?)
    }

    /// Returns the bytes of the plain form of NEW that a step uses, if this is the form of OLD; `None` if OLD has fewer blocks.
    pub(crate) fn bytes_used(&self, step: Step) -> Option<u64> {
        match step {
            Step::Raw { length } => Some(length),
            Step::Encode { length, count, .. } => Some(u64::from(length) * count),
            Step::Keep { first, count } => {
                Some(self.blocks(first, count)?.iter().map(|block| u64::from(block.plain())).sum())
            }
        }
    }

    /// Returns the origin of byte `position` of the plain form of a file of `size` bytes.
    pub(crate) fn at(&self, position: u64, size: u64) -> ByteOrigin {
        let next = self.blocks.partition_point(|block| block.start <= position);
        let before = next.checked_sub(1).and_then(|number| Some((number, self.blocks.get(number)?)));
        let (stored, plain) = match before {
            Some((number, block)) if position < block.plain_end() => {
                return ByteOrigin::Block { number, offset: (position - block.start) as u32 };
            }
            Some((_, block)) => (block.end(), block.plain_end()),
            None => (0, 0),
        };
        let at = stored + (position - plain);
        let end = self.blocks.get(next).map_or(size, |block| block.at);
        ByteOrigin::Raw { at, length: end.saturating_sub(at) }
    }

    /// Returns the first bytes of BLAKE3 of the positions of all blocks.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = blake3::Hasher::new();
        for block in &self.blocks {
            hasher
                .update(&block.at.to_le_bytes())
                .update(&block.stored.to_le_bytes())
                .update(&block.packed.to_le_bytes());
        }
        let hash = hasher.finalize();
        hash.as_bytes().first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
    }

    /// The memory of the form in bytes.
    pub(crate) fn memory(&self) -> u64 {
        (self.blocks.capacity() * size_of::<Block>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_each_byte_to_a_block_or_to_a_gap() {
        let blocks =
            [(10, 5, 100), (15, 7, 3), (30, 1, 8)].map(|(at, stored, plain)| Block::new(at, stored, plain, false));
        let form = Form::new(blocks.to_vec(), 40);
        assert_eq!(form.plain(), 10 + 100 + 3 + 8 + 8 + 9);
        let raw = |at, length| ByteOrigin::Raw { at, length };
        let block = |number, offset| ByteOrigin::Block { number, offset };
        for (place, expected) in [
            (0, raw(0, 10)),
            (9, raw(9, 1)),
            (10, block(0, 0)),
            (109, block(0, 99)),
            (110, block(1, 0)),
            (113, raw(22, 8)),
            (120, raw(29, 1)),
            (121, block(2, 0)),
            (129, raw(31, 9)),
            (137, raw(39, 1)),
        ] {
            assert_eq!(form.at(place, 40), expected, "{place}");
        }
        assert_eq!(Form::new(vec![], 5).at(3, 5), raw(3, 2));
    }

    #[test]
    fn digest_covers_the_positions() {
        let form = |block: Block| Form::new(vec![block], 100).digest();
        let block = Block::new(1, 2, 3, false);
        let others =
            [Block::new(2, 2, 3, false), Block::new(1, 3, 3, false), block.with_plain(4), Block::new(1, 2, 3, true)];
        assert!(others.iter().all(|other| form(*other) != form(block)));
    }
}
