//! Compressed streams of independent members. The input is divided into chunks of a fixed size, and each chunk is compressed separately, so
//! that the output is the same for any number of workers.
//!
//! | format | chunk | member | default level |
//! |---|---|---|---|
//! | gzip | 1 MiB | a gzip member (RFC 1952), by libdeflate | 6: smaller than zlib's 9, in a ninth of its time |
//! | xz | twice the dictionary, at least 8 MiB | a block of one .xz stream, with its sizes | 6 |
//! | zstd | twice the window, at least 4 MiB | a frame (RFC 8878) with content size and checksum | 3 |
//! | bzip2 | a block | a bzip2 stream | 9 |
//!
//! The output is an ordinary file of its format: every decoder accepts a sequence of members. xz and bzip2 decoders, and our decoder for
//! zstd, also decompress it on several threads.

mod members;
mod xz;

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::CodecError;
use crate::parameters::{ListWriter, items};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFormat {
    Gzip,
    Xz,
    Zstd,
    Bzip2,
}

impl StreamFormat {
    /// All formats, in the order of listings.
    pub const ALL: [StreamFormat; 4] = [Self::Gzip, Self::Xz, Self::Zstd, Self::Bzip2];

    /// The name that [`StreamSpec::parse`] accepts.
    pub fn name(self) -> &'static str {
        match self {
            StreamFormat::Gzip => crate::gzip::NAME,
            StreamFormat::Xz => crate::xz::NAME,
            StreamFormat::Zstd => crate::zstd::NAME,
            StreamFormat::Bzip2 => crate::bzip2::NAME,
        }
    }

    fn levels(self) -> RangeInclusive<u32> {
        match self {
            StreamFormat::Gzip => 1..=12,
            StreamFormat::Xz => 0..=9,
            StreamFormat::Zstd => 1..=22,
            StreamFormat::Bzip2 => 1..=9,
        }
    }

    fn default_level(self) -> u32 {
        match self {
            StreamFormat::Gzip | StreamFormat::Xz => 6,
            StreamFormat::Zstd => 3,
            StreamFormat::Bzip2 => 9,
        }
    }
}

/// A format with its level, written `NAME` or `NAME:level=N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamSpec {
    format: StreamFormat,
    level: u32,
}

impl StreamSpec {
    /// A format at its default level.
    pub fn new(format: StreamFormat) -> StreamSpec {
        StreamSpec { format, level: format.default_level() }
    }

    /// Parses `NAME` or `NAME:level=N`.
    ///
    /// # Errors
    /// The format or the parameter is unknown, or the level is out of range. The error describes valid values.
    pub fn parse(text: &str) -> Result<StreamSpec, CodecError> {
        let (name, list) = text.split_once(':').unwrap_or((text, ""));
        let format = StreamFormat::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| unknown(name))?;
        let mut spec = StreamSpec::new(format);
        for item in items(format.name(), list) {
            match item.key {
                "level" | "compression-level" => spec.level = item.number(format.levels())?,
                _ => return Err(item.unknown("level")),
            }
        }
        Ok(spec)
    }

    pub fn format(&self) -> StreamFormat {
        self.format
    }

    /// Bytes per chunk; only the last chunk of a stream is shorter.
    pub fn chunk(&self) -> usize {
        match self.format {
            StreamFormat::Gzip => 1 << 20,
            StreamFormat::Xz => (2 * xz::dictionary(self.level)).max(8 << 20),
            StreamFormat::Zstd => members::zstd_chunk(self.level),
            StreamFormat::Bzip2 => members::bzip2_chunk(self.level),
        }
    }

    /// Upper bound in bytes of the memory of one encoder, without the member that the encoder returns.
    pub fn memory(&self) -> usize {
        match self.format {
            StreamFormat::Gzip => crate::gzip::Deflater::memory(self.level),
            StreamFormat::Xz => xz::memory(self.level),
            StreamFormat::Zstd => members::zstd_memory(self.level, self.chunk()),
            StreamFormat::Bzip2 => crate::bzip2::encoder_memory(self.level),
        }
    }

    /// An encoder, for use by one thread.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn encoder(&self) -> Result<MemberEncoder, CodecError> {
        Ok(MemberEncoder(match self.format {
            StreamFormat::Gzip => Inner::Gzip(members::GzipEncoder::new(self.level)?),
            StreamFormat::Xz => Inner::Xz(xz::Encoder::new(self.level)),
            StreamFormat::Zstd => Inner::Zstd(members::ZstdEncoder::new(self.level, self.chunk())?),
            StreamFormat::Bzip2 => Inner::Bzip2(members::Bzip2Encoder::new(self.level)),
        }))
    }

    /// The bytes before the first member.
    pub fn start(&self) -> Vec<u8> {
        match self.format {
            StreamFormat::Xz => xz::stream_header(),
            _ => Vec::new(),
        }
    }

    /// Collects what determines the bytes after the last member.
    pub fn end(&self) -> StreamEnd {
        StreamEnd { index: (self.format == StreamFormat::Xz).then(xz::Index::default) }
    }
}

