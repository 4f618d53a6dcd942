//! Errors of decoders: one line with the format, the fault and its offset in the compressed input.

use std::io;

use super::Format;

/// Data that violates the format. `offset` counts compressed bytes.
pub(super) fn corrupt(format: Format, what: &str, offset: u64) -> io::Error {
    let message = format!("{format} data: {what} near compressed byte {offset}");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Data that ends too early.
pub(super) fn truncated(format: Format, offset: u64) -> io::Error {
    let message = format!("{format} data: ends at compressed byte {offset}, before the stream does");
    io::Error::new(io::ErrorKind::UnexpectedEof, message)
}

/// A thread panicked: a bug in this program, not a fault of the input.
pub(super) fn vanished(format: Format) -> io::Error {
    io::Error::other(format!("{format} data: the decoder thread stopped unexpectedly"))
}

/// The reader of the output was dropped. This error only ends the threads.
pub(super) fn abandoned() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the reader of the decompressed data has stopped")
}
