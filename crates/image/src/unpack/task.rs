//! Input of workers: own units of a file, pieces of a shared unit, empty files.

use std::ops::Range;
use std::sync::Arc;

use packline_engine::Permit;
use packline_volume::{Piece, SharedPlace};

use super::part::Part;
use super::shared_unit::SharedUnit;
use super::window::Window;

/// Jobs of one worker, in order, with a permit for their memory.
pub struct Task {
    pub window: Arc<Window>,
    pub jobs: Vec<Job>,
    pub _permit: Permit,
}

pub enum Job {
    /// Pieces of a file in order: ranges of own units, and holes.
    Pieces {
        /// The file or files.
        part: Arc<Part>,
        /// Pieces with their offsets in bytes in the file.
        pieces: Vec<(u64, Piece)>,
    },
    /// Pieces of one shared unit.
    Tails { unit: Arc<SharedUnit>, tails: Vec<Tail> },
    /// Files without content.
    Empty(Range<u32>),
}

/// A piece of a shared unit and its files.
pub enum Tail {
    /// The complete content of `count` files from `first` on; `sharing` more files share it.
    Whole {
        /// Number of the first file.
        first: u32,
        /// Number of files written.
        count: u32,
        /// Number of files that share the content when it is written.
        sharing: u32,
    },
    /// A part of files that have own units.
    EndOf(End),
}

/// A piece of a shared unit in files that have own units.
pub struct End {
    pub part: Arc<Part>,
    /// Position in the unit.
    pub place: SharedPlace,
    /// Number of bytes.
    pub length: u32,
    /// Offset in the files in bytes.
    pub position: u64,
}
