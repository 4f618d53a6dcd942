//! Finds out whether the image already has the current file, block by block, without waiting for the end of the file and without keeping its
//! bytes.
//!
//! While every block so far equals a run of stored blocks, nothing is stored. If a block breaks the match, the matched blocks are copied, in
//! compressed form, to the start of the file's own run. From there on each block is copied if its content is known, and otherwise compressed. A
//! duplicate of any size therefore costs only its hashes, and a file with a changed end costs copies of its start. The decision does not depend
//! on memory.

use crate::Error;
use crate::blocks::Blocks;
use crate::digest::Digest;

/// Action for one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// No action: the block continues the match.
    Matched,
    /// First copy `copies` blocks from `from` to `to` (none if 0); then compress the block as number `block`.
    Compress { copies: Copies, block: u32 },
    /// Copies blocks; the block itself is the last of them.
    Copy { copies: Copies, block: Copies },
}

/// Consecutive blocks to write again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Copies {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) count: u32,
}

impl Copies {
    pub(crate) const NONE: Copies = Copies { from: 0, to: 0, count: 0 };
}

/// The state of one file.
#[derive(Debug)]
pub(crate) struct RunMatcher {
    /// First block of the file's run, its own or a shared one.
    run: u32,
    /// Number of the file's blocks so far that are in the run.
    count: u32,
    /// Digest of the list of these blocks.
    chain: Digest,
    /// Whether the file shares a run; otherwise it has its own.
    shared: bool,
}

impl RunMatcher {
    /// Starts a file; `share`: it may use the blocks of another file.
    pub(crate) fn new(share: bool) -> RunMatcher {
        RunMatcher { run: 0, count: 0, chain: Digest::EMPTY, shared: share }
    }

    /// Returns the first block of the file's run, if the file has any blocks.
    pub(crate) fn run(&self) -> Option<u32> {
        (self.count > 0).then_some(self.run)
    }

    /// Whether the file already has a run of its own.
    pub(crate) fn has_own_run(&self) -> bool {
        !self.shared && self.count > 0
    }

    /// Processes the next block that is not a hole.
    pub(crate) fn step(&mut self, blocks: &mut Blocks, digest: Option<Digest>) -> Result<Step, Error> {
        let Some(digest) = digest else {
            let copies = self.break_match(blocks)?;
            return Ok(Step::Compress { copies, block: self.append_own_block(blocks, None)? });
        };
        let chain = self.chain.chain(&digest);
        if self.shared
            && let Some(run) = self.find(blocks, &chain, &digest)
        {
            self.run = run;
            self.chain = chain;
            self.count += 1;
            return Ok(Step::Matched);
        }
        let copies = self.break_match(blocks)?;
        self.chain = chain;
        let known = blocks.with_content(&digest);
        let block = self.append_own_block(blocks, Some(digest))?;
        blocks.add_prefix(chain, self.run);
        Ok(match known {
            Some(from) => Step::Copy { copies, block: Copies { from, to: block, count: 1 } },
            None => Step::Compress { copies, block },
        })
    }

    /// Returns a run that contains the file so far and this block.
    fn find(&self, blocks: &Blocks, chain: &Digest, digest: &Digest) -> Option<u32> {
        let longer = || blocks.continues_run(self.run + self.count, digest).then_some(self.run);
        let anywhere = || if self.count == 0 { blocks.with_content(digest) } else { longer() };
        blocks.run_with_prefix(chain).or_else(anywhere)
    }

    /// Starts the file's own run, if it has none yet, with copies of the blocks that it shared.
    fn break_match(&mut self, blocks: &mut Blocks) -> Result<Copies, Error> {
        let fresh = self.shared || self.count == 0;
        if !fresh {
            return Ok(Copies::NONE);
        }
        let copies = Copies { from: self.run, to: blocks.next(), count: self.count };
        blocks.start_run();
        for number in copies.from..copies.from + copies.count {
            blocks.push(blocks.digest(number))?;
        }
        self.run = copies.to;
        self.shared = false;
        Ok(if copies.count == 0 { Copies::NONE } else { copies })
    }

    fn append_own_block(&mut self, blocks: &mut Blocks, digest: Option<Digest>) -> Result<u32, Error> {
        self.count += 1;
        blocks.push(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(n: u8) -> Digest {
        Digest::of(&[n], false)
    }

    fn file(blocks: &mut Blocks, contents: &[u8]) -> (RunMatcher, Vec<Step>) {
        let mut matcher = RunMatcher::new(true);
        let steps = contents.iter().map(|&n| matcher.step(blocks, Some(digest(n))).unwrap()).collect();
        (matcher, steps)
    }

    /// The content at each number, following copies.
    fn contents(blocks: &Blocks, matcher: &RunMatcher) -> Vec<Digest> {
        let run = matcher.run().unwrap();
        (run..run + matcher.count).map(|number| blocks.digest(number).unwrap()).collect()
    }

    fn digests(contents: &[u8]) -> Vec<Digest> {
        contents.iter().map(|&n| digest(n)).collect()
    }

    #[test]
    fn an_equal_file_stores_nothing() {
        let mut blocks = Blocks::default();
        file(&mut blocks, &[1, 2, 3]);
        let (again, steps) = file(&mut blocks, &[1, 2, 3]);
        assert_eq!(steps, [Step::Matched; 3]);
        assert_eq!((again.run(), again.has_own_run(), blocks.next()), (Some(0), false, 3));
    }

    #[test]
    fn files_with_the_same_first_block_stay_apart() {
        let mut blocks = Blocks::default();
        file(&mut blocks, &[1, 2]);
        let (other, steps) = file(&mut blocks, &[1, 3]);
        let copies = Copies { from: 0, to: 2, count: 1 };
        assert_eq!(steps, [Step::Matched, Step::Compress { copies, block: 3 }]);
        assert_eq!(contents(&blocks, &other), digests(&[1, 3]));
        let (third, steps) = file(&mut blocks, &[1, 3]);
        assert_eq!(steps, [Step::Matched; 2]);
        assert_eq!(third.run(), Some(2));
    }

    #[test]
    fn the_middle_of_a_run_is_shared_but_not_two_runs_at_once() {
        let mut blocks = Blocks::default();
        file(&mut blocks, &[1, 2, 3]);
        file(&mut blocks, &[4]);
        let (middle, steps) = file(&mut blocks, &[2, 3]);
        assert_eq!(steps, [Step::Matched; 2]);
        assert_eq!(middle.run(), Some(1));
        let (across, _) = file(&mut blocks, &[3, 4]);
        assert!(across.has_own_run());
        assert_eq!(contents(&blocks, &across), digests(&[3, 4]));
    }

    #[test]
    fn a_known_block_in_a_new_file_is_copied() {
        let mut blocks = Blocks::default();
        file(&mut blocks, &[1, 2]);
        let (_, steps) = file(&mut blocks, &[5, 2]);
        assert_eq!(steps[1], Step::Copy { copies: Copies::NONE, block: Copies { from: 1, to: 3, count: 1 } });
    }

    #[test]
    fn a_file_that_may_not_share_is_stored_again() {
        let mut blocks = Blocks::default();
        file(&mut blocks, &[1]);
        let mut alone = RunMatcher::new(false);
        assert_eq!(alone.step(&mut blocks, None).unwrap(), Step::Compress { copies: Copies::NONE, block: 1 });
        assert!(alone.has_own_run());
    }
}
