//! Where plain data goes.

use std::io::{self, Write};

/// Takes plain data in order, and gives it back for matches that reach further than memory.
pub trait Target {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// What the operating system says.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Fills `into` with what was written at byte `at`, counted from the first; all of it has been written. Called only if
    /// [`Target::reads_back`].
    ///
    /// # Errors
    /// What the operating system says.
    fn read_back(&mut self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// Whether what was written can be read. If not, the reader keeps what memory has no room for in a file without a name.
    fn reads_back(&self) -> bool {
        true
    }
}

/// A target that only takes: standard output, a socket, [`io::sink`].
pub struct Pipe<W>(pub W);

impl<W: Write> Target for Pipe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn read_back(&mut self, _at: u64, _into: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn reads_back(&self) -> bool {
        false
    }
}
