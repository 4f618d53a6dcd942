//! The tasks of the two stages: hash pieces of content, compress blocks.

use std::ops::Range;
use std::sync::Arc;

use packline_cache::{BlockEncoder, Lookup};
use packline_codec::{Anchor, Decoder, Encoder, METADATA_BLOCK_SIZE, Outcome, Spec, add_anchors};
use packline_engine::{Outbox, Permit, Pipeline, Task};
use packline_runtime::{Buffer, Buffers};

use crate::format::layout::STORED_BLOCK;
use crate::format::record::Record;
use crate::format::wire::encode_metadata;
use crate::write::digest::{Digest, Digester, hash, is_zero};
use crate::write::slab::{Item, PieceKind, Slab};
use crate::write::written::{Chunk, Hashes};
use crate::{BlockSize, Error, Options, Start};

/// Raw bytes in a job. Submitting smaller jobs would cost too much.
pub(crate) const JOB_BYTES: usize = 64 * 1024;

/// The pipeline of packing: slabs are hashed, then blocks are compressed.
pub(crate) type BlockPipeline = Pipeline<HashTask, CompressTask>;

/// Hashes the pieces of a slab.
#[derive(Debug)]
pub(crate) struct HashTask {
    pub(crate) digester: Digester,
}

/// Compresses blocks.
#[derive(Debug)]
pub(crate) struct CompressTask {
    codec: Spec,
    block_size: BlockSize,
    /// Whether results are hashed, too.
    hashes: bool,
    /// Whether the image gets a checksum of all bytes in its data area.
    checksums: bool,
    /// Buffers for the results of jobs.
    products: Arc<Buffers>,
    lookup: Lookup,
}

/// The hash of one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PieceHash {
    /// Only zeros, which may become a hole.
    Zero,
    /// Content, with its digest if one may be needed.
    Content(Option<Digest>),
}

/// A slab with the hashes of its pieces.
#[derive(Debug)]
pub(crate) struct Hashed {
    pub(crate) slab: Slab,
    /// One for each item of the slab.
    pub(crate) pieces: Vec<HashedPiece>,
    /// Anchors of all items. The memory for the results of the tail ends covers them.
    pub(crate) anchors: Vec<Anchor>,
}

/// What decisions need of a piece.
#[derive(Debug)]
pub(crate) struct HashedPiece {
    pub(crate) hash: PieceHash,
    /// The range of its anchors; empty unless the piece is a tail end that may be shared.
    pub(crate) anchors: Range<usize>,
}

/// One block to compress: its number, and its bytes in the buffer.
#[derive(Debug, Clone)]
pub(crate) struct BlockRef {
    pub(crate) ordinal: u32,
    pub(crate) range: Range<usize>,
    /// Digest of the content, if one was needed.
    pub(crate) content: Option<Digest>,
}

impl BlockRef {
    /// Returns a hash of the content, or 0 without a digest.
    pub(crate) fn bits(&self) -> u64 {
        self.content.map_or(0, |digest| digest.bits())
    }
}

/// Known digests of a block.
#[derive(Debug, Clone, Copy)]
struct Identity {
    content: Option<Digest>,
    /// Digest of the tail ends in a fragment block.
    parts: Option<Digest>,
}

/// A fragment block in memory; the permit covers its compressed form.
#[derive(Debug)]
pub(crate) struct FragmentBuffer {
    pub(crate) index: u32,
    pub(crate) raw: Buffer,
    /// Length of the block in the buffer, in bytes.
    pub(crate) length: usize,
    /// Digest of the list of its tail ends, if blocks are looked up and each tail end has a digest.
    pub(crate) parts: Option<Digest>,
    pub(crate) permit: Permit,
}

impl FragmentBuffer {
    /// Submits the block: to be compressed, or to be stored.
    pub(crate) fn submit(self, stored: bool, next: &mut Outbox<CompressTask>) {
        if stored {
            let FragmentBuffer { index, raw, length, .. } = self;
            let fragment = PackedFragment { index, bytes: raw, length, stored, hashes: None, checksum: None };
            next.pass(Packed::Fragment(fragment));
        } else {
            next.submit(Job::Fragment(self));
        }
    }
}

/// The input of the compress stage.
#[derive(Debug)]
pub(crate) enum Job {
    /// Data blocks of one slab; the permit covers their compressed form.
    Blocks { buffer: Arc<Buffer>, blocks: Vec<BlockRef>, permit: Permit },
    /// A complete fragment block.
    Fragment(FragmentBuffer),
    /// A metadata block.
    Metadata { raw: Vec<u8> },
    /// Parts of the image that were read back.
    Check(Chunk),
}

/// A compressed block.
#[derive(Debug)]
pub(crate) struct PackedBlock {
    pub(crate) block: BlockRef,
    /// Range in the job's product; `None` if the block did not get smaller.
    pub(crate) compressed: Option<Range<usize>>,
    /// Hash of the range, if hashes are wanted.
    pub(crate) hash: u64,
    /// CRC-32 of the bytes that are stored, if the image gets a checksum.
    pub(crate) checksum: Option<u32>,
}

