//! The map of a file with holes.

use std::ops::Range;

use packline_archives::tar::{MapSegment, MapShape};

/// Segments of a file begin and end at multiples of this number of bytes, because GNU tar starts each segment at a new block.
const BLOCK: u64 = 512;

/// The parts of a file that are stored.
pub(super) struct Map {
    pub(super) segments: Vec<MapSegment>,
    pub(super) shape: MapShape,
}

impl Map {
    /// A map of a file of `size` bytes whose data is in `ranges`; `None` if no hole has a complete block.
    pub(super) fn new(ranges: &[Range<u64>], size: u64) -> Option<Map> {
        let mut segments: Vec<MapSegment> = Vec::new();
        for range in ranges.iter().filter(|range| !range.is_empty()) {
            let offset = range.start / BLOCK * BLOCK;
            let end = range.end.div_ceil(BLOCK).saturating_mul(BLOCK).min(size);
            match segments.last_mut() {
                Some(last) if offset <= last.end() => last.length = last.length.max(end.saturating_sub(last.offset)),
                _ => segments.push(MapSegment { offset, length: end.saturating_sub(offset) }),
            }
        }
        let mut shape = MapShape::default();
        segments.iter().for_each(|segment| shape.add(*segment));
        if shape.content_bytes() >= size {
            return None;
        }
        shape.close(size);
        Some(Map { segments, shape })
    }

    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        self.shape.head(out);
        self.segments.iter().for_each(|segment| self.shape.line(out, *segment));
        self.shape.tail(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(ranges: &[Range<u64>], size: u64) -> Option<Vec<(u64, u64)>> {
        let map = Map::new(ranges, size)?;
        Some(map.segments.iter().map(|segment| (segment.offset, segment.length)).collect())
    }

    #[test]
    fn segments_consist_of_blocks() {
        assert_eq!(map(&[0..5, 5..10], 10), None);
        assert_eq!(map(&[0..1, 700..701], 1024), None);
        assert_eq!(map(&[], 4096), Some(vec![]));
        assert_eq!(map(&[0..4, 4..10], 4096), Some(vec![(0, 512)]));
        assert_eq!(map(&[600..1100, 1200..1300, 4000..4100], 4100), Some(vec![(512, 1024), (3584, 516)]));
        assert_eq!(map(&[0..512, 512..1024, 3000..3000], 5000), Some(vec![(0, 1024)]));
    }

    #[test]
    fn maps_have_the_size_that_their_headers_name() {
        let ranges = [0..512, 4096..4097];
        let map = Map::new(&ranges, 1 << 20).unwrap();
        let mut bytes = Vec::new();
        map.append_to(&mut bytes);
        assert!(bytes.starts_with(b"3\n0\n512\n4096\n512\n1048576\n0\n"));
        assert_eq!(bytes.len() as u64 + 1024, map.shape.stored_bytes());
    }
}
