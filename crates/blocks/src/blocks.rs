//! The stored blocks of an image, by number and by content.
//!
//! Stored blocks are numbered in the order of decisions, which is the order in which they are written. The new blocks of one file form a *run*:
//! consecutive numbers, consecutive positions in the image. A file whose blocks equal part of a run, in order, needs no blocks of its own:
//! SquashFS only stores the position of a file's first block.
//!
//! Three queries take constant time. Which block has this content? Does a run start with this list of blocks ([`Blocks::run_with_prefix`], by a
//! digest of the list, so that no chain of candidates is searched)? Does this run continue with this block?

use hashbrown::HashTable;

use packline_runtime::TaskError;

use crate::digest::Digest;
use crate::{BlockPlace, BlockTable, Cluster, Error};

/// A list of blocks at the start of a run.
#[derive(Debug)]
struct Prefix {
    chain: Digest,
    run: u32,
}

/// All stored data blocks so far.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// Content of each block; [`Digest::EMPTY`] if it may not be shared. Empty if deduplication is off.
    digests: Vec<Digest>,
    /// Numbers at which a run starts, as a bit set.
    run_starts: Vec<u64>,
    places: BlockTable,
    count: u32,
    by_digest: HashTable<u32>,
    prefixes: HashTable<Prefix>,
}

impl Blocks {
    /// Returns the number of the next block.
    pub(crate) fn next(&self) -> u32 {
        self.count
    }

    /// Marks the next block as the first of a run.
    pub(crate) fn start_run(&mut self) {
        let word = self.count as usize / 64;
        self.run_starts.resize(self.run_starts.len().max(word + 1), 0);
        self.run_starts[word] |= 1 << (self.count % 64);
    }

    /// Adds a block and returns its number. A look-up by content finds the first of equal blocks.
    pub(crate) fn push(&mut self, digest: Option<Digest>) -> Result<u32, Error> {
        let number = self.count;
        self.count = number.checked_add(1).filter(|&count| count < u32::MAX).ok_or_else(too_many_blocks)?;
        if let Some(digest) = digest {
            self.digests.resize(number as usize, Digest::EMPTY);
            self.digests.push(digest);
            let digests = &self.digests;
            let same = |&other: &u32| digests[other as usize] == digest;
            if self.by_digest.find(digest.bits(), same).is_none() {
                self.by_digest.insert_unique(digest.bits(), number, |&other| digests[other as usize].bits());
            }
        }
        Ok(number)
    }

    /// Returns the digest of a block, if it may be shared.
    pub(crate) fn digest(&self, number: u32) -> Option<Digest> {
        self.digests.get(number as usize).copied().filter(|digest| *digest != Digest::EMPTY)
    }

    /// Returns the first block with this content.
    pub(crate) fn with_content(&self, digest: &Digest) -> Option<u32> {
        self.by_digest.find(digest.bits(), |&number| self.digests[number as usize] == *digest).copied()
    }

    /// Whether the block at `number` has this content and continues the run of the block before it.
    pub(crate) fn continues_run(&self, number: u32, digest: &Digest) -> bool {
        !self.starts_run(number) && self.digest(number).as_ref() == Some(digest)
    }

    /// Returns the first block of the first run that starts with a list of blocks; `chain` is the digest of the list.
    pub(crate) fn run_with_prefix(&self, chain: &Digest) -> Option<u32> {
        self.prefixes.find(chain.bits(), |prefix| prefix.chain == *chain).map(|prefix| prefix.run)
    }

    /// Records that a run starts with this list of blocks, unless an earlier run does.
    pub(crate) fn add_prefix(&mut self, chain: Digest, run: u32) {
        if self.run_with_prefix(&chain).is_none() {
            self.prefixes.insert_unique(chain.bits(), Prefix { chain, run }, |prefix| prefix.chain.bits());
        }
    }

