//! Checks an image against its tree, and the tree against the root hash.
//!
//! The image is read once, and each block of the tree when the first block of data below it comes: it is compared with its hash in the level
//! above, which was compared before. One block a level is in memory. Of what is below a wrong block nothing is known.

use std::sync::Arc;

use packline_runtime::{Input, Observer, Resources};

use crate::hashing::hash_input;
use crate::layout::{BLOCK, BLOCK_BYTES, FANOUT, Layout, blocks_before_tree};
use crate::salted::{DIGEST, Digest, Salted};
use crate::superblock::SIZE;
use crate::{Error, Superblock, refuse_incomplete};

/// Where a tree is.
#[derive(Clone)]
pub struct TreePlace {
    /// The file with the tree.
    pub input: Arc<dyn Input>,
    /// Where its superblock begins, bytes.
    pub at: u64,
}

/// A fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The top of the tree has another hash than the root hash: either may be wrong, and nothing below is known.
    Root {
        /// Byte of the tree's file at which the block begins; `None` if the tree has no blocks, and the image one.
        offset: Option<u64>,
        /// The hash that it has.
        found: Digest,
    },
    /// A block of the tree has another hash than the level above says; nothing is known of what is below.
    Tree {
        /// Byte of the tree's file at which the block begins.
        offset: u64,
    },
    /// Blocks of the image have other hashes than the tree says.
    Blocks {
        /// Number of the first, from 0.
        first: u64,
        /// Number of the last.
        last: u64,
    },
    /// Bytes behind the superblock in its block are not zero.
    Padding {
        /// Byte of the tree's file at which the first is.
        offset: u64,
    },
}

/// What was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What the superblock says.
    pub superblock: Superblock,
    /// Bytes of the image that the tree is about.
    pub bytes: u64,
    /// Blocks of the image with other hashes than the tree says.
    pub wrong_blocks: u64,
    /// Blocks of the tree with other hashes than those above say, and faults of the superblock's block.
    pub wrong_tree: u64,
    /// Blocks of the image that are below a wrong block of the tree.
    pub unknown_blocks: u64,
}

impl Checked {
    /// The number of faults.
    pub fn faults(&self) -> u64 {
        self.wrong_blocks + self.wrong_tree
    }
}

/// Finds the tree behind the image in a file: its superblock lies where the file's size says that it must.
///
/// # Errors
/// Those of reading, a superblock there that makes no sense, and a part of a tree ([`refuse_incomplete`]).
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
            what: format!("the superblock at byte {at} is about {} blocks", superblock.data_blocks),
            expected: format!("the {blocks} blocks before it"),
        })
    }
}

/// The root hash that a tree has: of its top block, or of the image if that is one block. It proves nothing until it is compared with one
/// that is trusted.
///
/// # Errors
/// Those of reading.
pub fn root_hash(image: &dyn Input, place: &TreePlace) -> Result<Digest, Error> {
    let tree = OpenTree::new(place)?;
    let mut block = [0; BLOCK];
    if tree.layout.levels.is_empty() {
        image.read_at(0, &mut block).map_err(Error::Image)?
    } else {
        place.input.read_at(tree.start, &mut block).map_err(Error::Tree)?
    }
    Ok(tree.salted.digest(&block))
}

/// Reads all of an image that its tree is about, and all of the tree, and reports what differs, in the order of the image.
///
/// # Errors
/// Those of reading; [`Error::Superblock`] for a tree that is none or is longer than its file, and for an image that is shorter than the
/// tree says. Work and memory are bounded by the sizes of the files.
pub fn check(
    image: &Arc<dyn Input>,
    place: &TreePlace,
    root: &Digest,
    resources: &Resources,
    observer: &mut dyn Observer,
    found: &mut dyn FnMut(Finding),
) -> Result<Checked, Error> {
    let tree = OpenTree::new(place)?;
    let superblock = tree.superblock.clone();
    let blocks = superblock.data_blocks;
    let bytes = superblock.data_blocks * BLOCK_BYTES;
    let available = if Arc::ptr_eq(image, &place.input) { place.at } else { image.size() };
    if available < bytes {
        let what = format!("the hash tree is about {blocks} blocks, and the image has {available} bytes");
        return Err(Error::Superblock { what, expected: format!("{bytes} bytes at least") });
    }
    let checked = Checked { superblock, bytes, wrong_blocks: 0, wrong_tree: 0, unknown_blocks: 0 };
    let loaded = tree.layout.levels.iter().map(|_| Loaded::default()).collect();
    let salted = tree.salted.clone();
    let next = 0;
    let mut checker = Checker { tree, root: *root, loaded, next, run: None, checked, found };
    checker.padding()?;
    hash_input(image, blocks, salted, resources, observer, &mut |digests| checker.compare(digests))?;
    checker.end_run();
    Ok(checker.checked)
}

