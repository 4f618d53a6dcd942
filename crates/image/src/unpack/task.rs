//! Input of workers: blocks of a file, tail ends of a fragment block, empty files.

use std::ops::Range;
use std::sync::Arc;

use packline_engine::Permit;
use packline_squashfs::read::Block;

use super::fragment::Fragment;
use super::part::Part;
use super::window::Window;

/// A job, with a permit for its memory.
pub struct Task {
    pub window: Arc<Window>,
    pub work: Job,
    pub _permit: Permit,
}

pub enum Job {
    /// Blocks of a file, in order.
    Blocks {
        /// The file or files.
        part: Arc<Part>,
        /// Blocks with their offsets in the file, bytes.
        blocks: Vec<(u64, Block)>,
    },
    /// Tail ends in one fragment block.
    Tails { fragment: Arc<Fragment>, tails: Vec<Tail> },
    /// Files without content.
    Empty(Range<u32>),
}

/// A tail end and its files.
pub enum Tail {
    /// The whole content of `count` files from `first` on; `sharing` more files share it.
    Whole {
        /// Number of the first file.
        first: u32,
        /// Number of files written.
        count: u32,
        /// Number of files that share it when it is done.
        sharing: u32,
    },
    /// The end of files that have blocks.
    EndOf(Arc<Part>),
}
