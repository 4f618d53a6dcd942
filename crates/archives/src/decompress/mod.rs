//! Decompresses inputs in other threads, and in several threads if the format allows it.
//!
//! | format | in parallel |
//! |---|---|
//! | gzip | members with a size field (BGZF: bgzip, and other programs that write its extra field) |
//! | bzip2 | every block |
//! | xz | blocks with a size field, as written by `xz -T` (liblzma) |
//! | zstd | frames, as written by pzstd or made by concatenation |
//! | lz4 | frames; one thread decodes a frame faster than a packer reads it |
//! | lzip, lzma, legacy lz4 | no |
//!
//! Concatenated streams are read as one. Zeros after the end are ignored; other bytes there are an error. [`Limits`] bounds the
//! memory for any input. The bytes and the errors are the same for any number of threads.

mod bits;
mod bzip2;
mod detect;
pub(crate) mod engines;
mod fault;
mod lz4;
mod members;
mod ordered;
mod scan;
mod split;

pub use detect::{Format, HEAD, detect, read_head};
pub use members::start_of;

use std::io::{self, Cursor, Read};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Number of threads that decode. 0 counts as 1.
    pub threads: usize,
    /// Largest accepted window (zstd) or dictionary (xz, lzma) in bytes. The error for a larger one names it.
    pub window: u64,
    /// Bytes of compressed and decompressed data in flight between threads, not counting windows. At least 4 MiB are used.
    pub buffers: u64,
}

impl Default for Limits {
    /// One thread, windows of 128 MiB (`zstd --long`, more than `xz -9`), 32 MiB of buffers.
    fn default() -> Self {
        Self { threads: 1, window: 128 << 20, buffers: 32 << 20 }
    }
}

/// Returns the decompressed bytes of `input`, or the input itself if it is not compressed.
///
/// # Errors
/// The first bytes cannot be read, or the system cannot start a thread. `read` returns later errors, with
/// [`io::ErrorKind::InvalidData`] or [`io::ErrorKind::UnexpectedEof`] for invalid data; the message names the format and the
/// offset in the compressed input.
pub fn open(mut input: impl Read + Send + 'static, limits: &Limits) -> io::Result<Box<dyn Read + Send>> {
    let head = read_head(&mut input)?;
    let format = detect(&head);
    let whole = Cursor::new(head).chain(input);
    Ok(match format {
        Format::Plain => Box::new(whole),
        _ => Box::new(split::start(Box::new(whole), format, limits)?),
    })
}
