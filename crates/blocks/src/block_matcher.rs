//! Finds each block of a file that is already in the image, wherever it is.

use crate::Error;
use crate::blocks::Blocks;
use crate::digest::Digest;
use crate::run_matcher::{Copies, Step};

/// The state of one file.
#[derive(Debug)]
pub(crate) struct BlockMatcher {
    /// Whether the file may use the blocks of other files.
    share: bool,
    /// The first block of the file.
    first: Option<u32>,
    /// Whether a block was stored for the file.
    stored: bool,
}

impl BlockMatcher {
    pub(crate) fn new(share: bool) -> BlockMatcher {
        BlockMatcher { share, first: None, stored: false }
    }

    /// Returns the first block of the file, if it has any.
    pub(crate) fn first(&self) -> Option<u32> {
        self.first
    }

    /// Whether a block was stored for the file.
    pub(crate) fn has_own_block(&self) -> bool {
        self.stored
    }

    /// Processes the next block that is not a hole. Returns its number, and [`Step::Matched`] or [`Step::Compress`].
    pub(crate) fn step(&mut self, blocks: &mut Blocks, digest: Option<Digest>) -> Result<(u32, Step), Error> {
        let known = digest.filter(|_| self.share).and_then(|digest| blocks.with_content(&digest));
        let (number, step) = match known {
            Some(number) => (number, Step::Matched),
            None => {
                if !self.stored {
                    blocks.start_run();
                }
                self.stored = true;
                let block = blocks.push(digest)?;
                (block, Step::Compress { copies: Copies::NONE, block })
            }
        };
        self.first.get_or_insert(number);
        Ok((number, step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(blocks: &mut Blocks, share: bool, contents: &[u8]) -> Vec<u32> {
        let mut matcher = BlockMatcher::new(share);
        let mut step = |content: &u8| matcher.step(blocks, Some(Digest::of(&[*content], false))).unwrap().0;
        contents.iter().map(&mut step).collect()
    }

    #[test]
    fn each_content_is_stored_once_and_in_any_order() {
        let mut blocks = Blocks::default();
        assert_eq!(numbers(&mut blocks, true, &[1, 2, 1, 3]), [0, 1, 0, 2]);
        assert_eq!(numbers(&mut blocks, true, &[3, 4, 2, 2]), [2, 3, 1, 1]);
        assert_eq!(blocks.next(), 4);
    }

    #[test]
    fn a_file_that_may_not_share_gives_its_blocks_to_others() {
        let mut blocks = Blocks::default();
        assert_eq!(numbers(&mut blocks, false, &[1, 1]), [0, 1]);
        assert_eq!(numbers(&mut blocks, true, &[1]), [0]);
    }
}
