//! The holes of a file, from the positions of its pieces alone, and the segments of data between them.
//!
//! The positions are read again whenever segments are needed, so a file of any size takes no memory. Readers hold the complete map, however. A
//! file of more than [`SEGMENTS_MAX`] segments therefore has its shortest holes written as zeros.
//!
//! An EROFS image for Linux before 6.15 has no holes in compressed files: a hole is one compressed unit of zeros, any number of times. Units that
//! follow themselves are therefore decoded once, and count as holes if they are zeros.
//! Before Linux 6.1 no unit is shared: each cluster of zeros is stored at its own position, and no index tells it from a cluster of other bytes. Such zeros
//! are written as data, because only decoding all units would find them.

use std::ops::Range;

use packline_archives::tar::{MapSegment, MapShape};
use packline_runtime::is_zero;
use packline_volume::{FileData, Missing, Piece, Pieces, ReadError, SharedVolume, Unit};

/// Maximum number of segments of a map. GNU tar takes 16 bytes for each, and our own reader rejects 4 Mi.
const SEGMENTS_MAX: u64 = 65_536;
/// A file that was not sparse when it was packed is written with holes only if the holes have at least this many bytes in total.
const ZEROS_MAX: u64 = 1 << 20;

/// Maximum number of units of a file that are decoded to look for zeros.
const TRIES: usize = 8;
/// Maximum content of such a unit in bytes.
const ZERO_UNIT_MAX: u32 = 4 << 20;

/// The holes of a file that is written with holes.
#[derive(Debug, Clone, Copy)]
pub(super) struct SparseFile {
    /// The shape of its map.
    pub(super) shape: MapShape,
    /// Units that are holes.
    zeros: ZeroUnits,
    /// Holes of fewer bytes are written as zeros.
    least: u64,
}

/// Looks for holes; returns `None` if the file is to be written without holes.
pub(super) fn survey(volume: &SharedVolume, data: &FileData) -> Option<SparseFile> {
    if data.sparse == 0 && data.size < ZEROS_MAX {
        return None;
    }
    let zeros = ZeroUnits::of(volume, data);
    let mut holes = 0;
    let mut classes = [0u64; 64];
    for run in Runs::new(volume.pieces(data, 0), data, zeros).filter(|run| run.hole && run.length > 0) {
        holes += run.length;
        classes[run.length.ilog2() as usize] += 1;
    }
    if holes == 0 || (data.sparse == 0 && holes < ZEROS_MAX) {
        return None;
    }
    let least = least_hole(&classes);
    let mut shape = MapShape::default();
    let sparse = SparseFile { shape, zeros, least };
    sparse.segments(volume, data).for_each(|segment| shape.add(segment));
    shape.close(data.size);
    Some(SparseFile { shape, ..sparse })
}

/// Returns the parts of a file that are written, if it is written with holes.
pub(crate) fn data_ranges(volume: &SharedVolume, data: &FileData) -> Option<Vec<Range<u64>>> {
    let sparse = survey(volume, data)?;
    Some(sparse.segments(volume, data).map(|segment| segment.offset..segment.end()).collect())
}

/// Returns the smallest power of two, or 0, such that the number of holes of at least that length is small enough.
fn least_hole(classes: &[u64; 64]) -> u64 {
    let mut count = 0;
    let mut least = 0;
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
    pub(super) fn segments(&self, volume: &SharedVolume, data: &FileData) -> Segments<Box<dyn Pieces>> {
        Segments::over(Runs::new(volume.pieces(data, 0), data, self.zeros), self.least)
    }
}

/// Compressed units of zeros.
#[derive(Debug, Clone, Copy, Default)]
struct ZeroUnits {
    units: [Option<Unit>; TRIES],
}

