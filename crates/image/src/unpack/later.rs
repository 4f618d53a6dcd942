//! Fragment blocks that files of several windows need: how many files are still to come, and where the block is meanwhile.
//!
//! A tree that fits into one window needs nothing of this. Where a window is full before the tree ends, what is left of the
//! tree is walked once ahead, to count the tail ends in each fragment block. A block is then decoded for the first window that
//! needs it and put away ([`Scratch`]) if files to come need it too, which read no more of it than their own bytes.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use packline_squashfs::read::{Image, Node, Scratch, Stowed, Visit};

/// What a block takes here while it is needed, bytes, rounded up: its place in the map, its store, its place in the file.
const BLOCK_BYTES: usize = 160;

/// Where a block is that was put away; empty before, and if that failed.
pub type Store = OnceLock<Stowed>;

/// The fragment blocks that files to come need.
#[derive(Debug)]
pub struct Later {
    scratch: Arc<Scratch>,
    /// Blocks that are known at most; others are decoded again.
    most: usize,
    /// None before the rest of the tree has been walked.
    blocks: Option<BTreeMap<u32, Needed>>,
}

#[derive(Debug, Default)]
struct Needed {
    /// Files to come.
    files: u32,
    store: Option<Arc<Store>>,
}

/// What a fragment block is told that several windows need.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Where it is, or will be.
    pub store: Arc<Store>,
    /// Where to put it if it is not there yet; none if no more files come.
    pub scratch: Option<Arc<Scratch>>,
}

impl Later {
    /// Nothing is known of files to come. Takes `memory` bytes at most.
    pub fn new(scratch: Arc<Scratch>, image: &Image, memory: usize) -> Later {
        let most = (memory / BLOCK_BYTES).min(image.superblock().fragments as usize);
        Later { scratch, most, blocks: None }
    }

    /// Bytes that it takes at most.
    pub fn memory(&self) -> usize {
        self.most * BLOCK_BYTES
    }

    /// Counts the files to come, unless that has been done.
    pub fn count(&mut self, rest: impl Iterator<Item = Visit>) {
        if self.blocks.is_some() {
            return;
        }
        let mut blocks = BTreeMap::<u32, Needed>::new();
        for fragment in rest.filter_map(|visit| fragment_of(&visit)) {
            if blocks.len() < self.most || blocks.contains_key(&fragment) {
                let needed = blocks.entry(fragment).or_default();
                needed.files = needed.files.saturating_add(1);
            }
        }
        self.blocks = Some(blocks);
    }

    /// One of the files to come is there.
    pub fn meet(&mut self, visit: &Visit) {
        let Some(blocks) = &mut self.blocks else { return };
        if let Some(needed) = fragment_of(visit).and_then(|fragment| blocks.get_mut(&fragment)) {
            needed.files = needed.files.saturating_sub(1);
        }
    }

    /// A window needs this block.
    pub fn share(&mut self, fragment: u32) -> Option<Shared> {
        let blocks = self.blocks.as_mut()?;
        let needed = blocks.get_mut(&fragment)?;
        if needed.files == 0 {
            let store = blocks.remove(&fragment)?.store?;
            return Some(Shared { store, scratch: None });
        }
        let store = Arc::clone(needed.store.get_or_insert_default());
        Some(Shared { store, scratch: Some(Arc::clone(&self.scratch)) })
    }
}

fn fragment_of(visit: &Visit) -> Option<u32> {
    match &visit.inode.node {
        Node::File(file) => file.tail.map(|tail| tail.fragment),
        _ => None,
    }
}
