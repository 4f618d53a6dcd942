//! Use counts of fragment blocks needed by several windows, and the position of spilled blocks.
//!
//! A tree that fits into one window needs none. When a window is full before the tree ends, the rest of the tree is walked once in advance
//! to count the tail ends in each fragment block. A block is then decoded for the first window that needs it and spilled ([`Scratch`]) if
//! later files need it too, which read only their own bytes of it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use packline_squashfs::read::{Image, Node, Scratch, SpilledBlock, Visit};

/// Memory of a counted block, bytes, rounded up: map entry, store and position.
const BLOCK_BYTES: usize = 160;

/// Position of a spilled block; empty before, and if spilling failed.
pub type Store = OnceLock<SpilledBlock>;

/// Remaining uses of fragment blocks.
#[derive(Debug)]
pub struct FragmentUseCounts {
    scratch: Arc<Scratch>,
    /// Maximum number of counted blocks; others are decoded again.
    most: usize,
    /// `None` before the rest of the tree has been walked.
    blocks: Option<BTreeMap<u32, Needed>>,
}

#[derive(Debug, Default)]
struct Needed {
    /// Remaining files.
    files: u32,
    store: Option<Arc<Store>>,
}

/// Sharing of a fragment block between windows.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Where it is or will be spilled.
    pub store: Arc<Store>,
    /// Where to spill it; `None` if no later file needs it.
    pub scratch: Option<Arc<Scratch>>,
}

impl FragmentUseCounts {
    /// Nothing is counted yet. Uses at most `memory` bytes.
    pub fn new(scratch: Arc<Scratch>, image: &Image, memory: usize) -> FragmentUseCounts {
        let most = (memory / BLOCK_BYTES).min(image.superblock().fragments as usize);
        FragmentUseCounts { scratch, most, blocks: None }
    }

    /// Upper bound of its memory, bytes.
    pub fn memory(&self) -> usize {
        self.most * BLOCK_BYTES
    }

    /// Counts the remaining files, once.
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

    /// A counted file has been reached.
    pub fn meet(&mut self, visit: &Visit) {
        let Some(blocks) = &mut self.blocks else { return };
        if let Some(needed) = fragment_of(visit).and_then(|fragment| blocks.get_mut(&fragment)) {
            needed.files = needed.files.saturating_sub(1);
        }
    }

    /// Registers that a window needs this block.
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
