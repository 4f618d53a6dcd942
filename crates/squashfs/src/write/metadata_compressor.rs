//! The interface between the metadata tables and the workers that compress them.

use crate::Error;

/// Compresses metadata blocks in parallel and returns them in order.
pub trait MetadataCompressor {
    /// Submits one raw metadata block of 1 to 8192 bytes. `stored` asks for no compression.
    fn submit(&mut self, raw: Vec<u8>, stored: bool) -> Result<(), Error>;
    /// Waits for the next finished block, in the order of submission, and returns it with its 2-byte header. `None` when all submitted blocks
    /// have been returned.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Error>;
    /// Returns the number of submitted blocks that are not yet returned. The caller limits the number.
    fn pending(&self) -> usize;
}
