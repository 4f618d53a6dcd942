//! The metadata on its way to the sink.

use packline_blocks::{Error, Extent, LateBlock, Written, write};
use packline_runtime::{Sink, zeros};

/// Appends bytes to an image, records them, and hashes them.
pub(super) struct Output<'s> {
    sink: &'s mut dyn Sink,
    position: u64,
    written: Written,
    hasher: blake3::Hasher,
    checksum: crc32fast::Hasher,
}

impl<'s> Output<'s> {
    /// Starts at an offset. Adds all bytes to `written`. `checksum`: CRC-32 of the bytes before.
    pub(super) fn new(sink: &'s mut dyn Sink, position: u64, written: Written, checksum: u32) -> Output<'s> {
        let checksum = crc32fast::Hasher::new_with_initial(checksum);
        Output { sink, position, written, hasher: blake3::Hasher::new(), checksum }
    }

    /// Returns the CRC-32 of all bytes so far, and of those before the first one.
    pub(super) fn checksum(&self) -> u32 {
        self.checksum.clone().finalize()
    }

    /// Returns the offset of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let start = self.append(bytes)?;
        self.written.add_plain(start, bytes);
        Ok(())
    }

    /// Appends a compressed block, and returns the parts of its content that are decoded at once.
    pub(super) fn put_block(&mut self, block: LateBlock) -> Result<Vec<Extent>, Error> {
        let start = self.append(block.bytes())?;
        Ok(block.stored_at(start, &mut self.written))
    }

    /// Appends bytes without a record, and returns their offset.
    fn append(&mut self, bytes: &[u8]) -> Result<u64, Error> {
        let start = self.position;
        write(self.sink, start, bytes)?;
        self.hasher.update(bytes);
        self.checksum.update(bytes);
        self.position += bytes.len() as u64;
        Ok(start)
    }

    /// Appends zeros up to a multiple of `unit`.
    pub(super) fn pad(&mut self, unit: u64) -> Result<(), Error> {
        self.fill(self.position.next_multiple_of(unit))
    }

    /// Appends zeros up to an offset.
    pub(super) fn fill(&mut self, to: u64) -> Result<(), Error> {
        zeros(to.saturating_sub(self.position)).try_for_each(|piece| self.put(piece))
    }

    /// Returns the record of all parts, and the hash of all bytes.
    pub(super) fn end(self) -> (Written, blake3::Hash) {
        (self.written, self.hasher.finalize())
    }
}
