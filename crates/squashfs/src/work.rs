//! What the workers do: hash pieces of content, compress blocks.

use std::ops::Range;
use std::sync::Arc;

use packline_codec::{Encoder, Outcome, Spec};
use packline_engine::{Permit, Work};

use crate::Error;
use crate::digest::{Digest, is_zero};
use crate::layout::STORED_BLOCK;
use crate::slab::{Buffer, Piece, Slab};

/// Largest raw metadata block, bytes (SquashFS 4.0).
const METADATA_BLOCK: usize = 8192;
/// Marks a metadata block as stored (bit 15 of its header).
const STORED_METADATA: u16 = 1 << 15;

/// The two parallel stages of packing an image.
#[derive(Debug)]
pub(crate) struct BlockWork {
    pub(crate) codec: Spec,
    pub(crate) block_size: u32,
}

/// What the hash stage found of one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing but zeros, and zeros may be a hole.
    Zero,
    /// Content, with its digest if anyone may ask for it.
    Content(Option<Digest>),
}

/// A slab whose pieces were looked at.
#[derive(Debug)]
pub(crate) struct Hashed {
    pub(crate) slab: Slab,
    /// One for each item of the slab.
    pub(crate) verdicts: Vec<Verdict>,
}

/// One block to compress: its number, and its bytes in the buffer.
#[derive(Debug, Clone)]
pub(crate) struct BlockRef {
    pub(crate) ordinal: u32,
    pub(crate) range: Range<usize>,
}

/// What the compress stage is given.
#[derive(Debug)]
pub(crate) enum Job {
    /// Data blocks of one slab; the permit covers their compressed form.
    Blocks { buffer: Arc<Buffer>, blocks: Vec<BlockRef>, permit: Permit },
    /// A whole fragment block; the permit covers its raw and its compressed form.
    Fragment { index: u32, raw: Vec<u8>, permit: Permit },
    /// A metadata block.
    Metadata { raw: Vec<u8> },
}

/// A compressed block, or none if it did not get smaller.
#[derive(Debug)]
pub(crate) struct PackedBlock {
    pub(crate) block: BlockRef,
    pub(crate) smaller: Option<Box<[u8]>>,
}

/// What the commit step takes.
#[derive(Debug)]
pub(crate) enum Packed {
    /// Data blocks, compressed where that made them smaller.
    Blocks { buffer: Arc<Buffer>, blocks: Vec<PackedBlock>, _permit: Permit },
    /// Data blocks to store as they are.
    Raw { buffer: Arc<Buffer>, blocks: Vec<BlockRef> },
    /// So many blocks whose bytes stand in the image already, to be written once more.
    Copies { from: u32, to: u32, count: u32 },
    /// A fragment block, ready to be written, with its size word.
    Fragment { index: u32, bytes: Vec<u8>, stored: bool, _permit: Permit },
    /// The next data starts at a multiple of the device block size.
    Align,
    /// A metadata block with its header.
    Metadata(Vec<u8>),
}

/// What one worker keeps: encoders, made when first needed, and a buffer for their output.
#[derive(Default)]
pub(crate) struct Tool {
    data: Option<Box<dyn Encoder>>,
    metadata: Option<Box<dyn Encoder>>,
    scratch: Vec<u8>,
}

impl Work for BlockWork {
    type Raw = Slab;
    type Hashed = Hashed;
    type Job = Job;
    type Packed = Packed;
    type Error = Error;
    type Tool = Tool;

    fn tool(&self) -> Tool {
        Tool::default()
    }

    fn hash(&self, _: &mut Tool, slab: Slab) -> Result<Hashed, Error> {
        let verdicts = look_at(&slab);
        Ok(Hashed { slab, verdicts })
    }

