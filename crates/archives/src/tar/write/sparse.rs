//! The map of a file with holes, at the start of its content: a line with the number of segments, then offset and length of each, a line a
//! number, padded to a block.
//!
//! The map precedes the data, and its length is in the header before it. So the caller iterates over the segments twice: once to
//! [`MapShape::add`] each, once to write each with [`MapShape::line`]. They need not be stored.

use super::padding;

/// A stored part of a file. All but the last of a file must be a multiple of 512 bytes long, because GNU tar starts each at a new block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapSegment {
    /// Offset in the file, bytes.
    pub offset: u64,
    /// Bytes stored.
    pub length: u64,
}

impl MapSegment {
    /// Offset of its end, bytes.
    pub fn end(&self) -> u64 {
        self.offset + self.length
    }
}

/// Size and structure of a map, from the first pass over the segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MapShape {
    segments: u64,
    /// Bytes of all lines but the first.
    lines: u64,
    content: u64,
    end: u64,
    /// An empty segment at the end of the file, which GNU tar requires if the file ends in a hole.
    closing: Option<MapSegment>,
}

impl MapShape {
    /// Adds the next segment, which starts after the end of the previous one.
    pub fn add(&mut self, segment: MapSegment) {
        self.segments += 1;
        self.lines += line_bytes(segment);
        self.content += segment.length;
        self.end = segment.end();
    }

    /// Ends the map of a file of `size` bytes. Must be called once, after the last [`MapShape::add`].
    pub fn close(&mut self, size: u64) {
        if self.end != size || self.segments == 0 {
            let closing = MapSegment { offset: size, length: 0 };
            self.add(closing);
            self.closing = Some(closing);
        }
    }

    /// Bytes of content: the sum of the segments.
    pub fn content_bytes(&self) -> u64 {
        self.content
    }

    /// Number of segments, the empty one at the end included.
    pub fn segments(&self) -> u64 {
        self.segments
    }

    /// Bytes of map and content together, without the padding behind the content.
    pub fn stored_bytes(&self) -> u64 {
        let text = self.text_bytes();
        (text + padding(text) as u64).saturating_add(self.content)
    }

    /// Appends the first line.
    pub fn head(&self, out: &mut Vec<u8>) {
        line(out, self.segments);
    }

    /// Appends the lines of a segment.
    pub fn line(&self, out: &mut Vec<u8>, segment: MapSegment) {
        line(out, segment.offset);
        line(out, segment.length);
    }

    /// Appends the end of the map: the empty segment, if there is one, and the padding.
    pub fn tail(&self, out: &mut Vec<u8>) {
        if let Some(segment) = self.closing {
            self.line(out, segment);
        }
        out.resize(out.len() + padding(self.text_bytes()), 0);
    }

    fn text_bytes(&self) -> u64 {
        digits(self.segments) + 1 + self.lines
    }
}

fn line(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(number.to_string().as_bytes());
    out.push(b'\n');
}

fn line_bytes(segment: MapSegment) -> u64 {
    digits(segment.offset) + digits(segment.length) + 2
}

fn digits(number: u64) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1
}
