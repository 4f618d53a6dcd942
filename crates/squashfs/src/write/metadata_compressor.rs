//! The interface between the metadata tables and the workers that compress them.

use crate::Error;

/// Compresses metadata blocks in parallel and returns them in order.
pub trait MetadataCompressor {
    /// Submits one raw metadata block of 1 to 8192 bytes. `stored` asks for no compression.
    fn submit(&mut self, raw: Vec<u8>, stored: bool) -> Result<(), Error>;
    /// The next finished block in the order of submission, with its 2-byte header; waits for it. `None` when all submitted blocks have been
    /// returned.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Error>;
    /// Number of submitted blocks not yet returned, which the caller limits.
    fn pending(&self) -> usize;
}
