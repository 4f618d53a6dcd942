//! A worker's access to the window: its segment, and any earlier byte.

use std::ops::Range;
use std::sync::Arc;

use crate::Window;
use crate::error::PhaseError;
use crate::matching::compare;
use crate::settings::SEGMENT;

/// Bytes before and after a segment that are read with it.
pub(crate) const AROUND: u64 = 64 << 10;

/// Bytes of a cached block of earlier positions.
const BLOCK: u64 = 4 << 10;

/// Number of cached blocks.
const BLOCKS: u64 = 1024;

/// Bytes of the cached blocks.
pub(crate) const CACHE: u64 = BLOCK * BLOCKS;

/// Reads a window for one worker. Both kinds of windows give the same results.
pub(crate) enum SegmentReader {
    InMemory(Arc<dyn Window>),
    AtOffsets(SegmentCache),
}

/// A segment in memory, and a cache of other blocks.
pub(crate) struct SegmentCache {
    window: Arc<dyn Window>,
    /// The bytes of the segment and around it, from `base` on.
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
            Some(_) => Self::InMemory(window),
            None => Self::AtOffsets(SegmentCache {
                window,
                own: Vec::new(),
                base: 0,
                numbers: vec![u64::MAX; BLOCKS as usize],
                blocks: Vec::new(),
            }),
        }
    }

    /// Loads segment `number`, and returns its range.
    pub(crate) fn turn_to(&mut self, number: usize, length: u64) -> Result<Range<u64>, PhaseError> {
        let start = number as u64 * SEGMENT;
        let segment = start..(start + SEGMENT).min(length);
        if let Self::AtOffsets(cache) = self {
            cache.load(start.saturating_sub(AROUND)..(segment.end + AROUND).min(length))?;
        }
        Ok(segment)
    }

    /// The bytes of `range`, which is within the segment and [`AROUND`] bytes before and after it.
    pub(crate) fn near(&self, range: Range<u64>) -> &[u8] {
        let (bytes, base) = match self {
            Self::InMemory(window) => (bytes(window), 0),
            Self::AtOffsets(cache) => (cache.own.as_slice(), cache.base),
        };
        let end = ((range.end - base) as usize).min(bytes.len());
        &bytes[((range.start - base) as usize).min(end)..end]
    }

    /// Number of equal bytes from `earlier` on and from `near.start` on, up to `near.end`.
    pub(crate) fn forward(&mut self, earlier: u64, near: Range<u64>) -> Result<u64, PhaseError> {
        match self {
            Self::InMemory(window) => {
                let bytes = bytes(window);
                Ok(compare::forward(&bytes[earlier as usize..], &bytes[near.start as usize..near.end as usize]) as u64)
            }
            Self::AtOffsets(cache) => cache.forward(earlier, near),
        }
    }

    /// Number of equal bytes before `earlier` and before `near.end`, down to `near.start`.
    pub(crate) fn backward(&mut self, earlier: u64, near: Range<u64>) -> Result<u64, PhaseError> {
        match self {
            Self::InMemory(window) => {
                let bytes = bytes(window);
                Ok(compare::backward(&bytes[..earlier as usize], &bytes[near.start as usize..near.end as usize]) as u64)
            }
            Self::AtOffsets(cache) => cache.backward(earlier, near),
        }
    }
}

fn bytes(window: &Arc<dyn Window>) -> &[u8] {
    window.bytes().unwrap_or_default()
}

impl SegmentCache {
    fn load(&mut self, range: Range<u64>) -> Result<(), PhaseError> {
        self.base = range.start;
        self.own.resize((range.end - range.start) as usize, 0);
        read(&*self.window, range.start, &mut self.own)
    }

    fn own(&self, range: Range<u64>) -> &[u8] {
        &self.own[(range.start - self.base) as usize..(range.end - self.base) as usize]
    }

    fn forward(&mut self, earlier: u64, near: Range<u64>) -> Result<u64, PhaseError> {
        let most = near.end - near.start;
        let mut same = 0;
        while same < most {
            let at = earlier + same;
            let start = self.fetch(at / BLOCK)?;
            let block = &self.blocks[start..start + BLOCK as usize][(at % BLOCK) as usize..];
            let step = (block.len() as u64).min(most - same);
            let found = compare::forward(block, self.own(near.start + same..near.start + same + step)) as u64;
            same += found;
            if found < step {
                break;
            }
        }
        Ok(same)
    }

    fn backward(&mut self, earlier: u64, near: Range<u64>) -> Result<u64, PhaseError> {
        let most = (near.end - near.start).min(earlier);
        let mut same = 0;
        while same < most {
            let last = earlier - same - 1;
            let start = self.fetch(last / BLOCK)?;
            let block = &self.blocks[start..][..=(last % BLOCK) as usize];
            let step = (block.len() as u64).min(most - same);
            let found = compare::backward(block, self.own(near.end - same - step..near.end - same)) as u64;
            same += found;
            if found < step {
                break;
            }
        }
        Ok(same)
    }

    /// Loads block `number` into the cache, and returns its offset in the cache. Bytes beyond the window's end are unspecified.
    fn fetch(&mut self, number: u64) -> Result<usize, PhaseError> {
        let slot = (number % BLOCKS) as usize;
        let start = slot * BLOCK as usize;
        if self.numbers[slot] != number {
            self.blocks.resize(CACHE as usize, 0);
            let length = (self.window.length() - number * BLOCK).min(BLOCK) as usize;
            // The old block is overwritten, even if reading fails.
            self.numbers[slot] = u64::MAX;
            read(&*self.window, number * BLOCK, &mut self.blocks[start..start + length])?;
            self.numbers[slot] = number;
        }
        Ok(start)
    }
}

fn read(window: &dyn Window, at: u64, into: &mut [u8]) -> Result<(), PhaseError> {
    let length = into.len();
    window.read(at, into).map_err(|source| PhaseError::Read { at, length, source })
}
