//! The interface between the metadata tables and the workers that compress them.

use crate::Error;

/// Compresses metadata blocks in parallel and returns them in order.
pub trait MetadataCompressor {
    /// Submits one raw metadata block of 1 to 8192 bytes. `stored` asks for no compression.
    fn submit(&mut self, raw: Vec<u8>, stored: bool) -> Result<(), Error>;
    /// The next finished block in the order of submission, its 2-byte header first; waits for it.
    /// `None` when all that was submitted has been taken.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Error>;
    /// How many submitted blocks have not been taken yet: the caller takes some before there are too many.
    fn pending(&self) -> usize;
}
