//! Decodes the blocks of an image on the workers, in order. For a new image, it determines how each block can be reproduced.

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use packline_cache::ContentDigest;
use packline_codec::{Encoder, METADATA_BLOCK_SIZE, Outcome, Spec};
use packline_engine::{CancelToken, Consumer, OrderedMap, Permit, Task};
use packline_runtime::{FileInput, Input, ScratchError, of_fault, unless_cancelled, unnamed_temp_file};
use packline_squashfs::{BlockSize, encode_metadata};

use super::decoded::BlockDecoder;
use super::form::Block;
use super::known::KnownBlocks;
use crate::{Error, Side};

/// Upper bound for the stored and decoded bytes of a span, unless the span is a single block.
const SPAN: u64 = 2 << 20;

/// Consecutive bytes of a file.
pub(crate) struct Span {
    pub(crate) bytes: Range<u64>,
    /// The numbers of the blocks in the span.
    pub(crate) blocks: Range<usize>,
    _permit: Permit,
}

/// How a block is reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reproduction {
    /// The block is not decoded, and stays as it is stored.
    Raw,
    /// The block is encoded again. For an old image: the block was decoded.
    Encoded,
    /// The block is copied from the old image.
    Known,
}

/// The result for a block.
pub(crate) struct ScannedBlock {
    pub(crate) reproduction: Reproduction,
    /// The number of decoded bytes.
    pub(crate) plain: u32,
    /// The digest of the stored bytes.
    pub(crate) digest: ContentDigest,
}

/// A span with its plain form.
pub(crate) struct Scanned {
    pub(crate) span: Span,
    pub(crate) blocks: Vec<ScannedBlock>,
    pub(crate) plain: Vec<u8>,
}

/// The means to reproduce the blocks of a new image.
pub(crate) struct Reproducers {
    /// The codec that may reproduce blocks.
    pub(crate) codec: Option<Spec>,
    /// The blocks of the old image.
    pub(crate) known: Option<Arc<KnownBlocks>>,
}

/// Decodes spans.
pub(crate) struct ScanTask {
    pub(crate) side: Side,
    pub(crate) input: Arc<dyn Input>,
    /// The codec of the image.
    pub(crate) codec: Spec,
    pub(crate) block_size: BlockSize,
    pub(crate) blocks: Arc<Vec<Block>>,
    /// `None` for an old image.
    pub(crate) reproducers: Option<Reproducers>,
}

/// The decoders and encoders of a worker.
pub(crate) struct Tool {
    decoder: Option<BlockDecoder>,
    encoders: Option<[Box<dyn Encoder>; 2]>,
    /// The decoded block.
    decoded: Vec<u8>,
    /// The block, encoded again.
    encoded: Vec<u8>,
}

impl ScanTask {
    /// Memory of a worker in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let encoders = self.reproducers.iter().filter_map(|reproducers| reproducers.codec.as_ref()).map(|codec| {
            codec.footprint(self.block_size.bytes()).encoder + codec.footprint(METADATA_BLOCK_SIZE).encoder
        });
        let encoders: usize = encoders.sum();
        (BlockDecoder::memory(&self.codec, self.block_size) + encoders + 2 * self.block_size.bytes()) as u64
    }

    /// Upper bound for the bytes of a span in flight.
    pub(crate) fn span_memory(&self) -> u64 {
        SPAN.max(2 * u64::from(self.block_size)) + SPAN
    }

    /// Submits all spans of the file to a map.
    pub(crate) fn run(
        size: u64,
        block_size: BlockSize,
        blocks: &[Block],
        map: &mut OrderedMap<ScanTask>,
        consumer: &mut dyn Consumer<ScanTask>,
        cancel: &CancelToken,
    ) -> Result<(), Error> {
        let mut spans = Spans { size, block_size: block_size.into(), at: 0, next: 0 };
        while let Some((bytes, numbers, memory)) = spans.next(blocks) {
            unless_cancelled(cancel)?;
            let permit = map.reserve(memory as usize, consumer).map_err(of_fault)?;
            map.submit(Span { bytes, blocks: numbers, _permit: permit }, consumer).map_err(of_fault)?;
        }
        map.drain(consumer).map_err(of_fault)
    }

    fn scan(&self, tool: &mut Tool, span: Span) -> Result<Scanned, Error> {
        let length = (span.bytes.end - span.bytes.start) as usize;
        let mut stored = vec![0; length];
        self.input.read_at(span.bytes.start, &mut stored).map_err(Error::input(self.side))?;
        let mut plain = Vec::with_capacity(length);
        let mut blocks = Vec::new();
        let mut done = 0;
        for block in &self.blocks[span.blocks.clone()] {
            let start = (block.at - span.bytes.start) as usize;
            let end = start + block.stored as usize;
            plain.extend_from_slice(&stored[done..start]);
            let scanned = self.block(tool, block, &stored[start..end])?;
            plain.extend_from_slice(if scanned.reproduction == Reproduction::Raw {
                &stored[start..end]
            } else {
                &tool.decoded
            });
            blocks.push(scanned);
            done = end;
        }
        plain.extend_from_slice(&stored[done..]);
        Ok(Scanned { span, blocks, plain })
    }

    fn block(&self, tool: &mut Tool, block: &Block, stored: &[u8]) -> Result<ScannedBlock, Error> {
        let digest = ContentDigest::of(stored);
        let decoder = match &mut tool.decoder {
            Some(decoder) => decoder,
            slot => slot.insert(BlockDecoder::new(&self.codec, self.block_size)?),
        };
        let raw = ScannedBlock { reproduction: Reproduction::Raw, plain: 0, digest };
        if decoder.decode(block, stored, &mut tool.decoded).is_none() {
            return Ok(raw);
        }
        let plain = tool.decoded.len() as u32;
        let reproduction = match &self.reproducers {
            None => Reproduction::Encoded,
            Some(reproducers)
                if reproducers.known.as_ref().is_some_and(|known| known.find(&digest, plain, 0).is_some()) =>
            {
                Reproduction::Known
            }
            Some(Reproducers { codec: Some(codec), .. }) if self.is_reproduced(tool, codec, block, stored)? => {
                Reproduction::Encoded
            }
            Some(_) => return Ok(raw),
        };
        Ok(ScannedBlock { reproduction, plain, digest })
    }

    fn is_reproduced(&self, tool: &mut Tool, codec: &Spec, block: &Block, stored: &[u8]) -> Result<bool, Error> {
        let [data, metadata] = match &mut tool.encoders {
            Some(encoders) => encoders,
            slot => slot.insert([codec.encoder(self.block_size.bytes())?, codec.metadata_encoder()?]),
        };
        if block.is_metadata() {
            return Ok(encode_metadata(metadata.as_mut(), &tool.decoded)? == stored);
        }
        tool.encoded.resize(tool.decoded.len(), 0);
        let outcome = data.compress(&tool.decoded, &mut tool.encoded)?;
        Ok(matches!(outcome, Outcome::Smaller(size) if tool.encoded[..size] == *stored))
    }
}

