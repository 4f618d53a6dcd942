//! The map of a file with holes, at the start of the file's content: lines with the number of segments, then the offset and the
//! length of each segment, one number for each line, padded to a block.
//!
//! The map precedes the data, and its length is in the header before it. The caller therefore iterates over the segments twice:
//! first to [`MapShape::add`] each segment, and then to write each with [`MapShape::line`]. The segments need not be stored.

use super::padding;

/// A stored part of a file. The length of each segment except the last must be a multiple of 512 bytes, because GNU tar starts
/// each segment at a new block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapSegment {
    /// Offset in the file in bytes.
    pub offset: u64,
    /// Number of stored bytes.
    pub length: u64,
}

impl MapSegment {
    pub fn end(&self) -> u64 {
        self.offset + self.length
    }
}

/// Size and structure of a map, from the first pass over the segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MapShape {
    segments: u64,
    /// Bytes of all lines except the first.
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

    /// Total bytes of the segments.
    pub fn content_bytes(&self) -> u64 {
        self.content
    }

    /// Number of segments, including the empty segment at the end.
    pub fn segments(&self) -> u64 {
        self.segments
    }

    /// Bytes of the map and the content together, without the padding after the content.
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
