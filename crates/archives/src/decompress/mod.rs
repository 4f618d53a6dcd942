//! Decompression of inputs, off the calling thread and on several threads where the format allows it.
//!
//! | format | in parallel |
//! |---|---|
//! | gzip | members with a size field (BGZF: bgzip, and others that write its extra field) |
//! | bzip2 | every block |
//! | xz | blocks with a size field, as `xz -T` writes them (liblzma) |
//! | zstd | frames, as pzstd and concatenation make them |
//! | lz4 | frames; one frame is decoded by one thread, faster than a packer takes it |
//! | lzip, lzma, legacy lz4 | no |
//!
//! Concatenated streams are one; zeros after the end are ignored; anything else there is an error. Memory is bounded by
//! [`Limits`], for any input. The bytes and the errors are the same for every number of threads.

mod bits;
mod bzip2;
mod detect;
mod engines;
mod fault;
mod lz4;
mod members;
mod ordered;
mod scan;
mod split;

pub use detect::{Format, detect, read_head};

use std::io::{self, Cursor, Read};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Threads that decode; 0 counts as 1.
    pub threads: usize,
    /// Largest window (zstd) or dictionary (xz, lzma) in bytes that is accepted; what needs more is refused by name.
    pub window: u64,
    /// Bytes of compressed and decompressed data under way between threads; windows come on top. At least 4 MiB are used.
    pub buffers: u64,
}

impl Default for Limits {
    /// One thread, windows of 128 MiB (`zstd --long`, more than `xz -9`), 32 MiB of buffers.
    fn default() -> Self {
        Self { threads: 1, window: 128 << 20, buffers: 32 << 20 }
    }
}

/// The decompressed bytes of `input`; the input itself if it is not compressed.
///
/// # Errors
/// Of the input, while its first bytes are read, or the system starts no threads. Later errors are returned by `read`: with
/// [`io::ErrorKind::InvalidData`] or [`io::ErrorKind::UnexpectedEof`] where the data is at fault, naming the format and the
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