impl fmt::Display for StreamSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed = ListWriter::default();
        printed.value("level", self.level, self.format.default_level());
        let list = printed.list();
        let colon = if list.is_empty() { "" } else { ":" };
        write!(f, "{}{colon}{list}", self.format.name())
    }
}

impl FromStr for StreamSpec {
    type Err = CodecError;

    fn from_str(text: &str) -> Result<StreamSpec, CodecError> {
        StreamSpec::parse(text)
    }
}

fn unknown(name: &str) -> CodecError {
    CodecError::UnknownCodec { found: name.to_owned(), known: StreamFormat::ALL.map(StreamFormat::name).join(", ") }
}

/// One compressed chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The compressed chunk's bytes in the stream.
    pub bytes: Vec<u8>,
    /// Input to the index at the end of an .xz stream.
    sizes: Option<xz::BlockSizes>,
}

/// Compresses chunks. The result depends only on the chunk and the parameters.
pub struct MemberEncoder(Inner);

enum Inner {
    Gzip(members::GzipEncoder),
    Xz(xz::Encoder),
    Zstd(members::ZstdEncoder),
    Bzip2(members::Bzip2Encoder),
}

impl MemberEncoder {
    /// Compresses a chunk of at most [`StreamSpec::chunk`] bytes. The chunk may be empty.
    ///
    /// # Errors
    /// Lack of memory; [`CodecError::BlockTooLarge`].
    pub fn encode(&mut self, chunk: &[u8]) -> Result<Member, CodecError> {
        let plain = |bytes| Member { bytes, sizes: None };
        match &mut self.0 {
            Inner::Gzip(encoder) => encoder.encode(chunk).map(plain),
            Inner::Zstd(encoder) => encoder.encode(chunk).map(plain),
            Inner::Bzip2(encoder) => encoder.encode(chunk).map(plain),
            Inner::Xz(encoder) => encoder.encode(chunk).map(|(bytes, sizes)| Member { bytes, sizes }),
        }
    }
}

/// The end of a stream. It is empty except for xz, whose index takes about 8 bytes of memory per block.
#[derive(Debug)]
pub struct StreamEnd {
    index: Option<xz::Index>,
}

impl StreamEnd {
    /// Adds the next member of the stream.
    pub fn note(&mut self, member: &Member) {
        if let (Some(index), Some(sizes)) = (&mut self.index, member.sizes) {
            index.add(sizes);
        }
    }

    pub fn bytes(self) -> Vec<u8> {
        self.index.map(xz::Index::finish).unwrap_or_default()
    }
}

/// The error for a result that exceeds the library's own bound.
fn did_not_fit(codec: &'static str, function: &'static str) -> CodecError {
    CodecError::Library { codec, function, code: 0 }
}

#[cfg(test)]
mod tests;