    /// Records the position of the next block in the order of commits.
    pub(crate) fn committed(&mut self, number: u32, place: BlockPlace, clusters: &[Cluster]) -> Result<(), Error> {
        if number as usize != self.places.len() {
            return Err(Error::internal(format!("block {number} was committed after {} blocks", self.places.len())));
        }
        self.places.push(place, clusters)
    }

    /// Returns the position of a committed block.
    pub(crate) fn place(&self, number: u32) -> Option<BlockPlace> {
        self.places.get(number)
    }

    /// Returns the positions of all committed blocks.
    pub(crate) fn into_places(self) -> BlockTable {
        self.places
    }

    pub(crate) fn memory(&self) -> usize {
        self.digests.capacity() * size_of::<Digest>()
            + self.places.memory()
            + self.by_digest.allocation_size()
            + self.prefixes.allocation_size()
    }

    /// Frees the memory that only deduplication needs.
    pub(crate) fn forget_content(&mut self) {
        self.digests = Vec::new();
        self.by_digest = HashTable::new();
        self.prefixes = HashTable::new();
    }

    /// Whether a block is the first of a run.
    pub(crate) fn starts_run(&self, number: u32) -> bool {
        self.run_starts.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }
}

pub(crate) fn too_many_blocks() -> Error {
    Error::Limit { what: "the input has too many data blocks".into(), expected: format!("at most {}", u32::MAX - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(n: u8) -> Digest {
        Digest::of(&[n], false)
    }

    fn run(blocks: &mut Blocks, contents: &[u8]) -> u32 {
        let first = blocks.next();
        blocks.start_run();
        let mut chain = Digest::EMPTY;
        for &content in contents {
            blocks.push(Some(digest(content))).unwrap();
            chain = chain.chain(&digest(content));
            blocks.add_prefix(chain, first);
        }
        first
    }

    fn chain(contents: &[u8]) -> Digest {
        contents.iter().fold(Digest::EMPTY, |chain, &content| chain.chain(&digest(content)))
    }

    #[test]
    fn finds_runs_by_every_prefix_and_the_first_wins() {
        let mut blocks = Blocks::default();
        let first = run(&mut blocks, &[1, 2, 3]);
        let second = run(&mut blocks, &[1, 9]);
        assert_eq!(blocks.run_with_prefix(&chain(&[1])), Some(first));
        assert_eq!(blocks.run_with_prefix(&chain(&[1, 2, 3])), Some(first));
        assert_eq!(blocks.run_with_prefix(&chain(&[1, 9])), Some(second));
        assert_eq!(blocks.run_with_prefix(&chain(&[9])), None);
    }

    #[test]
    fn a_run_ends_before_the_next_run() {
        let mut blocks = Blocks::default();
        run(&mut blocks, &[1, 2]);
        run(&mut blocks, &[3]);
        assert!(blocks.continues_run(1, &digest(2)));
        assert!(!blocks.continues_run(2, &digest(3)));
        assert!(!blocks.continues_run(3, &digest(3)));
    }

    #[test]
    fn the_first_block_with_a_content_is_found() {
        let mut blocks = Blocks::default();
        run(&mut blocks, &[7, 8, 7]);
        assert_eq!(blocks.with_content(&digest(7)), Some(0));
        assert_eq!(blocks.with_content(&digest(8)), Some(1));
        assert_eq!(blocks.with_content(&digest(6)), None);
    }

    #[test]
    fn blocks_nobody_may_share_have_no_content() {
        let mut blocks = Blocks::default();
        blocks.push(None).unwrap();
        run(&mut blocks, &[1]);
        assert_eq!(blocks.digest(0), None);
        assert_eq!(blocks.with_content(&digest(1)), Some(1));
    }

    #[test]
    fn commits_come_in_order() {
        let mut blocks = Blocks::default();
        run(&mut blocks, &[1, 2]);
        let place = BlockPlace { start: 96, size_word: 10 };
        assert!(blocks.committed(1, place, &[]).is_err());
        blocks.committed(0, place, &[]).unwrap();
        assert_eq!(blocks.place(0), Some(place));
        assert_eq!(blocks.place(1), None);
    }
}
