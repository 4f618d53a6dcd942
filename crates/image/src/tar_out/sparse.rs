//! The holes of a file, from its block list alone, and the segments of data between them.
//!
//! A list of blocks is read again whenever its segments are needed, so a file of any size takes no memory. Readers hold
//! the whole map, though; so a file of more than [`SEGMENTS_MAX`] segments has its shortest holes written as zeros.

use packline_squashfs::read::{Block, Blocks, FileData, Image};
use packline_tree::tar::{MapSegment, MapShape};

/// Most segments of a map. GNU tar takes 16 bytes for each, and our own reader refuses 4 Mi.
const SEGMENTS_MAX: u64 = 65_536;
/// A file that was not sparse when it was packed is written with holes only if they have at least this many bytes in all.
const ZEROS_MAX: u64 = 1 << 20;

/// A file that is written with holes.
#[derive(Debug, Clone, Copy)]
pub(super) struct SparseFile {
    /// The shape of its map.
    pub(super) shape: MapShape,
    /// Holes of fewer bytes are written as zeros.
    least: u64,
}

/// Looks for holes; `None` if the file is to be written whole.
pub(super) fn survey(image: &Image, data: &FileData) -> Option<SparseFile> {
    let (mut holes, mut classes) = (0, [0u64; 64]);
    for run in Runs::new(image.blocks(data), data).filter(|run| run.hole && run.length > 0) {
        holes += run.length;
        classes[run.length.ilog2() as usize] += 1;
    }
    if holes == 0 || (data.sparse == 0 && holes < ZEROS_MAX) {
        return None;
    }
    let least = least_hole(&classes);
    let mut shape = MapShape::default();
    Segments::new(image, data, least).for_each(|segment| shape.add(segment));
    shape.close(data.size);
    Some(SparseFile { shape, least })
}

/// The smallest power of two, or 0, such that few enough holes are as long as that.
fn least_hole(classes: &[u64; 64]) -> u64 {
    let (mut count, mut least) = (0, 0);
    for (class, holes) in classes.iter().enumerate().rev() {
        count += holes;
        if count >= SEGMENTS_MAX {
            least = 1 << (class + 1).min(63);
            break;
        }
    }
    least
}

impl SparseFile {
    /// The segments of the file.
    pub(super) fn segments(&self, image: &Image, data: &FileData) -> Segments<Blocks> {
        Segments::new(image, data, self.least)
    }
}

/// A number of bytes of data or of a hole; at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    hole: bool,
    length: u64,
}

/// Blocks as runs, and the tail end. What cannot be read of a list is a hole: nothing of it can be read from the image either.
#[derive(Debug)]
struct Runs<B> {
    blocks: Option<B>,
    left: u64,
    tail: bool,
}

impl<B> Runs<B> {
    fn new(blocks: B, data: &FileData) -> Runs<B> {
        Runs { blocks: Some(blocks), left: data.size, tail: data.tail.is_some() }
    }
}

impl<E, B: Iterator<Item = Result<Block, E>>> Iterator for Runs<B> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        if self.left == 0 {
            return None;
        }
        let (hole, length) = match self.blocks.as_mut().and_then(Iterator::next) {
            Some(Ok(block)) => (block.place.is_none(), u64::from(block.length).min(self.left)),
            Some(Err(_)) => (true, self.left),
            None => (!self.tail, self.left),
        };
        self.left -= length;
        Some(Run { hole, length })
    }
}

/// Segments of data.
#[derive(Debug)]
pub(super) struct Segments<B> {
    runs: Runs<B>,
    least: u64,
    at: u64,
    /// A run that was met and belongs to the next segment.
    ahead: Option<Run>,
}

impl Segments<Blocks> {
    fn new(image: &Image, data: &FileData, least: u64) -> Segments<Blocks> {
        Segments::over(Runs::new(image.blocks(data), data), least)
    }
}

impl<E, B: Iterator<Item = Result<Block, E>>> Segments<B> {
    fn over(runs: Runs<B>, least: u64) -> Segments<B> {
        Segments { runs, least, at: 0, ahead: None }
    }

    /// The next run, blocks of one kind that touch joined.
    fn run(&mut self) -> Option<Run> {
        let mut run = self.ahead.take().or_else(|| self.runs.next())?;
        for next in self.runs.by_ref() {
            if next.hole != run.hole {
                self.ahead = Some(next);
                break;
            }
            run.length += next.length;
        }
        Some(run)
    }

    fn is_hole(&self, run: Run) -> bool {
        run.hole && run.length >= self.least
    }
}

impl<E, B: Iterator<Item = Result<Block, E>>> Iterator for Segments<B> {
    type Item = MapSegment;

    fn next(&mut self) -> Option<MapSegment> {
        let mut segment: Option<MapSegment> = None;
        while let Some(run) = self.run() {
            self.at += run.length;
            if !self.is_hole(run) {
                segment.get_or_insert(MapSegment { offset: self.at - run.length, length: 0 }).length += run.length;
            } else if segment.is_some() {
                break;
            }
        }
        segment
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_squashfs::read::BlockPlace;

    const PLACE: BlockPlace = BlockPlace { offset: 96, stored: 1, compressed: false };

    /// A list as text: `d` and `h` are blocks of 4096 bytes, `x` is one that cannot be read.
    fn runs(list: &str, size: u64, tail: bool) -> Runs<std::vec::IntoIter<Result<Block, ()>>> {
        let block = |kind: char| match kind {
            'x' => Err(()),
            _ => Ok(Block { place: (kind == 'd').then_some(PLACE), length: 4096 }),
        };
        let blocks: Vec<_> = list.chars().map(block).collect();
        Runs { blocks: Some(blocks.into_iter()), left: size, tail }
    }

    fn segments(list: &str, size: u64, tail: bool, least: u64) -> Vec<(u64, u64)> {
        let pair = |segment: MapSegment| (segment.offset, segment.length);
        Segments::over(runs(list, size, tail), least).map(pair).collect()
    }

    #[test]
    fn data_between_holes() {
        assert_eq!(segments("dhhd", 16_384, false, 0), [(0, 4096), (12_288, 4096)]);
        assert_eq!(segments("hddh", 16_384, false, 0), [(4096, 8192)]);
        assert_eq!(segments("hh", 8192, false, 0), []);
        assert_eq!(segments("h", 5000, true, 0), [(4096, 904)]);
        assert_eq!(segments("dd", 5000, false, 0), [(0, 5000)]);
        assert_eq!(segments("", 0, false, 0), []);
    }

    #[test]
    fn what_cannot_be_read_is_a_hole() {
        assert_eq!(segments("dx", 1 << 60, false, 0), [(0, 4096)]);
        assert_eq!(segments("d", 1 << 60, false, 0), [(0, 4096)]);
    }

    #[test]
    fn short_holes_are_data_when_there_are_too_many() {
        assert_eq!(segments("dhdhhd", 6 * 4096, false, 8192), [(0, 3 * 4096), (5 * 4096, 4096)]);
        assert_eq!(segments("hdhh", 4 * 4096, false, 8192), [(0, 2 * 4096)]);
        let mut classes = [0; 64];
        assert_eq!(least_hole(&classes), 0);
        (classes[12], classes[13], classes[20]) = (65_000, 1000, 10);
        assert_eq!(least_hole(&classes), 8192);
        classes[13] = 65_526;
        assert_eq!(least_hole(&classes), 16_384);
    }
}
