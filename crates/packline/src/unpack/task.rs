//! What a worker is given: blocks of a file, tail ends of a fragment block, empty files.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use packline_engine::Permit;
use packline_squashfs::read::{Block, BlockDecoder, BlockPlace, ReadError};

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

/// A fragment block, decoded by the first job that needs it and dropped with the last.
pub struct Fragment {
    place: Result<BlockPlace, ReadError>,
    bytes: Mutex<Option<Arc<Vec<u8>>>>,
    _permit: Permit,
}

impl Fragment {
    /// A fragment block that nobody has decoded, with memory for it.
    pub fn new(place: Result<BlockPlace, ReadError>, permit: Permit) -> Fragment {
        Fragment { place, bytes: Mutex::new(None), _permit: permit }
    }

    /// Its bytes, and how many were read from the image for them just now.
    pub fn bytes(&self, decoder: &mut BlockDecoder) -> Result<(Arc<Vec<u8>>, u64), ReadError> {
        let mut held = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = &*held {
            return Ok((bytes.clone(), 0));
        }
        let place = self.place.clone()?;
        let mut bytes = Vec::new();
        decoder.fragment(place, &mut bytes)?;
        let bytes = Arc::new(bytes);
        *held = Some(bytes.clone());
        Ok((bytes, u64::from(place.stored)))
    }
}
