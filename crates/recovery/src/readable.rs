//! Reads inputs in steps, including inputs of which the system cannot read some sectors.

use std::io;
use std::sync::Arc;

use packline_runtime::{Input, InputChange};

/// Bytes read at a time.
pub(crate) const STEP: usize = 128 << 10;
/// Bytes that are read at once where a larger read fails: a sector of a disk.
const SECTOR: usize = 4 << 10;

/// Returns the offsets and lengths of the reads for a range.
pub(crate) fn steps(start: u64, bytes: u64) -> impl Iterator<Item = (u64, usize)> {
    (0..bytes).step_by(STEP).map(move |at| (start + at, (bytes - at).min(STEP as u64) as usize))
}

/// Fills a buffer. Sectors that cannot be read become zeros, which count as damage.
pub(crate) fn read_damaged(input: &dyn Input, offset: u64, buffer: &mut [u8]) {
    if input.read_at(offset, buffer).is_ok() {
        return;
    }
    for (at, sector) in (offset..).step_by(SECTOR).zip(buffer.chunks_mut(SECTOR)) {
        if input.read_at(at, sector).is_err() {
            sector.fill(0);
        }
    }
}

/// An input whose unreadable sectors are zeros.
pub(crate) struct Damaged(pub(crate) Arc<dyn Input>);

impl Input for Damaged {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > self.size()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read_damaged(&*self.0, offset, buffer);
        Ok(())
    }

    fn change(&self) -> io::Result<InputChange> {
        self.0.change()
    }
}
