//! Writing a .pln file.
//!
//! The bytes are a function of the content and the options. The caller's thread cuts content into records, which workers compress
//! and hash (`press.rs`) and which go into the file in their order (`layout.rs`).

mod options;
mod written;

use std::io;

pub use options::WriteOptions;
pub use written::Written;

use crate::{Error, Machine, Observer, Source};

/// Compresses a source into a .pln file, from front to back: the sink may be a pipe.
///
/// What is written is a function of the source's bytes and the options, whatever the machine and whichever kind the source is.
/// The sink is not flushed.
///
/// # Errors
/// [`Error::Unsupported`] and [`Error::Codec`] for options that cannot be; [`Error::Input`] and [`Error::Output`];
/// [`Error::Memory`] if not even one worker fits; [`Error::Cancelled`]. What has been written then is no whole file.
pub fn compress(
    source: Source<'_>,
    sink: &mut dyn io::Write,
    options: &WriteOptions,
    machine: &Machine,
    observer: &mut dyn Observer,
) -> Result<Written, Error> {
    let _ = (source, sink, options, machine, observer);
    Err(Error::Internal("nothing is written yet".into()))
}
