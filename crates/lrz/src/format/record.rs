//! The record before each block of a stream, and at the start of the stream.

use super::Width;

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
}
