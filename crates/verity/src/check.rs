//! Checks an image against its tree, and the tree against the root hash.
//!
//! The image is read once. Each block of the tree is read with the first block of data below it, and is compared with its hash in the level
//! above, which was compared before. One block per level is in memory. Nothing is known about the data below a wrong block.

use std::sync::Arc;

use packline_runtime::{Input, Observer, Resources};

use crate::hashing::{DIGEST, Digest, Salted, hash_input};
use crate::layout::{BLOCK, BLOCK_BYTES, FANOUT, Layout, blocks_before_tree};
use crate::superblock::SIZE;
use crate::{Error, Superblock, refuse_incomplete};

/// The location of a tree.
#[derive(Clone)]
pub struct TreeLocation {
    /// The file with the tree.
    pub input: Arc<dyn Input>,
    /// Offset of the superblock in bytes.
    pub at: u64,
}

/// A fault found by [`check`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The hash of the top block differs from the root hash. Either may be wrong, and nothing below is known.
    Root {
        /// Offset of the block in the tree's file; `None` if the image is one block, whose tree has no blocks.
        offset: Option<u64>,
        /// The hash of the top block.
        found: Digest,
    },
    /// The hash of a tree block differs from the one in the level above. Nothing is known about the data below it.
    Tree {
        /// Offset of the block in the tree's file.
        offset: u64,
    },
    /// The hashes of image blocks differ from those in the tree.
    Blocks {
        /// Number of the first block, from 0.
        first: u64,
        /// Number of the last block.
        last: u64,
    },
    /// Bytes after the superblock in its block are not zero.
    Padding {
        /// Offset of the first such byte in the tree's file.
        offset: u64,
    },
}

/// The result of [`check`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    /// The superblock of the tree.
    pub superblock: Superblock,
    /// Bytes of the image that the tree covers.
    pub bytes: u64,
    /// Number of image blocks whose hash differs from the tree.
    pub wrong_blocks: u64,
    /// Number of tree blocks whose hash differs from the level above, and of faults in the superblock's block.
    pub wrong_tree: u64,
    /// Number of image blocks below a wrong block of the tree.
    pub unknown_blocks: u64,
}

impl CheckResult {
    /// The number of faults.
    pub fn faults(&self) -> u64 {
        self.wrong_blocks + self.wrong_tree
    }
}

/// Finds the tree after the image in a file. The size of the file determines where its superblock is.
///
/// # Errors
/// Errors of reading, an invalid superblock, and an incomplete tree ([`refuse_incomplete`]).
pub fn find_appended(input: &dyn Input) -> Result<Option<(u64, Superblock)>, Error> {
    refuse_incomplete(input)?;
    let Some(blocks) = blocks_before_tree(input.size()) else { return Ok(None) };
    let mut bytes = [0; SIZE];
    let at = blocks * BLOCK_BYTES;
    input.read_at(at, &mut bytes).map_err(Error::Tree)?;
    if !Superblock::is_signed(&bytes) {
        return Ok(None);
    }
    let superblock = Superblock::decode(&bytes)?;
    if superblock.data_blocks == blocks {
        Ok(Some((at, superblock)))
    } else {
        Err(Error::Superblock {
            what: format!("the superblock at byte {at} covers {} blocks", superblock.data_blocks),
            expected: format!("the {blocks} blocks before it"),
        })
    }
}

/// Returns the root hash of a tree: the hash of its top block, or of the image if that is one block. The hash proves nothing until it is
/// compared with a trusted one.
///
/// # Errors
/// The image or the tree cannot be read.
pub fn root_hash(image: &dyn Input, location: &TreeLocation) -> Result<Digest, Error> {
    let tree = OpenTree::new(location)?;
    let mut block = [0; BLOCK];
    if tree.layout.levels.is_empty() {
        image.read_at(0, &mut block).map_err(Error::Image)?
    } else {
        location.input.read_at(tree.start, &mut block).map_err(Error::Tree)?
    }
    Ok(tree.salted.digest(&block))
}

/// Reads the complete part of an image that its tree covers, and the complete tree. Reports differences in the order of the image.
///
/// # Errors
/// Errors of reading; [`Error::Superblock`] if the tree is invalid or longer than its file, or if the image is shorter than the tree says.
/// The sizes of the files bound work and memory.
pub fn check(
    image: &Arc<dyn Input>,
    location: &TreeLocation,
    root: &Digest,
    resources: &Resources,
    observer: &mut dyn Observer,
    found: &mut dyn FnMut(Finding),
) -> Result<CheckResult, Error> {
    let tree = OpenTree::new(location)?;
    let superblock = tree.superblock.clone();
    let blocks = superblock.data_blocks;
    let bytes = superblock.data_blocks * BLOCK_BYTES;
    let available = if Arc::ptr_eq(image, &location.input) { location.at } else { image.size() };
    if available < bytes {
        let what = format!("the hash tree covers {blocks} blocks, but the image has {available} bytes");
        return Err(Error::Superblock { what, expected: format!("at least {bytes} bytes") });
    }
    let checked = CheckResult { superblock, bytes, wrong_blocks: 0, wrong_tree: 0, unknown_blocks: 0 };
    let loaded = tree.layout.levels.iter().map(|_| LoadedBlock::default()).collect();
    let salted = tree.salted.clone();
    let next = 0;
    let mut checker = Checker { tree, root: *root, loaded, next, run: None, checked, found };
    checker.padding()?;
    hash_input(image, blocks, salted, resources, observer, &mut |digests| checker.compare(digests))?;
    checker.end_run();
    Ok(checker.checked)
}

