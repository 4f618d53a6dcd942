//! Compresses the tar: workers compress chunks, and the caller's thread writes them in order.

use std::io::{self, Write as _};

use packline_codec::{CodecError, Member, MemberEncoder, StreamEnd, StreamSpec};
use packline_engine::{Consumer, Fault, OrderedMap, Permit, Pool, Task};

use super::sink::TarWrite;
use crate::Resources;

/// Why a chunk was not written.
#[derive(Debug)]
pub(super) enum CompressError {
    /// Compression failed.
    Codec(CodecError),
    /// Writing failed.
    Output(io::Error),
}

/// A chunk, with a permit for its memory and the memory of its compressed form.
pub(super) struct Chunk {
    bytes: Vec<u8>,
    permit: Permit,
}

/// A compressed chunk.
pub(super) struct Compressed {
    member: Member,
    _permit: Permit,
}

/// Compresses a chunk.
struct CompressTask(StreamSpec);

impl Task for CompressTask {
    type In = Chunk;
    type Out = Compressed;
    type Error = CompressError;
    type Tool = Option<MemberEncoder>;

    fn tool(&self) -> Option<MemberEncoder> {
        None
    }

    fn run(&self, tool: &mut Option<MemberEncoder>, chunk: Chunk) -> Result<Compressed, CompressError> {
        let encoder = match tool {
            Some(encoder) => encoder,
            None => tool.insert(self.0.encoder().map_err(CompressError::Codec)?),
        };
        let Chunk { bytes, mut permit } = chunk;
        let member = encoder.encode(&bytes).map_err(CompressError::Codec)?;
        drop(bytes);
        permit.shrink_to(member.bytes.capacity());
        Ok(Compressed { member, _permit: permit })
    }

    fn bytes_in(&self, chunk: &Chunk) -> u64 {
        chunk.bytes.len() as u64
    }

    fn bytes_out(&self, compressed: &Compressed) -> u64 {
        compressed.member.bytes.len() as u64
    }
}

/// The output and its totals.
struct Writing {
    out: TarWrite,
    end: StreamEnd,
    written: u64,
}

impl Writing {
    fn write(&mut self, bytes: &[u8]) -> Result<(), CompressError> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes).map_err(CompressError::Output)
    }
}

impl Consumer<CompressTask> for Writing {
    fn consume(&mut self, compressed: Compressed) -> Result<(), CompressError> {
        self.end.note(&compressed.member);
        self.write(&compressed.member.bytes)
    }
}

/// A compressed stream under construction.
pub(super) struct Compressor {
    spec: StreamSpec,
    map: OrderedMap<CompressTask>,
    writing: Writing,
    filling: Option<Chunk>,
}

impl Compressor {
    /// Compresses to `out` on `pool`, in about `window` bytes.
    pub(super) fn new(
        out: TarWrite,
        spec: StreamSpec,
        pool: &Pool,
        window: usize,
        resources: &Resources,
    ) -> io::Result<Compressor> {
        let map = resources.map_on(pool, CompressTask(spec), window);
        let writing = Writing { out, end: spec.end(), written: 0 };
        let mut compressor = Compressor { spec, map, writing, filling: None };
        match compressor.writing.write(&spec.start()) {
            Err(CompressError::Output(cause)) => Err(cause),
            _ => Ok(compressor),
        }
    }

    /// Adds bytes to the stream.
    pub(super) fn put(&mut self, mut bytes: &[u8]) -> Result<(), Fault<CompressError>> {
        while !bytes.is_empty() {
            let free = self.free()?;
            let (now, later) = bytes.split_at(bytes.len().min(free));
            if let Some(chunk) = &mut self.filling {
                chunk.bytes.extend_from_slice(now);
            }
            bytes = later;
            if now.len() == free {
                self.feed()?;
            }
        }
        Ok(())
    }

    /// Returns the number of bytes free in the current chunk; at least one.
    fn free(&mut self) -> Result<usize, Fault<CompressError>> {
        let size = self.spec.chunk();
        if self.filling.is_none() {
            let permit = self.map.reserve(2 * size, &mut self.writing)?;
            self.filling = Some(Chunk { bytes: Vec::with_capacity(size), permit });
        }
        Ok(size - self.filling.as_ref().map_or(0, |chunk| chunk.bytes.len()))
    }

    fn feed(&mut self) -> Result<(), Fault<CompressError>> {
        match self.filling.take() {
            Some(chunk) => self.map.submit(chunk, &mut self.writing),
            None => Ok(()),
        }
    }

    /// Ends the stream; returns the total number of bytes written.
    pub(super) fn finish(mut self) -> Result<u64, Fault<CompressError>> {
        self.feed()?;
        self.map.drain(&mut self.writing)?;
        let Writing { mut out, end, written } = self.writing;
        let end = end.bytes();
        out.write_all(&end).and_then(|()| out.flush()).map_err(|cause| Fault::Work(CompressError::Output(cause)))?;
        Ok(written + end.len() as u64)
    }
}
