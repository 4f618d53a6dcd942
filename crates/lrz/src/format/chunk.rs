//! The structure of a chunk: its head in version 0.6, the width of its numbers, and the record before each block of a stream and at its start.

/// The record of a block. The record at the start of a stream has no data, and points to the first block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The byte of the back end. It is 3, which means stored, in a stream's first record.
    pub tag: u8,
    /// Bytes in the file.
    pub stored: u64,
    /// Bytes of plain data.
    pub plain: u64,
    /// Offset of the record of the stream's next block from the chunk's first record; 0 if there is no next block.
    pub next: u64,
}

impl Record {
    /// Size of a record in bytes.
    pub fn size(width: Width) -> usize {
        1 + 3 * width.bytes()
    }

    /// Appends the record to `out`. `width` is the width of the chunk.
    pub fn encode(&self, width: Width, out: &mut Vec<u8>) {
        out.push(self.tag);
        for number in [self.stored, self.plain, self.next] {
            width.put(number, out);
        }
    }

    /// Parses a record of [`Record::size`] bytes.
    pub fn decode(width: Width, bytes: &[u8]) -> Record {
        let number = |index: usize| width.get(&bytes[1 + index * width.bytes()..]);
        Record { tag: bytes[0], stored: number(0), plain: number(1), next: number(2) }
    }
}

/// The smallest size that a chunk's head declares, in bytes.
const MIN_DECLARED: u64 = 4096;

/// The head of a chunk of version 0.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkHead {
    /// Width of distances, and of records if they are not encrypted.
    pub width: Width,
    /// Whether no chunk follows.
    pub last: bool,
    /// Bytes of plain data, at least 4096, modulo the range of the width. Readers do not need it. `None` if the file is encrypted.
    pub size: Option<u64>,
}

impl ChunkHead {
    /// Returns the head of a chunk of `size` bytes.
    pub fn new(size: u64, last: bool, encrypted: bool) -> ChunkHead {
        ChunkHead { width: width_for(size), last, size: (!encrypted).then_some(size.max(MIN_DECLARED)) }
    }

    /// Appends the encoded head to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend([self.width.bytes() as u8, u8::from(self.last)]);
        if let Some(size) = self.size {
            self.width.put(size, out);
        }
    }
}

/// Bytes of a number, 1 to 8, least significant first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Width(u8);

impl Width {
    pub(super) const TWO: Width = Width(2);
    /// Eight bytes, the largest width of the format.
    pub const FULL: Width = Width(8);

    /// Returns a width of 1 to 8 bytes; `None` for other numbers of bytes.
    pub fn new(bytes: u8) -> Option<Width> {
        (1..=8).contains(&bytes).then_some(Width(bytes))
    }

    /// The number of bytes, 1 to 8.
    pub fn bytes(self) -> usize {
        usize::from(self.0)
    }

    /// The largest number of this width.
    pub fn max_number(self) -> u64 {
        u64::MAX >> (64 - 8 * u32::from(self.0))
    }

    /// Appends the lower bytes of a number.
    pub fn put(self, number: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&number.to_le_bytes()[..self.bytes()]);
    }

    /// Reads the number at the start of `bytes`, which must be long enough.
    pub fn get(self, bytes: &[u8]) -> u64 {
        let mut all = [0; 8];
        all[..self.bytes()].copy_from_slice(&bytes[..self.bytes()]);
        u64::from_le_bytes(all)
    }
}

/// Returns the width that lrzip uses for a chunk of `chunk` bytes.
pub fn width_for(chunk: u64) -> Width {
    let bits = (64 - chunk.leading_zeros()).max(8);
    Width(bits.div_ceil(8) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_records_of_any_width() {
        for bytes in 1..=8 {
            let width = Width::new(bytes).unwrap();
            let record = Record { tag: 6, stored: 200, plain: width.max_number(), next: 7 };
            let mut out = Vec::new();
            record.encode(width, &mut out);
            assert_eq!((out.len(), Record::decode(width, &out)), (Record::size(width), record));
        }
    }

    fn encoded(size: u64, last: bool, encrypted: bool) -> Vec<u8> {
        let mut out = Vec::new();
        ChunkHead::new(size, last, encrypted).encode(&mut out);
        out
    }

    #[test]
    fn truncates_the_size_of_small_chunks_to_their_width() {
        assert_eq!(encoded(5, true, false), [1, 1, 0]);
        assert_eq!(encoded(341, true, false), [2, 1, 0, 0x10]);
        assert_eq!(encoded(0x12345, false, false), [3, 0, 0x45, 0x23, 1]);
        assert_eq!(encoded(0x12345, true, true), [3, 1]);
    }

    #[test]
    fn width_fits_the_length_of_the_chunk() {
        for (chunk, bytes) in
            [(0, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 3), (u64::from(u32::MAX), 4), (1 << 32, 5)]
        {
            assert_eq!(width_for(chunk).bytes(), bytes, "{chunk}");
        }
        assert_eq!(width_for(u64::MAX), Width::FULL);
    }

    #[test]
    fn reads_the_numbers_that_it_appends() {
        for bytes in 1..=8 {
            let width = Width::new(bytes).unwrap();
            for number in [0, 1, 200, width.max_number()] {
                let mut out = Vec::new();
                width.put(number, &mut out);
                assert_eq!((out.len(), width.get(&out)), (width.bytes(), number));
            }
        }
        assert!(Width::new(0).is_none() && Width::new(9).is_none());
    }
}