impl ZeroUnits {
    /// The units of zeros that a file has at least twice in succession.
    fn of(volume: &SharedVolume, data: &FileData) -> ZeroUnits {
        let mut zeros = ZeroUnits::default();
        let mut examined = Vec::new();
        let mut last = None;
        for piece in volume.pieces(data, 0) {
            let unit = match piece {
                Ok(Piece::Own { unit, .. }) if !unit.is_plain() && unit.length <= ZERO_UNIT_MAX => Some(unit),
                _ => None,
            };
            let again = unit.filter(|_| unit == last);
            last = unit;
            let Some(unit) = again.filter(|unit| !examined.contains(unit)) else { continue };
            // What cannot be decoded is reported when it is read.
            zeros.units[examined.len()] = is_zero_unit(volume, unit).is_ok_and(|is_zero| is_zero).then_some(unit);
            examined.push(unit);
            if examined.len() == TRIES {
                break;
            }
        }
        zeros
    }

    fn contains(&self, unit: Unit) -> bool {
        self.units.contains(&Some(unit))
    }
}

fn is_zero_unit(volume: &SharedVolume, unit: Unit) -> Result<bool, ReadError> {
    let mut bytes = Vec::new();
    volume.decoder()?.own(unit, &mut bytes)?;
    Ok(is_zero(&bytes))
}

/// A number of bytes of data or of a hole; at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    hole: bool,
    length: u64,
}

/// Pieces as runs. Everything after an unreadable position is a hole: nothing of it can be read from the image either.
#[derive(Debug)]
struct Runs<P> {
    pieces: P,
    left: u64,
    zeros: ZeroUnits,
}

impl<P> Runs<P> {
    fn new(pieces: P, data: &FileData, zeros: ZeroUnits) -> Runs<P> {
        Runs { pieces, left: data.size, zeros }
    }

    fn is_hole(&self, piece: &Piece) -> bool {
        match piece {
            Piece::Hole { .. } => true,
            Piece::Own { unit, .. } => self.zeros.contains(*unit),
            Piece::Shared { .. } => false,
        }
    }
}

impl<P: Iterator<Item = Result<Piece, Missing>>> Iterator for Runs<P> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        if self.left == 0 {
            return None;
        }
        let (hole, length) = match self.pieces.next() {
            Some(Ok(piece)) => (self.is_hole(&piece), piece.length().min(self.left)),
            Some(Err(_)) | None => (true, self.left),
        };
        self.left -= length;
        Some(Run { hole, length })
    }
}

/// Segments of data.
#[derive(Debug)]
pub(super) struct Segments<P> {
    runs: Runs<P>,
    least: u64,
    at: u64,
    /// The run after the last segment, which belongs to the next segment.
    ahead: Option<Run>,
}

impl<P: Iterator<Item = Result<Piece, Missing>>> Segments<P> {
    fn over(runs: Runs<P>, least: u64) -> Segments<P> {
        Segments { runs, least, at: 0, ahead: None }
    }

    /// Returns the next run; adjacent runs of one kind are joined.
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

impl<P: Iterator<Item = Result<Piece, Missing>>> Iterator for Segments<P> {
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
    use packline_volume::{PLAIN, SharedPlace};

    const UNIT: Unit = Unit { offset: 96, stored: 1, length: 4096, form: PLAIN };

    /// Pieces as text: `d` and `h` have 4096 bytes, `x` is missing. The rest is the tail end, or is missing, too.
    fn runs(list: &str, size: u64, tail: bool) -> Runs<std::vec::IntoIter<Result<Piece, Missing>>> {
        let missing = |length| Err(Missing { length, error: ReadError::unsupported("a test", "none") });
        let piece = |kind: char| match kind {
            'x' => missing(size),
            'h' => Ok(Piece::Hole { length: 4096 }),
            _ => Ok(Piece::Own { unit: UNIT, start: 0, length: 4096 }),
        };
        let mut pieces: Vec<_> = list.chars().map(piece).collect();
        let place = SharedPlace { unit: 0, offset: 0 };
        let rest = size.saturating_sub(4096 * pieces.len() as u64);
        pieces.push(if tail { Ok(Piece::Shared { place, length: rest as u32 }) } else { missing(rest) });
        Runs { pieces: pieces.into_iter(), left: size, zeros: ZeroUnits::default() }
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
        classes[12] = 65_000;
        classes[13] = 1000;
        classes[20] = 10;
        assert_eq!(least_hole(&classes), 8192);
        classes[13] = 65_526;
        assert_eq!(least_hole(&classes), 16_384);
    }
}
