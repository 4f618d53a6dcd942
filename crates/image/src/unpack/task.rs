//! What a worker is given: blocks of a file, tail ends of a fragment block, empty files.

use std::ops::Range;
use std::sync::Arc;

use packline_engine::Permit;
use packline_squashfs::read::Block;

use super::fragment::Fragment;
use super::part::Part;
use super::window::Window;

/// A piece of work, with the memory it stands for.
pub struct Task {
    /// The plan.
    pub window: Arc<Window>,
    /// What is to be done.
    pub work: Job,
    /// Its memory.
    pub _permit: Permit,
}

/// What is to be done.
pub enum Job {
    /// Blocks of a file, in order.
    Blocks {
        /// The file, or files.
        part: Arc<Part>,
        /// The blocks, each with its offset in the file, bytes.
        blocks: Vec<(u64, Block)>,
    },
    /// Tail ends in one fragment block.
    Tails {
        /// The fragment block.
        fragment: Arc<Fragment>,
        /// What is in it.
        tails: Vec<Tail>,
    },
    /// Files without content.
    Empty(Range<u32>),
}

/// A tail end and the files it belongs to.
pub enum Tail {
    /// It is all there is of so many files from the first on; as many more share their content.
    Whole {
        /// Number of the first file.
        first: u32,
        /// How many are written.
        count: u32,
        /// How many share it when it is done.
        sharing: u32,
    },
    /// It is the end of files that have blocks.
    EndOf(Arc<Part>),
}
