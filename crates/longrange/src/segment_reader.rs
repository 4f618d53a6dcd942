//! Access of a worker to the window: its segment, and any earlier byte.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Broken;
use crate::settings::SEGMENT;
use crate::{Window, compare};

/// Bytes before and after a segment that are read with it.
pub(crate) const AROUND: u64 = 64 << 10;

/// Bytes of a cached block for earlier positions.
const BLOCK: u64 = 4 << 10;

/// Number of cached blocks.
const BLOCKS: u64 = 1024;

/// Bytes of the cached blocks.
pub(crate) const CACHE: u64 = BLOCK * BLOCKS;

/// A window as read by one worker. Both kinds give the same results.
pub(crate) enum SegmentReader {
    /// In memory.
    Whole(Arc<dyn Window>),
    /// Read at offsets.
    Pieces(Pieces),
}

/// A segment in memory, and a cache of other blocks.
pub(crate) struct Pieces {
    window: Arc<dyn Window>,
    /// The bytes from `base` on.
    own: Vec<u8>,
    base: u64,
    /// Block `n` is at index `n % BLOCKS` if `numbers` has `n` there.
    numbers: Vec<u64>,
    blocks: Vec<u8>,
}

impl SegmentReader {
    pub(crate) fn new(window: &Arc<dyn Window>) -> Self {
        let window = Arc::clone(window);
        match window.bytes() {
            Some(_) => Self::Whole(window),
            None => Self::Pieces(Pieces {
                window,
                own: Vec::new(),
                base: 0,
                numbers: vec![u64::MAX; BLOCKS as usize],
                blocks: Vec::new(),
            }),
        }
    }

    /// Loads segment `number`, and returns its range.
    pub(crate) fn turn_to(&mut self, number: usize, length: u64) -> Result<Range<u64>, Broken> {
        let start = number as u64 * SEGMENT;
        let segment = start..(start + SEGMENT).min(length);
        if let Self::Pieces(pieces) = self {
            pieces.load(start.saturating_sub(AROUND)..(segment.end + AROUND).min(length))?;
        }
        Ok(segment)
    }

    /// The bytes of `range`, which is the segment with at most [`AROUND`] before and after it.
    pub(crate) fn near(&self, range: Range<u64>) -> &[u8] {
        let (bytes, base) = match self {
            Self::Whole(window) => (bytes(window), 0),
            Self::Pieces(pieces) => (pieces.own.as_slice(), pieces.base),
        };
        let end = ((range.end - base) as usize).min(bytes.len());
        &bytes[((range.start - base) as usize).min(end)..end]
    }

    /// Number of equal bytes from `earlier` and from `near.start` on, at most up to `near.end`.
    pub(crate) fn forward(&mut self, earlier: u64, near: Range<u64>) -> Result<u64, Broken> {
        match self {
            Self::Whole(window) => {
                let bytes = bytes(window);
                Ok(compare::forward(&bytes[earlier as usize..], &bytes[near.start as usize..near.end as usize]) as u64)
            }
            Self::Pieces(pieces) => pieces.forward(earlier, near),
        }
    }

    /// Number of equal bytes before `earlier` and before `near.end`, at most down to `near.start`.
    pub(crate) fn backward(&mut self, earlier: u64, near: Range<u64>) -> Result<u64, Broken> {
        match self {
            Self::Whole(window) => {
                let bytes = bytes(window);
                Ok(compare::backward(&bytes[..earlier as usize], &bytes[near.start as usize..near.end as usize]) as u64)
            }
            Self::Pieces(pieces) => pieces.backward(earlier, near),
        }
    }
}

fn bytes(window: &Arc<dyn Window>) -> &[u8] {
    window.bytes().unwrap_or_default()
}

impl Pieces {
    fn load(&mut self, range: Range<u64>) -> Result<(), Broken> {
        self.base = range.start;
        self.own.resize((range.end - range.start) as usize, 0);
        read(&*self.window, range.start, &mut self.own)
    }

    fn own(&self, range: Range<u64>) -> &[u8] {
        &self.own[(range.start - self.base) as usize..(range.end - self.base) as usize]
    }

    fn forward(&mut self, earlier: u64, near: Range<u64>) -> Result<u64, Broken> {
        let most = near.end - near.start;
        let mut same = 0;
        while same < most {
            let at = earlier + same;
            let place = self.fetch(at / BLOCK)?;
            let block = &self.blocks[place..place + BLOCK as usize][(at % BLOCK) as usize..];
            let step = (block.len() as u64).min(most - same);
            let found = compare::forward(block, self.own(near.start + same..near.start + same + step)) as u64;
            same += found;
            if found < step {
                break;
            }
        }
        Ok(same)
    }

    fn backward(&mut self, earlier: u64, near: Range<u64>) -> Result<u64, Broken> {
        let most = (near.end - near.start).min(earlier);
        let mut same = 0;
        while same < most {
            let last = earlier - same - 1;
            let place = self.fetch(last / BLOCK)?;
            let block = &self.blocks[place..][..=(last % BLOCK) as usize];
            let step = (block.len() as u64).min(most - same);
            let found = compare::backward(block, self.own(near.end - same - step..near.end - same)) as u64;
            same += found;
            if found < step {
                break;
            }
        }
        Ok(same)
    }

    /// Loads block `number` into the cache, and returns its offset there. Bytes beyond the window's end are zeros.
    fn fetch(&mut self, number: u64) -> Result<usize, Broken> {
        let slot = (number % BLOCKS) as usize;
        let place = slot * BLOCK as usize;
        if self.numbers[slot] != number {
            self.blocks.resize(CACHE as usize, 0);
            let length = (self.window.length() - number * BLOCK).min(BLOCK) as usize;
            // The old block is overwritten, even if reading fails.
            self.numbers[slot] = u64::MAX;
            read(&*self.window, number * BLOCK, &mut self.blocks[place..place + length])?;
            self.numbers[slot] = number;
        }
        Ok(place)
    }
}

fn read(window: &dyn Window, at: u64, into: &mut [u8]) -> Result<(), Broken> {
    let length = into.len();
    window.read(at, into).map_err(|source| Broken::Read { at, length, source })
}