impl Task for ScanTask {
    type In = Span;
    type Out = Scanned;
    type Error = Error;
    type Tool = Tool;

    fn tool(&self) -> Tool {
        Tool { decoder: None, encoders: None, decoded: Vec::new(), encoded: Vec::new() }
    }

    fn run(&self, tool: &mut Tool, span: Span) -> Result<Scanned, Error> {
        self.scan(tool, span)
    }

    fn bytes_in(&self, span: &Span) -> u64 {
        span.bytes.end - span.bytes.start
    }

    fn bytes_out(&self, scanned: &Scanned) -> u64 {
        scanned.plain.len() as u64
    }
}

/// Cuts a file into spans.
struct Spans {
    size: u64,
    block_size: u64,
    at: u64,
    next: usize,
}

impl Spans {
    /// Returns the bytes, the blocks and the memory of the next span.
    fn next(&mut self, blocks: &[Block]) -> Option<(Range<u64>, Range<usize>, u64)> {
        let start = self.at;
        let first = self.next;
        let mut memory = 0;
        while self.at < self.size && memory < SPAN {
            let block = blocks.get(self.next);
            let gap = block.map_or(self.size, |block| block.at) - self.at;
            if gap > 0 {
                let now = gap.min(SPAN - memory);
                self.at += now;
                memory += now;
                continue;
            }
            let Some(block) = block else { break };
            let cost = u64::from(block.stored) + self.block_size.max(METADATA_BLOCK_SIZE as u64);
            if memory > 0 && memory + cost > SPAN {
                break;
            }
            self.at = block.end();
            self.next += 1;
            memory += cost;
        }
        (self.at > start).then(|| (start..self.at, first..self.next, memory + (self.at - start)))
    }
}

/// A temporary file for a plain form.
pub(crate) struct Spill<'d> {
    directory: &'d Path,
    file: File,
}

impl<'d> Spill<'d> {
    /// Creates the file in `directory`. Returns `None` without a directory.
    pub(crate) fn new(directory: Option<&'d Path>) -> Result<Option<Spill<'d>>, Error> {
        let Some(directory) = directory else { return Ok(None) };
        let created = unnamed_temp_file(directory);
        let file = created.map_err(|cause| Error::Scratch(ScratchError::wrap(directory, cause)))?;
        Ok(Some(Spill { directory, file }))
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.file.write_all(bytes);
        written.map_err(|cause| Error::Scratch(ScratchError::wrap(self.directory, cause)))
    }

    /// Returns the written bytes as an input.
    pub(crate) fn finish(self) -> Result<Arc<dyn Input>, Error> {
        let opened = FileInput::new(self.file);
        let input = opened.map_err(|cause| Error::Scratch(ScratchError::wrap(self.directory, cause)))?;
        Ok(Arc::new(input))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_cover_the_file_once_and_do_not_cut_blocks() {
        let blocks: Vec<Block> = (0..200_u64)
            .map(|number| Block::new(5000 + number * 70_000, 60_000 + (number % 3 * 5000) as u32, 9, false))
            .collect();
        for size in [blocks[199].end(), 30 << 20] {
            let mut spans = Spans { size, block_size: 131_072, at: 0, next: 0 };
            let mut at = 0;
            let mut next = 0;
            while let Some((bytes, numbers, memory)) = spans.next(&blocks) {
                assert_eq!((bytes.start, numbers.start), (at, next));
                let inside = blocks[numbers.clone()].iter();
                assert!(inside.clone().all(|block| block.at >= bytes.start && block.end() <= bytes.end));
                assert!(memory <= 2 * SPAN && inside.count() <= 10, "{memory} {bytes:?}");
                at = bytes.end;
                next = numbers.end;
            }
            assert_eq!((at, next), (size, 200));
        }
    }

    #[test]
    fn block_larger_than_a_span_is_one_span() {
        let block = Block::new(10, 3 << 20, 9, false);
        let mut spans = Spans { size: (3 << 20) + 20, block_size: 1 << 20, at: 0, next: 0 };
        assert_eq!(spans.next(&[block]).map(|span| (span.0, span.1)), Some((0..10, 0..0)));
        assert_eq!(spans.next(&[block]).map(|span| (span.0, span.1)), Some((10..block.end(), 0..1)));
        assert_eq!(spans.next(&[block]).map(|span| (span.0, span.1)), Some((block.end()..block.end() + 10, 1..1)));
        assert!(spans.next(&[block]).is_none());
    }
}
