//! Sparse maps, which list the stored parts of a file, in the forms of GNU tar (old, PAX 0.0, 0.1 and 1.0) and star.
//!
//! Formats: GNU tar manual, "Storing Sparse Files"; for the old form also star(5).

use super::header::{BLOCK, Header};
use super::number;

/// Maximum number of segments of one file: 64 MiB of memory. A map precedes the data, so it cannot be processed in parts.
pub(super) const MAX_SEGMENTS: usize = 4 << 20;

/// A stored part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    /// Offset in the file in bytes.
    pub offset: u64,
    /// Number of stored bytes.
    pub length: u64,
}

/// A map under construction. Adjacent segments are joined, so a file without holes has one segment.
#[derive(Debug, Default, Clone)]
pub(super) struct Map {
    segments: Vec<Segment>,
    pushed: usize,
}

/// The fault of a map, and the expected value.
pub(super) type MapFault = (String, String);

impl Map {
    /// Appends a segment. Fails for a segment that overlaps or precedes the previous one, or that ends past 2^63 - 1.
    pub fn push(&mut self, segment: Segment) -> Result<(), MapFault> {
        let Segment { offset, length } = segment;
        self.pushed += 1;
        if offset.checked_add(length).is_none_or(|end| end > i64::MAX as u64) {
            return Err((format!("sparse segment of {length} bytes at {offset}"), "an end below 2^63".into()));
        }
        if offset < self.end() {
            let what = format!("sparse segment {} at {offset} overlaps or precedes the previous segment", self.pushed);
            return Err((what, format!("an offset of at least {}", self.end())));
        }
        self.append(segment)
    }

    fn append(&mut self, segment: Segment) -> Result<(), MapFault> {
        let touches = self.end() == segment.offset;
        if let Some(last) = self.segments.last_mut().filter(|_| touches) {
            last.length += segment.length;
        } else if self.segments.len() < MAX_SEGMENTS {
            self.segments.push(segment);
        } else {
            return Err(("sparse map too long".into(), format!("at most {MAX_SEGMENTS} segments")));
        }
        Ok(())
    }

    /// Total bytes of the segments.
    pub fn stored(&self) -> u64 {
        self.segments.iter().map(|segment| segment.length).sum()
    }

    fn end(&self) -> u64 {
        self.segments.last().map_or(0, |last| last.offset + last.length)
    }

    /// The segments, if they end within `size` and contain exactly `stored` bytes.
    pub fn finish(self, size: u64, stored: u64) -> Result<Vec<Segment>, MapFault> {
        if self.end() > size {
            let what = format!("sparse map reaches byte {}, past the end of the file", self.end());
            return Err((what, format!("an end of at most {size}")));
        }
        let held = self.stored();
        if held != stored {
            return Err((format!("sparse map of {held} bytes over {stored} stored bytes"), "equal numbers".into()));
        }
        Ok(self.segments)
    }
}

/// Positions of the fields of the old form in a header.
#[derive(Debug, Clone, Copy)]
pub(super) struct OldLayout {
    map: usize,
    more: usize,
    real_size: usize,
}

impl OldLayout {
    const GNU: Self = Self { map: 386, more: 482, real_size: 483 };
    const STAR: Self = Self { map: 356, more: 355, real_size: 452 };

    /// The layout of a header of type `S`.
    pub fn of(header: &Header) -> Self {
        if header.has_star_mark() { Self::STAR } else { Self::GNU }
    }

    /// Whether the header has no segments. star uses their bytes for the prefix of the name, unless it writes its oldest form.
    /// The rule is the same as in GNU tar: a map in the header begins with the digits of an offset.
    fn is_all_in_extensions(self, header: &Header) -> bool {
        self.map == Self::STAR.map && (header.has_star_prefix() || header.slice(self.map + 10, 1)[0] == 0)
    }

    /// Whether the stored size may include extension blocks, as in star.
    pub fn counts_extensions(self) -> bool {
        self.map == Self::STAR.map
    }

    /// Size of the file with its holes. `None` if it is not a number.
    pub fn real_size(self, header: &Header) -> Option<i64> {
        number::field(header.slice(self.real_size, 12))
    }

    /// Reads the four segments of the header. Returns true if extension blocks follow.
    pub fn read(self, header: &Header, map: &mut Map) -> Result<bool, MapFault> {
        if self.is_all_in_extensions(header) {
            return Ok(true);
        }
        take_pairs(header.slice(self.map, 4 * 24), map)?;
        Ok(header.slice(self.more, 1)[0] != 0)
    }
}

