//! What can be read at an offset.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes that can be read at any offset, by several threads.
pub trait Input: Send + Sync {
    /// How many there are, bytes.
    fn length(&self) -> u64;
    /// Fills `into` with what stands at byte `at`.
    ///
    /// # Errors
    /// What the operating system says; [`io::ErrorKind::UnexpectedEof`] past the end.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()>;
}

impl Input for Vec<u8> {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(at).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let bytes = start.checked_add(into.len()).and_then(|end| self.get(start..end));
        into.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// A file, with the length it had when it was opened.
#[derive(Debug)]
pub struct FileInput {
    file: File,
    length: u64,
}

impl FileInput {
    /// An open file.
    ///
    /// # Errors
    /// The system does not tell its length.
    pub fn new(file: File) -> io::Result<FileInput> {
        let length = file.metadata()?.len();
        Ok(FileInput { file, length })
    }
}

impl Input for FileInput {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, at)
    }
}

/// Reads until a buffer is full or the stream ends; how many bytes there were.
///
/// # Errors
/// What the operating system says.
pub(crate) fn fill(stream: &mut dyn io::Read, into: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match stream.read(&mut into[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
