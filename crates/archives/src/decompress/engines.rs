//! The libraries' decoders with one interface: bytes in, bytes out, one stream at a time.

use std::error::Error;

use liblzma::stream::{Action, MtStreamBuilder, Status as LzmaStatus, Stream};
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

use super::lz4::{Lz4, Lz4Legacy};
use super::{Format, Limits};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub consumed: usize,
    pub produced: usize,
    /// The stream has ended and its checksums are right.
    pub ended: bool,
}

/// An error of a decoder, as the end of a sentence.
pub(crate) type Wrong = String;

/// A decoder's failure, and the number of input bytes consumed before it.
pub(crate) type Failure = (Wrong, usize);

/// A decoder of one stream (a member or a frame).
pub(crate) trait Engine {
    /// Decodes more of `input` into `output`. Neither must be used up. `last` says that no input follows.
    fn step(&mut self, input: &[u8], output: &mut [u8], last: bool) -> Result<Step, Failure>;
    /// Whether the number of consumed bytes is the position of an error. If not, the message names the start of the stream.
    fn counts(&self) -> bool {
        true
    }
}

pub(crate) fn engine(format: Format, limits: &Limits) -> Result<Box<dyn Engine>, Wrong> {
    Ok(match format {
        Format::Gzip => Box::new(Gzip(flate2::Decompress::new_gzip(15))),
        Format::Bzip2 => Box::new(Bzip2(bzip2::Decompress::new(false))),
        Format::Zstd => Box::new(Zstd::new(limits)?),
        Format::Xz => Box::new(Lzma::xz(limits)?),
        Format::Lzma => Box::new(Lzma::over(Stream::new_lzma_decoder(memory(limits)), limits)?),
        Format::Lzip => Box::new(Lzma::over(Stream::new_lzip_decoder(memory(limits), 0), limits)?),
        Format::Lz4 => Box::new(Lz4::new()),
        Format::Lz4Legacy => Box::new(Lz4Legacy::new()),
        Format::Plain => return Err("not compressed".into()),
    })
}

/// A decoder of deflate data without a header and a checksum, as in zip archives.
pub(crate) fn deflate() -> Box<dyn Engine> {
    Box::new(Gzip(flate2::Decompress::new(false)))
}

/// A decoder of gzip, or of the deflate data in it.
struct Gzip(flate2::Decompress);

impl Engine for Gzip {
    fn step(&mut self, input: &[u8], output: &mut [u8], _last: bool) -> Result<Step, Failure> {
        let before_in = self.0.total_in();
        let before_out = self.0.total_out();
        let result = self.0.decompress(input, output, flate2::FlushDecompress::None);
        let consumed = (self.0.total_in() - before_in) as usize;
        let produced = (self.0.total_out() - before_out) as usize;
        let status = result.map_err(|error| (error.message().unwrap_or("corrupt stream").to_owned(), consumed))?;
        Ok(Step { consumed, produced, ended: status == flate2::Status::StreamEnd })
    }
}

struct Bzip2(bzip2::Decompress);

impl Engine for Bzip2 {
    fn step(&mut self, input: &[u8], output: &mut [u8], _last: bool) -> Result<Step, Failure> {
        let before_in = self.0.total_in();
        let before_out = self.0.total_out();
        let result = self.0.decompress(input, output);
        let consumed = (self.0.total_in() - before_in) as usize;
        let produced = (self.0.total_out() - before_out) as usize;
        let status = result.map_err(|_| ("corrupt block".to_owned(), consumed))?;
        Ok(Step { consumed, produced, ended: status == bzip2::Status::StreamEnd })
    }
}

struct Zstd {
    context: DCtx<'static>,
    window: u64,
}

impl Zstd {
    fn new(limits: &Limits) -> Result<Self, Wrong> {
        let mut context = DCtx::create();
        // The library accepts windows from 1 KiB (10) to 2 GiB (31).
        let log = limits.window.checked_ilog2().unwrap_or(0).clamp(10, 31);
        context.set_parameter(DParameter::WindowLogMax(log)).map_err(zstd_error)?;
        Ok(Self { context, window: limits.window })
    }

    fn wrong(&self, code: usize) -> Wrong {
        let name = zstd_error(code);
        if name.contains("too much memory") { too_large(self.window) } else { name }
    }
}

fn zstd_error(code: usize) -> Wrong {
    zstd_safe::get_error_name(code).to_lowercase()
}

impl Engine for Zstd {
    fn step(&mut self, input: &[u8], output: &mut [u8], _last: bool) -> Result<Step, Failure> {
        let mut source = InBuffer::around(input);
        let mut sink = OutBuffer::around(output);
        let result = self.context.decompress_stream(&mut sink, &mut source);
        let consumed = source.pos();
        let produced = sink.pos();
        let hint = result.map_err(|code| (self.wrong(code), consumed))?;
        Ok(Step { consumed, produced, ended: hint == 0 })
    }
}

struct Lzma {
    stream: Stream,
    limits: Limits,
    is_xz: bool,
}

impl Lzma {
    /// With several threads liblzma decodes blocks of known size in parallel, as far as the buffers allow.
    fn xz(limits: &Limits) -> Result<Self, Wrong> {
        let stream = match limits.threads {
            0 | 1 => Stream::new_stream_decoder(memory(limits), 0),
            threads => MtStreamBuilder::new()
                .threads(threads.min(256) as u32)
                .memlimit_threading(limits.buffers)
                .memlimit_stop(memory(limits))
                .decoder(),
        };
        let mut engine = Self::over(stream, limits)?;
        engine.is_xz = true;
        Ok(engine)
    }

    fn over(stream: Result<Stream, liblzma::stream::Error>, limits: &Limits) -> Result<Self, Wrong> {
        let stream = stream.map_err(|error| lzma_error(error, limits))?;
        Ok(Self { stream, limits: *limits, is_xz: false })
    }
}

/// liblzma counts all its memory: the dictionary and a little more.
fn memory(limits: &Limits) -> u64 {
    limits.window.saturating_add(1 << 20)
}

fn lzma_error(error: liblzma::stream::Error, limits: &Limits) -> Wrong {
    use liblzma::stream::Error as Lzma;
    match error {
        Lzma::MemLimit => too_large(limits.window),
        Lzma::Mem if limits.threads > 1 => "not enough memory or threads for the decoder".into(),
        Lzma::Mem => "out of memory".into(),
        Lzma::Data => "corrupt data".into(),
        Lzma::Format => "not such a stream".into(),
        Lzma::Options => "options that are not supported".into(),
        other => match other.source() {
            Some(cause) => format!("{other}: {cause}"),
            None => other.to_string(),
        },
    }
}

fn too_large(window: u64) -> Wrong {
    format!("needs a window of more than {} MiB, the limit,", window >> 20)
}

impl Engine for Lzma {
    fn step(&mut self, input: &[u8], output: &mut [u8], last: bool) -> Result<Step, Failure> {
        let before_in = self.stream.total_in();
        let before_out = self.stream.total_out();
        let action = if last { Action::Finish } else { Action::Run };
        let result = self.stream.process(input, output, action);
        let consumed = (self.stream.total_in() - before_in) as usize;
        let produced = (self.stream.total_out() - before_out) as usize;
        let status = result.map_err(|error| (lzma_error(error, &self.limits), consumed))?;
        Ok(Step { consumed, produced, ended: status == LzmaStatus::StreamEnd })
    }

    /// The threads for xz consume input before they decode it, and the message must not depend on the number of threads.
    fn counts(&self) -> bool {
        !self.is_xz
    }
}