/// Reads the 21 segments of an extension block. Returns true if another block follows.
pub(super) fn read_extension(block: &[u8; BLOCK], map: &mut Map) -> Result<bool, MapFault> {
    take_pairs(&block[..504], map)?;
    Ok(block[504] != 0)
}

/// Pairs of 12-byte fields, up to the first blank field.
fn take_pairs(pairs: &[u8], map: &mut Map) -> Result<(), MapFault> {
    for pair in pairs.chunks_exact(24) {
        if pair[12] == 0 {
            break;
        }
        let value = |bytes: &[u8]| number::field(bytes).and_then(|value| u64::try_from(value).ok());
        let (Some(offset), Some(length)) = (value(&pair[..12]), value(&pair[12..])) else {
            return Err(("sparse segment is not a pair of numbers".into(), "octal or base-256, not negative".into()));
        };
        map.push(Segment { offset, length })?;
    }
    Ok(())
}

/// The map at the start of a PAX 1.0 file's content: a line with the number of segments, then two lines with the offset and the
/// length of each. Parsed incrementally.
#[derive(Debug, Default)]
pub(super) struct TextMap {
    map: Map,
    line: Vec<u8>,
    left: Option<u64>,
    offset: Option<u64>,
}

impl TextMap {
    /// Consumes bytes up to the end of the map. Returns true when it is complete; the rest of the block is padding.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<bool, MapFault> {
        for &byte in bytes {
            if byte != b'\n' {
                self.extend(byte)?;
            } else if self.end_line()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn extend(&mut self, byte: u8) -> Result<(), MapFault> {
        // A number below 2^63 has at most 19 digits, and no archiver writes more leading zeros.
        if !byte.is_ascii_digit() || self.line.len() == 20 {
            return Err((
                "the sparse map has a line that is not a number".into(),
                "a decimal number on each line".into(),
            ));
        }
        self.line.push(byte);
        Ok(())
    }

    fn end_line(&mut self) -> Result<bool, MapFault> {
        let value = number::decimal(&self.line)
            .ok_or_else(|| ("sparse map holds an unusable number".to_owned(), "a number below 2^63".to_owned()))?;
        self.line.clear();
        match (self.left, self.offset.take()) {
            (None, _) => self.left = Some(value),
            (Some(_), None) => self.offset = Some(value),
            (Some(left), Some(offset)) => {
                self.map.push(Segment { offset, length: value })?;
                self.left = Some(left - 1);
            }
        }
        Ok(self.left == Some(0) && self.offset.is_none())
    }

    /// The map, after [`Self::feed`] has returned true.
    pub fn into_map(self) -> Map {
        self.map
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn map(pairs: &[(u64, u64)]) -> Result<Map, MapFault> {
        let mut map = Map::default();
        pairs.iter().try_for_each(|&(offset, length)| map.push(Segment { offset, length }))?;
        Ok(map)
    }

    #[test]
    fn touching_segments_are_one() {
        let segments = map(&[(0, 5), (5, 5), (20, 0), (20, 1)]).unwrap().finish(30, 11).unwrap();
        assert_eq!(segments, [Segment { offset: 0, length: 10 }, Segment { offset: 20, length: 1 }]);
    }

    #[test]
    fn refused_maps() {
        assert!(map(&[(0, 5), (4, 1)]).unwrap_err().0.contains("overlaps"));
        assert!(map(&[(10, 5), (0, 1)]).unwrap_err().0.contains("precedes"));
        assert!(map(&[(i64::MAX as u64, 1)]).unwrap_err().1.contains("2^63"));
        assert!(map(&[(u64::MAX, 1)]).is_err());
        assert!(map(&[(10, 5)]).unwrap().finish(14, 5).unwrap_err().0.contains("past the end"));
        assert!(map(&[(10, 5)]).unwrap().finish(15, 6).unwrap_err().0.contains("6 stored"));
    }

    proptest! {
        #[test]
        fn text_map_in_any_pieces(gaps in prop::collection::vec((0u64..100, 1u64..100), 0..20), cut in 0usize..50) {
            let mut text = format!("{}\n", gaps.len());
            let mut end = 0;
            let mut stored = 0;
            for (gap, length) in gaps {
                text += &format!("{}\n{length}\n", end + gap);
                end += gap + length;
                stored += length;
            }
            let mut parsed = TextMap::default();
            let (head, tail) = text.as_bytes().split_at(cut.min(text.len() - 1));
            prop_assert!(!parsed.feed(head).unwrap());
            prop_assert!(parsed.feed(tail).unwrap());
            prop_assert!(parsed.into_map().finish(end, stored).is_ok());
        }
    }
}