    fn compress(&self, tool: &mut Tool, job: Job) -> Result<Packed, Error> {
        match job {
            Job::Blocks { buffer, blocks, permit } => self.blocks(tool, buffer, blocks, permit),
            Job::Fragment { index, raw, permit } => self.fragment(tool, index, raw, permit),
            Job::Metadata { raw } => self.metadata(tool, &raw).map(Packed::Metadata),
        }
    }
}

impl BlockWork {
    fn blocks(
        &self,
        tool: &mut Tool,
        buffer: Arc<Buffer>,
        blocks: Vec<BlockRef>,
        mut permit: Permit,
    ) -> Result<Packed, Error> {
        let mut packed = Vec::with_capacity(blocks.len());
        for block in blocks {
            let smaller = self.smaller(tool, &buffer.bytes()[block.range.clone()])?;
            packed.push(PackedBlock { block, smaller });
        }
        let held = packed.iter().filter_map(|block| block.smaller.as_ref()).map(|bytes| bytes.len()).sum();
        permit.shrink_to(held);
        Ok(Packed::Blocks { buffer, blocks: packed, _permit: permit })
    }

    fn fragment(&self, tool: &mut Tool, index: u32, raw: Vec<u8>, mut permit: Permit) -> Result<Packed, Error> {
        let smaller = self.smaller(tool, &raw)?;
        let stored = smaller.is_none();
        let bytes = smaller.map_or(raw, Vec::from);
        permit.shrink_to(bytes.capacity());
        Ok(Packed::Fragment { index, bytes, stored, _permit: permit })
    }

    /// Compresses one block; `None` if it does not get smaller.
    fn smaller(&self, tool: &mut Tool, raw: &[u8]) -> Result<Option<Box<[u8]>>, Error> {
        let encoder = match &mut tool.data {
            Some(encoder) => encoder,
            none => none.insert(self.codec.encoder(self.block_size as usize)?),
        };
        tool.scratch.resize(tool.scratch.len().max(raw.len()), 0);
        Ok(match encoder.compress(raw, &mut tool.scratch[..raw.len()])? {
            Outcome::Smaller(size) => Some(tool.scratch[..size].into()),
            Outcome::NotSmaller => None,
        })
    }

    fn metadata(&self, tool: &mut Tool, raw: &[u8]) -> Result<Vec<u8>, Error> {
        let encoder = match &mut tool.metadata {
            Some(encoder) => encoder,
            none => none.insert(self.codec.metadata_encoder()?),
        };
        tool.scratch.resize(tool.scratch.len().max(METADATA_BLOCK), 0);
        Ok(match encoder.compress(raw, &mut tool.scratch[..raw.len()])? {
            Outcome::Smaller(size) => with_header(size as u16, &tool.scratch[..size]),
            Outcome::NotSmaller => stored_metadata(raw),
        })
    }
}

/// A metadata block as it stands, behind a header that says so.
pub(crate) fn stored_metadata(raw: &[u8]) -> Vec<u8> {
    with_header(raw.len() as u16 | STORED_METADATA, raw)
}

fn with_header(header: u16, bytes: &[u8]) -> Vec<u8> {
    let mut block = Vec::with_capacity(2 + bytes.len());
    block.extend_from_slice(&header.to_le_bytes());
    block.extend_from_slice(bytes);
    block
}

/// The size word of a block of `size` bytes on disk.
pub(crate) fn size_word(size: usize, stored: bool) -> u32 {
    size as u32 | if stored { STORED_BLOCK } else { 0 }
}

fn look_at(slab: &Slab) -> Vec<Verdict> {
    let verdict = |item: &crate::slab::Item| match item.piece {
        Piece::Holes(_) => Verdict::Zero,
        Piece::Block | Piece::Tail => {
            let content = &slab.buffer.bytes()[item.range.clone()];
            if item.rules.sparse && is_zero(content) {
                Verdict::Zero
            } else {
                Verdict::Content(item.rules.deduplicate.then(|| Digest::of(content, item.rules.stored)))
            }
        }
    };
    slab.items.iter().map(verdict).collect()
}
