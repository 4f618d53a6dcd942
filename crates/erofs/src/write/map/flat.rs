//! Content that is not compressed: consecutive blocks, perhaps with the end after the inode, or chunks anywhere.

use packline_blocks::Error;
use packline_runtime::TaskError;

use super::chunking::{Survey, for_each_chunk};
use super::{Buffered, Content, Piece, Stored, Tail, check_size};
use crate::format::chunk::ChunkFormat;
use crate::options::{BLOCK, BLOCK_BITS};

/// Bytes of the number of a chunk's block.
const ENTRY_BYTES: u64 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlatPlan {
    /// From a block on.
    Plain { block: u64 },
    /// From a block on. The last bytes follow the inode.
    Inline { block: u64, bytes: u32 },
    /// In chunks of 2^bits blocks.
    Chunks { bits: u8 },
}

impl FlatPlan {
    /// Returns the plan of a file of a compressed image, if its content is stored as it is in consecutive blocks: it needs no index then.
    pub(super) fn of_plain(content: Content, mut pieces: impl Iterator<Item = Piece>) -> Option<FlatPlan> {
        let mut first = None;
        let mut expected = None;
        let mut covered = 0;
        let follows = |piece: Piece| match piece.stored {
            Stored::Plain { start } if expected.is_none_or(|expected| expected == start) => {
                first = first.or(Some(start));
                expected = Some(start + piece.length);
                covered += piece.length;
                true
            }
            _ => false,
        };
        let is_plain = pieces.all(follows);
        let block = first.unwrap_or(0) / BLOCK;
        match content.tail {
            Tail::None if is_plain && first.is_some() => Some(FlatPlan::Plain { block }),
            Tail::Inline(bytes) if is_plain && covered % BLOCK == 0 => Some(FlatPlan::Inline { block, bytes }),
            _ => None,
        }
    }

    /// Chooses consecutive blocks if possible, or else the largest chunks.
    pub(super) fn new(content: Content, pieces: impl Iterator<Item = Piece>) -> Result<FlatPlan, Error> {
        let survey = Survey::of(pieces, start_of)?;
        let Survey { size, breaks, first } = survey;
        check_size(content, size)?;
        if let Tail::Inline(bytes) = content.tail {
            if breaks == 0 && size % BLOCK == 0 && (first.is_some() || size == 0) {
                return Ok(FlatPlan::Inline { block: first.unwrap_or(0) / BLOCK, bytes });
            }
            return Err(Error::internal("the end of a file with scattered content is not in a block".into()));
        }
        if let (0, Some(start)) = (breaks, first) {
            return Ok(FlatPlan::Plain { block: start / BLOCK });
        }
        if breaks % BLOCK != 0 {
            return Err(Error::internal(format!(
                "pieces that start at multiples of {}",
                breaks & breaks.wrapping_neg()
            )));
        }
        let bits = survey.chunk_bits(content.size, BLOCK_BITS);
        Ok(FlatPlan::Chunks { bits })
    }

    pub(super) fn start(self) -> u64 {
        match self {
            FlatPlan::Plain { block } | FlatPlan::Inline { block, .. } => block,
            FlatPlan::Chunks { bits } => ChunkFormat::of_block_numbers(bits),
        }
    }

    pub(super) fn end(self, head: u64, size: u64) -> u64 {
        match self {
            FlatPlan::Plain { .. } => head,
            FlatPlan::Inline { bytes, .. } => head + u64::from(bytes),
            FlatPlan::Chunks { bits } => {
                head.next_multiple_of(ENTRY_BYTES) + size.div_ceil(BLOCK << bits) * ENTRY_BYTES
            }
        }
    }

    /// Writes the numbers of chunks.
    pub(super) fn write(
        self,
        head: u64,
        pieces: impl Iterator<Item = Piece>,
        out: &mut Buffered<'_>,
    ) -> Result<(), Error> {
        let FlatPlan::Chunks { bits } = self else { return Ok(()) };
        out.zeros(head.next_multiple_of(ENTRY_BYTES) - head)?;
        for_each_chunk(pieces, BLOCK << bits, start_of, &mut |start| {
            out.add(&ChunkFormat::entry(start.map(|start| (start / BLOCK) as u32)))
        })
    }
}

/// Returns the offset in the image of a piece; `None` for a hole.
fn start_of(piece: Piece) -> Result<Option<u64>, Error> {
    match piece.stored {
        Stored::Hole => Ok(None),
        Stored::Plain { start } if start % BLOCK == 0 => Ok(Some(start)),
        other => Err(Error::internal(format!("content without compression in {other:?}"))),
    }
}