/// A tree with its superblock read.
struct OpenTree<'p> {
    place: &'p TreePlace,
    superblock: Superblock,
    layout: Layout,
    salted: Salted,
    /// Where its top block is.
    start: u64,
}

impl OpenTree<'_> {
    fn new(place: &TreePlace) -> Result<OpenTree<'_>, Error> {
        let mut bytes = [0; SIZE];
        let size = place.input.size();
        if place.at.checked_add(SIZE as u64).is_none_or(|end| end > size) {
            let what = format!("the hash tree is cut off at byte {size}");
            return Err(Error::Superblock { what, expected: format!("a superblock at byte {}", place.at) });
        }
        place.input.read_at(place.at, &mut bytes).map_err(Error::Tree)?;
        let superblock = Superblock::decode(&bytes)?;
        let layout = Layout::of(superblock.data_blocks)?;
        let start = (place.at + SIZE as u64).next_multiple_of(BLOCK_BYTES);
        let end = start.saturating_add(layout.bytes());
        if !layout.levels.is_empty() && end > size {
            let what = format!("the hash tree is cut off at byte {size}");
            return Err(Error::Superblock { what, expected: format!("{end} bytes") });
        }
        let salted = Salted::new(&superblock.salt);
        Ok(OpenTree { place, superblock, layout, salted, start })
    }
}

/// The last block of a level that was read.
#[derive(Default)]
struct Loaded {
    index: Option<u64>,
    /// Whether its hash is that of the level above.
    right: bool,
    block: Vec<u8>,
}

struct Checker<'c> {
    tree: OpenTree<'c>,
    root: Digest,
    loaded: Vec<Loaded>,
    /// The next block of data.
    next: u64,
    /// Wrong blocks that are not reported yet.
    run: Option<(u64, u64)>,
    checked: Checked,
    found: &'c mut dyn FnMut(Finding),
}

impl Checker<'_> {
    fn padding(&mut self) -> Result<(), Error> {
        let place = self.tree.place;
        let from = place.at + SIZE as u64;
        let mut bytes = vec![0; self.tree.start.min(place.input.size()).saturating_sub(from) as usize];
        place.input.read_at(from, &mut bytes).map_err(Error::Tree)?;
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

    /// The hash that a block must have, of data for level 0, else of the level below; `None` if that is not known.
    fn expected(&mut self, level: usize, index: u64) -> Result<Option<Digest>, Error> {
        if level == self.loaded.len() {
            return Ok(Some(self.root));
        }
        let holder = index / FANOUT;
        let place = (index % FANOUT) as usize * DIGEST;
        if self.loaded[level].index != Some(holder) {
            self.load(level, holder)?;
        }
        let loaded = &self.loaded[level];
        let digest = loaded.block.get(place..).and_then(<[u8]>::first_chunk);
        Ok(digest.copied().filter(|_| loaded.right))
    }

    /// Reads a block of the tree. Levels are few, whatever a superblock says.
    fn load(&mut self, level: usize, index: u64) -> Result<(), Error> {
        let expected = self.expected(level + 1, index)?;
        let offset = self.tree.start + self.tree.layout.levels[level].start + index * BLOCK_BYTES;
        let is_top = level + 1 == self.loaded.len();
        let loaded = &mut self.loaded[level];
        loaded.index = Some(index);
        loaded.right = false;
        let Some(expected) = expected else { return Ok(()) };
        loaded.block.resize(BLOCK, 0);
        self.tree.place.input.read_at(offset, &mut loaded.block).map_err(Error::Tree)?;
        let digest = self.tree.salted.digest(&loaded.block);
        loaded.right = digest == expected;
        match loaded.right {
            true => {}
            false if is_top => self.report_root(Some(offset), digest),
            false => {
                self.end_run();
                self.checked.wrong_tree += 1;
                (self.found)(Finding::Tree { offset });
            }
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
