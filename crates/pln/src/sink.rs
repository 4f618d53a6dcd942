//! Where content goes.

use std::io;

/// Takes content from front to back. What is not flushed may not be there yet.
pub trait Sink: io::Write {
    /// Goes on behind so many zeros without writing them, as a file with holes can. `false` if it cannot: then nothing was done, and
    /// they have to be written.
    ///
    /// # Errors
    /// What the operating system says.
    fn skip_zeros(&mut self, count: u64) -> io::Result<bool> {
        let _ = count;
        Ok(false)
    }
}

impl Sink for Vec<u8> {}

impl Sink for io::Cursor<Vec<u8>> {}