/// A tree whose superblock was read.
struct OpenTree<'p> {
    location: &'p TreeLocation,
    superblock: Superblock,
    layout: Layout,
    salted: Salted,
    /// Offset of the top block.
    start: u64,
}

impl OpenTree<'_> {
    fn new(location: &TreeLocation) -> Result<OpenTree<'_>, Error> {
        let mut bytes = [0; SIZE];
        let size = location.input.size();
        if location.at.checked_add(SIZE as u64).is_none_or(|end| end > size) {
            let what = format!("the hash tree is cut off at byte {size}");
            return Err(Error::Superblock { what, expected: format!("a superblock at byte {}", location.at) });
        }
        location.input.read_at(location.at, &mut bytes).map_err(Error::Tree)?;
        let superblock = Superblock::decode(&bytes)?;
        let layout = Layout::of(superblock.data_blocks)?;
        let start = (location.at + SIZE as u64).next_multiple_of(BLOCK_BYTES);
        let end = start.saturating_add(layout.bytes());
        if !layout.levels.is_empty() && end > size {
            let what = format!("the hash tree is cut off at byte {size}");
            return Err(Error::Superblock { what, expected: format!("{end} bytes") });
        }
        let salted = Salted::new(&superblock.salt);
        Ok(OpenTree { location, superblock, layout, salted, start })
    }
}

/// The last block of a level that was read.
#[derive(Default)]
struct LoadedBlock {
    index: Option<u64>,
    /// Whether the block's hash equals the one in the level above.
    right: bool,
    block: Vec<u8>,
}

struct Checker<'c> {
    tree: OpenTree<'c>,
    root: Digest,
    loaded: Vec<LoadedBlock>,
    /// Number of the next block of data.
    next: u64,
    /// Range of wrong blocks that were not reported yet.
    run: Option<(u64, u64)>,
    checked: CheckResult,
    found: &'c mut dyn FnMut(Finding),
}

impl Checker<'_> {
    fn padding(&mut self) -> Result<(), Error> {
        let location = self.tree.location;
        let from = location.at + SIZE as u64;
        let mut bytes = vec![0; self.tree.start.min(location.input.size()).saturating_sub(from) as usize];
        location.input.read_at(from, &mut bytes).map_err(Error::Tree)?;
        if let Some(at) = bytes.iter().position(|byte| *byte != 0) {
            self.checked.wrong_tree += 1;
            (self.found)(Finding::Padding { offset: from + at as u64 });
        }
        Ok(())
    }

    /// Compares the next blocks of data.
    fn compare(&mut self, digests: &[Digest]) -> Result<(), Error> {
        for digest in digests {
            let block = self.next;
            self.next += 1;
            match self.expected(0, block)? {
                Some(expected) if expected == *digest => {}
                Some(_) if self.loaded.is_empty() => self.report_root(None, *digest),
                Some(_) => self.wrong_block(block),
                None => self.checked.unknown_blocks += 1,
            }
        }
        Ok(())
    }

    /// The expected hash of a block: a block of data for level 0, otherwise a block of the level below. `None` if it is unknown.
    fn expected(&mut self, level: usize, index: u64) -> Result<Option<Digest>, Error> {
        if level == self.loaded.len() {
            return Ok(Some(self.root));
        }
        let holder = index / FANOUT;
        let location = (index % FANOUT) as usize * DIGEST;
        if self.loaded[level].index != Some(holder) {
            self.load(level, holder)?;
        }
        let loaded = &self.loaded[level];
        let digest = loaded.block.get(location..).and_then(<[u8]>::first_chunk);
        Ok(digest.copied().filter(|_| loaded.right))
    }

    /// Reads a block of the tree. There are few levels, whatever a superblock says.
    fn load(&mut self, level: usize, index: u64) -> Result<(), Error> {
        let expected = self.expected(level + 1, index)?;
        let offset = self.tree.start + self.tree.layout.levels[level].start + index * BLOCK_BYTES;
        let is_top = level + 1 == self.loaded.len();
        let loaded = &mut self.loaded[level];
        loaded.index = Some(index);
        loaded.right = false;
        let Some(expected) = expected else { return Ok(()) };
        loaded.block.resize(BLOCK, 0);
        self.tree.location.input.read_at(offset, &mut loaded.block).map_err(Error::Tree)?;
        let digest = self.tree.salted.digest(&loaded.block);
        loaded.right = digest == expected;
        if loaded.right {
            return Ok(());
        }
        if is_top {
            self.report_root(Some(offset), digest);
        } else {
            self.end_run();
            self.checked.wrong_tree += 1;
            (self.found)(Finding::Tree { offset });
        }
        Ok(())
    }

    fn report_root(&mut self, offset: Option<u64>, found: Digest) {
        self.checked.wrong_tree += 1;
        (self.found)(Finding::Root { offset, found });
    }

    fn wrong_block(&mut self, block: u64) {
        self.checked.wrong_blocks += 1;
        match &mut self.run {
            Some((_, last)) if *last + 1 == block => *last = block,
            _ => {
                self.end_run();
                self.run = Some((block, block));
            }
        }
    }

    fn end_run(&mut self) {
        if let Some((first, last)) = self.run.take() {
            (self.found)(Finding::Blocks { first, last });
        }
    }
}
