//! Writes .lrz files of format 0.6.
//!
//! The bytes are a function of the input and the options. A chunk is done in phases: `search.rs` finds its matches, which
//! become the opcodes of stream 0; `literals.rs` gathers what they leave, stream 1; `compress.rs` compresses the blocks of both,
//! several at once; `layout.rs` puts them into the file in order. Memory (`memory.rs`) decides how many do so, and whether the
//! chunk is kept or read again.

mod coder;
mod compress;
mod digest;
mod layout;
mod literals;
mod memory;
mod opcodes;
mod options;
mod output;
mod policy;
mod probe;
mod seal;
mod search;
mod source;
mod view;
mod writer;
mod written;

pub use options::{Password, Randomness, WindowSize, WriteOptions};
pub use written::{StreamSums, Written};

use crate::{Error, Observer, Resources, Sink, Source};

/// Compresses a source into a file of format 0.6. A file that grows is stored up to the size that it had when it was opened; see
/// [`Written::unsteady`].
///
/// The output is a function of the source's bytes and the options; neither resources nor the kind of source change it. But a pipe
/// of several chunks whose output cannot be patched is written with a size of 0, which means unknown.
///
/// # Errors
/// [`Error::Unsupported`] for invalid options; [`Error::Input`], [`Error::Changed`], [`Error::Output`],
/// [`Error::Scratch`] and [`Error::Random`] as they say; [`Error::Memory`] if not even one worker fits;
/// [`Error::Work`]. The output is then not a whole file.
pub fn compress(
    source: Source<'_>,
    sink: &mut dyn Sink,
    options: &WriteOptions,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Written, Error> {
    let window = options.window.bytes()?;
    let mut writer = writer::Writer::new(sink, options, resources, observer)?;
    let unsteady = match source {
        Source::At(input) => source::file(&mut writer, &input, window, resources)?,
        Source::Stream(stream) => {
            source::pipe(&mut writer, stream, window, resources)?;
            false
        }
    };
    Ok(Written { unsteady, ..writer.finish()? })
}
