//! Finds the ends of streams without decoding them: zstd and lz4 frames and BGZF members contain the sizes of their parts.

use super::Format;

/// The scanner's next action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Skip a number of bytes, then read a field of a number of bytes.
    Field { skip: u64, length: usize },
    /// Skip a number of bytes. The stream then ends, and another magic may follow.
    Boundary { skip: u64 },
    /// The scanner does not know this data: the rest must be decoded as one piece.
    Lost,
}

/// The part of the format that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Magic,
    SkippableSize,
    ZstdDescriptor,
    ZstdBlock { sum: bool },
    Lz4Flags,
    Lz4Block { block_sum: bool, content_sum: bool },
    BgzfHeader,
}

/// The result of scanning some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// All bytes were scanned.
    More,
    /// A stream ends here.
    Boundary,
    /// The rest cannot be scanned.
    Lost,
}

/// Follows the structure of concatenated streams.
pub(super) struct Scanner {
    format: Format,
    field: Field,
    gather: Vec<u8>,
    wanted: usize,
    skip: u64,
    ends: bool,
}

impl Scanner {
    /// A scanner at the start of a stream. `None` for a format whose streams must be decoded to find their ends.
    pub fn new(format: Format) -> Option<Self> {
        let scannable = matches!(format, Format::Zstd | Format::Lz4 | Format::Gzip);
        let mut scanner = Self { format, field: Field::Magic, gather: Vec::new(), wanted: 0, skip: 0, ends: false };
        scanner.restart();
        scannable.then_some(scanner)
    }

    fn restart(&mut self) {
        (self.field, self.wanted) = match self.format {
            Format::Gzip => (Field::BgzfHeader, 18),
            _ => (Field::Magic, 4),
        };
        self.ends = false;
    }

    /// Scans bytes up to the next boundary, and returns their number.
    pub fn advance(&mut self, bytes: &[u8]) -> (usize, Event) {
        let mut at = 0;
        loop {
            let skipped = self.skip.min((bytes.len() - at) as u64);
            self.skip -= skipped;
            at += skipped as usize;
            if self.skip == 0 && self.ends {
                self.restart();
                return (at, Event::Boundary);
            }
            let count = (bytes.len() - at).min(self.wanted - self.gather.len());
            self.gather.extend_from_slice(&bytes[at..at + count]);
            at += count;
            if self.skip > 0 || self.gather.len() < self.wanted {
                return (at, Event::More);
            }
            if self.take_field() == Event::Lost {
                return (at, Event::Lost);
            }
        }
    }

    fn take_field(&mut self) -> Event {
        let field = std::mem::take(&mut self.gather);
        match self.judge(&field) {
            Next::Field { skip, length } => (self.skip, self.wanted) = (skip, length),
            Next::Boundary { skip } => (self.skip, self.ends, self.wanted) = (skip, true, 0),
            Next::Lost => return Event::Lost,
        }
        Event::More
    }

    fn judge(&mut self, field: &[u8]) -> Next {
        match self.field {
            Field::Magic => self.magic(field),
            Field::SkippableSize => Next::Boundary { skip: little(field) },
            Field::ZstdDescriptor => self.zstd_header(field[0]),
            Field::ZstdBlock { sum } => zstd_block(little(field), sum),
            Field::Lz4Flags => self.lz4_header(field[0]),
            Field::Lz4Block { block_sum, content_sum } => lz4_block(little(field), block_sum, content_sum),
            Field::BgzfHeader => bgzf(field),
        }
    }

    fn expect(&mut self, field: Field, skip: u64, length: usize) -> Next {
        self.field = field;
        Next::Field { skip, length }
    }

    fn magic(&mut self, field: &[u8]) -> Next {
        match (self.format, little(field)) {
            (Format::Zstd, 0xfd2f_b528) => self.expect(Field::ZstdDescriptor, 0, 1),
            (Format::Lz4, 0x184d_2204) => self.expect(Field::Lz4Flags, 0, 2),
            (_, 0x184d_2a50..=0x184d_2a5f) => self.expect(Field::SkippableSize, 0, 4),
            _ => Next::Lost,
        }
    }

    /// RFC 8878, 3.1.1.1: a window byte unless single segment; a dictionary id of 0, 1, 2 or 4 bytes; the content size.
    fn zstd_header(&mut self, descriptor: u8) -> Next {
        let single = descriptor & 0x20 != 0;
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let size = match descriptor >> 6 {
            0 => u64::from(single),
            log => 1 << log,
        };
        let sum = descriptor & 4 != 0;
        self.expect(Field::ZstdBlock { sum }, u64::from(!single) + dictionary + size, 3)
    }

    fn lz4_header(&mut self, flags: u8) -> Next {
        let size = if flags & 0x08 != 0 { 8 } else { 0 };
        let dictionary = if flags & 0x01 != 0 { 4 } else { 0 };
        let block = Field::Lz4Block { block_sum: flags & 0x10 != 0, content_sum: flags & 0x04 != 0 };
        self.expect(block, size + dictionary + 1, 4)
    }
}

/// RFC 8878, 3.1.1.2: last block, type, size. A run is one byte.
fn zstd_block(header: u64, sum: bool) -> Next {
    let skip = match header >> 1 & 3 {
        1 => 1,
        3 => return Next::Lost,
        _ => header >> 3,
    };
    if header & 1 == 0 {
        return Next::Field { skip, length: 3 };
    }
    Next::Boundary { skip: skip + if sum { 4 } else { 0 } }
}

fn lz4_block(word: u64, block_sum: bool, content_sum: bool) -> Next {
    if word == 0 {
        return Next::Boundary { skip: if content_sum { 4 } else { 0 } };
    }
    let size = (word & 0x7fff_ffff) + if block_sum { 4 } else { 0 };
    Next::Field { skip: size, length: 4 }
}

/// Recognises a gzip header whose extra field is exactly `BC`, 2 and the size of the member minus one (SAM specification, section
/// 4.1).
fn bgzf(header: &[u8]) -> Next {
    let known = header[..4] == [0x1f, 0x8b, 8, 4] && header[10..16] == [6, 0, b'B', b'C', 2, 0];
    let size = little(&header[16..18]) + 1;
    if known && size >= 26 { Next::Boundary { skip: size - 18 } } else { Next::Lost }
}

fn little(field: &[u8]) -> u64 {
    field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}