/// The input of the commit step.
#[derive(Debug)]
pub(crate) enum Packed {
    /// Data blocks, compressed where that made them smaller.
    Blocks { raw: Arc<Buffer>, product: Buffer, blocks: Vec<PackedBlock> },
    /// Data blocks to store.
    Raw { buffer: Arc<Buffer>, blocks: Vec<BlockRef> },
    /// Blocks of the image to write again.
    Copies { from: u32, to: u32, count: u32 },
    /// A fragment block.
    Fragment(PackedFragment),
    /// The next data starts at a multiple of this number of bytes.
    Align { bytes: u32 },
    /// A metadata block with its header.
    Metadata(Vec<u8>),
    /// This number of bytes of the image was read back without a difference.
    Checked(u64),
}

/// A fragment block as it is stored.
#[derive(Debug)]
pub(crate) struct PackedFragment {
    pub(crate) index: u32,
    pub(crate) bytes: Buffer,
    /// Length of the block in the buffer, in bytes.
    pub(crate) length: usize,
    pub(crate) stored: bool,
    pub(crate) hashes: Option<Hashes>,
    /// CRC-32 of the block, if the image gets a checksum and a worker has computed it.
    pub(crate) checksum: Option<u32>,
}

/// State of one worker: encoders or a decoder, created on first use, and a buffer for decoded blocks.
#[derive(Default)]
pub(crate) struct Tool {
    data: Option<BlockEncoder>,
    metadata: Option<Box<dyn Encoder>>,
    decoder: Option<Box<dyn Decoder>>,
    scratch: Vec<u8>,
}

impl Task for HashTask {
    type In = Slab;
    type Out = Hashed;
    type Error = Error;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), mut slab: Slab) -> Result<Hashed, Error> {
        slab.read()?;
        let mut anchors = Vec::new();
        let piece = |item: &Item| {
            let hash = self.hash_piece(&slab, item);
            let start = anchors.len();
            if item.piece == PieceKind::Tail && item.rules.deduplicate {
                add_anchors(&slab.buffer.bytes()[item.range.clone()], &mut anchors);
            }
            HashedPiece { hash, anchors: start..anchors.len() }
        };
        let pieces = slab.items.iter().map(piece).collect();
        Ok(Hashed { slab, pieces, anchors })
    }

    fn bytes_in(&self, slab: &Slab) -> u64 {
        slab.filled as u64
    }

    fn bytes_out(&self, hashed: &Hashed) -> u64 {
        hashed.slab.filled as u64
    }
}

impl HashTask {
    fn hash_piece(&self, slab: &Slab, item: &Item) -> PieceHash {
        if let PieceKind::Holes(_) = item.piece {
            return PieceHash::Zero;
        }
        let content = &slab.buffer.bytes()[item.range.clone()];
        if item.rules.sparse && is_zero(content) {
            return PieceHash::Zero;
        }
        let wanted = item.rules.deduplicate || self.digester.is_all();
        PieceHash::Content(wanted.then(|| self.digester.digest(content, item.rules.stored)))
    }
}

impl Task for CompressTask {
    type In = Job;
    type Out = Packed;
    type Error = Error;
    type Tool = Tool;

    fn tool(&self) -> Tool {
        Tool::default()
    }

    fn run(&self, tool: &mut Tool, job: Job) -> Result<Packed, Error> {
        match job {
            Job::Blocks { buffer, blocks, permit } => self.blocks(tool, buffer, blocks, permit),
            Job::Fragment(fragment) => self.fragment(tool, fragment),
            Job::Metadata { raw } => self.metadata(tool, &raw).map(Packed::Metadata),
            Job::Check(chunk) => self.check(tool, &chunk).map(Packed::Checked),
        }
    }

    fn bytes_in(&self, job: &Job) -> u64 {
        match job {
            Job::Blocks { blocks, .. } => sum(blocks.iter().map(|block| &block.range)),
            Job::Fragment(fragment) => fragment.length as u64,
            Job::Metadata { raw } => raw.len() as u64,
            Job::Check(chunk) => chunk.length as u64,
        }
    }

    fn bytes_out(&self, packed: &Packed) -> u64 {
        match packed {
            Packed::Blocks { blocks, .. } => {
                sum(blocks.iter().map(|packed| packed.compressed.as_ref().unwrap_or(&packed.block.range)))
            }
            Packed::Raw { blocks, .. } => sum(blocks.iter().map(|block| &block.range)),
            Packed::Fragment(fragment) => fragment.length as u64,
            Packed::Metadata(bytes) => bytes.len() as u64,
            Packed::Checked(bytes) => *bytes,
            // Copied bytes are in the image; only the data area knows their length.
            Packed::Copies { .. } | Packed::Align { .. } => 0,
        }
    }
}

fn sum<'a>(ranges: impl Iterator<Item = &'a Range<usize>>) -> u64 {
    ranges.map(|range| range.len() as u64).sum()
}

