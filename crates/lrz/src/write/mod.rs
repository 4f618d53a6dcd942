//! Writes .lrz files of format 0.6.
//!
//! The bytes are a function of the input and the options. A chunk passes through these phases: `search.rs` finds matches, which become the
//! opcodes of stream 0. `literals.rs` collects the remaining bytes, stream 1. `compress.rs` compresses the blocks of both streams, several at
//! once. `layout.rs` writes the blocks in order. `memory.rs` decides how many workers run, and whether the chunk stays in memory or is read
//! again.

mod coder;
mod compress;
mod digest;
mod layout;
mod literals;
mod memory;
mod opcodes;
mod options;
mod policy;
mod probe;
mod seal;
mod search;
mod source;
mod view;
mod writer;

pub use options::{Password, Randomness, WindowSize, WriteOptions};

use crate::{Error, Observer, Resources, Sink, Source};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Bytes of plain data.
    pub plain: u64,
    /// Bytes of the file.
    pub stored: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Matches. A match counts once, even if it has several opcodes.
    pub matches: u64,
    /// Bytes covered by matches.
    pub match_bytes: u64,
    /// Runs of literals. A run counts once, even if it has several opcodes.
    pub literals: u64,
    /// Bytes of literals.
    pub literal_bytes: u64,
    /// MD5 of the plain data.
    pub md5: [u8; 16],
    /// Whether the input changed and was read more than once. Matches and literals may then be of two states of the input; reading the file
    /// detects this.
    pub unsteady: bool,
    /// The number of workers: fewer than requested if memory is short; 0 if the caller's thread did the work.
    pub workers: usize,
    /// Counts of stream 0, the opcodes, and of stream 1, the literals.
    pub streams: [StreamSums; 2],
}

/// Counts of the blocks of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamSums {
    /// The number of blocks.
    pub blocks: u64,
    /// The number of stored blocks.
    pub raw_blocks: u64,
    /// Bytes before compression.
    pub plain: u64,
    /// Bytes after compression, without records.
    pub stored: u64,
}

/// Compresses a source into a file of format 0.6. If the input grows, its bytes up to the size at opening are stored; see
/// [`Written::unsteady`].
///
/// The output is a function of the source's bytes and the options. Resources and the kind of source do not change it, with one exception: a
/// pipe of several chunks whose output cannot be patched is written with a size of 0, which means unknown.
///
/// # Errors
/// [`Error::Unsupported`] for invalid options; [`Error::Memory`] if not even one worker fits; [`Error::Input`], [`Error::Changed`],
/// [`Error::Output`], [`Error::Scratch`], [`Error::Random`], [`Error::Work`]. After an error the output is incomplete.
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
