//! Fills buffers from a stream.

use std::io;

/// Reads until the buffer is full or the stream ends. Returns the number of bytes read.
///
/// # Errors
/// Returns the error of the stream.
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