impl CompressTask {
    /// `window` bounds the memory of the pipeline in bytes.
    pub(crate) fn new(options: &Options, window: usize, start: &Start) -> CompressTask {
        let products = Buffers::new(options.block_size.bytes().max(JOB_BYTES), window);
        let codec = options.codec.clone();
        let block_size = options.block_size;
        let checksums = Record::is_wanted(options);
        CompressTask { codec, block_size, hashes: start.verify, checksums, products, lookup: start.lookup.clone() }
    }

    fn blocks(
        &self,
        tool: &mut Tool,
        raw: Arc<Buffer>,
        blocks: Vec<BlockRef>,
        permit: Permit,
    ) -> Result<Packed, Error> {
        let mut product = self.products.take(permit);
        let mut packed = Vec::with_capacity(blocks.len());
        let mut at = 0;
        for block in blocks {
            let content = &raw.bytes()[block.range.clone()];
            let identity = Identity { content: block.content, parts: None };
            let to = &mut product.bytes_mut()[at..at + content.len()];
            let size = self.try_compress(tool, content, identity, to)?;
            let compressed = size.map(|size| at..at + size);
            let result = compressed.as_ref().map(|range| &product.bytes()[range.clone()]);
            let hash = self.hash(result);
            let checksum = self.checksum(result.unwrap_or(content));
            packed.push(PackedBlock { block, compressed, hash, checksum });
            at += size.unwrap_or(0);
        }
        Ok(Packed::Blocks { raw, product, blocks: packed })
    }

    fn fragment(&self, tool: &mut Tool, fragment: FragmentBuffer) -> Result<Packed, Error> {
        let FragmentBuffer { index, raw, length, parts, permit } = fragment;
        let mut product = self.products.take(permit);
        let content = self.hashes.then(|| Digest::of(&raw.bytes()[..length], false));
        let identity = Identity { content, parts };
        let to = &mut product.bytes_mut()[..length];
        let size = self.try_compress(tool, &raw.bytes()[..length], identity, to)?;
        Ok(Packed::Fragment(match size {
            Some(size) => {
                let stored = self.hash(Some(&product.bytes()[..size]));
                let hashes = Some(Hashes { stored, content: content.map_or(0, |digest| digest.bits()) });
                let checksum = self.checksum(&product.bytes()[..size]);
                PackedFragment { index, bytes: product, length: size, stored: false, hashes, checksum }
            }
            None => {
                let checksum = self.checksum(&raw.bytes()[..length]);
                PackedFragment { index, bytes: raw, length, stored: true, hashes: None, checksum }
            }
        }))
    }

    fn checksum(&self, stored: &[u8]) -> Option<u32> {
        self.checksums.then(|| crc32fast::hash(stored))
    }

    /// Returns the hash of a result, or 0 if hashes are not wanted.
    fn hash(&self, bytes: Option<&[u8]>) -> u64 {
        bytes.filter(|_| self.hashes).map_or(0, hash)
    }

    /// Compresses one block; returns `None` if it does not get smaller.
    fn try_compress(
        &self,
        tool: &mut Tool,
        raw: &[u8],
        identity: Identity,
        product: &mut [u8],
    ) -> Result<Option<usize>, Error> {
        let encoder = match &mut tool.data {
            Some(encoder) => encoder,
            none => none.insert(BlockEncoder::new(&self.lookup, &self.codec, self.block_size.bytes())?),
        };
        let content = identity.content.map(|digest| digest.content());
        let outcome = match identity.parts.map(|digest| digest.content()) {
            Some(parts) => encoder.compress_joined(raw, content.as_ref(), &parts, product)?,
            None => encoder.compress(raw, content.as_ref(), product)?,
        };
        Ok(match outcome {
            Outcome::Smaller(size) => Some(size),
            Outcome::NotSmaller => None,
        })
    }

    fn metadata(&self, tool: &mut Tool, raw: &[u8]) -> Result<Vec<u8>, Error> {
        let encoder = match &mut tool.metadata {
            Some(encoder) => encoder,
            none => none.insert(self.codec.metadata_encoder()?),
        };
        Ok(encode_metadata(encoder.as_mut(), raw)?)
    }

    /// Checks parts of the image. Encoders are no longer needed then, and leave their memory to the decoder.
    fn check(&self, tool: &mut Tool, chunk: &Chunk) -> Result<u64, Error> {
        tool.data = None;
        tool.metadata = None;
        let most = self.block_size.bytes().max(METADATA_BLOCK_SIZE);
        let decoder = match &mut tool.decoder {
            Some(decoder) => decoder,
            none => none.insert(self.codec.decoder(most, usize::MAX)?),
        };
        tool.scratch.resize(most, 0);
        chunk.check(decoder.as_mut(), &mut tool.scratch)
    }
}

/// Returns the size word of a block of `size` bytes on disk.
pub(crate) fn size_word(size: usize, stored: bool) -> u32 {
    size as u32 | if stored { STORED_BLOCK } else { 0 }
}
