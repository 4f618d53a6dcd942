//! The plain forms of both files, and the recipe of the new one.

use std::sync::Arc;

use packline_cache::ContentDigest;
use packline_codec::Spec;
use packline_engine::{CancelToken, Consumer, OrderedMap};
use packline_runtime::memory::Demand;
use packline_runtime::{Input, Resources, TaskError, of_fault};
use packline_squashfs::BlockSize;

use super::probe;
use crate::format::recipe::{BlockKind, Step, join};
use crate::passes::Passes;
use crate::plain::scan::{Reproducers, Reproduction, ScanTask, Scanned, Spill};
use crate::plain::{Block, Form, FoundImage, KnownBlocks, Plain, find, lengths_of};
use crate::{Error, Side};

/// The old file.
pub(super) struct OldSide {
    pub(super) plain: Plain,
    pub(super) is_image: bool,
    /// The encoded lengths of blocks that differ from the inodes.
    pub(super) lengths: Vec<u8>,
    known: Option<Arc<KnownBlocks>>,
}

/// The new file.
pub(super) struct NewSide {
    pub(super) plain: Plain,
    /// The codec that encodes blocks, and the block size; `None` if no block is encoded.
    pub(super) codec: Option<(Spec, BlockSize)>,
    pub(super) steps: Vec<Step>,
    pub(super) counts: BlockCounts,
}

impl NewSide {
    /// Memory of the recipe and of the plain form, in bytes.
    pub(super) fn memory(&self) -> u64 {
        self.plain.memory() + (self.steps.capacity() * size_of::<Step>()) as u64
    }
}

/// The blocks of a new image, by how the delta reproduces them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockCounts {
    /// Blocks that are encoded when the delta is applied.
    pub encoded: u64,
    /// Blocks that are copied as they are stored in the old image.
    pub kept: u64,
    /// Compressed blocks that no codec reproduced, and that the old image does not have.
    pub raw: u64,
}

pub(super) fn old_side(
    input: &Arc<dyn Input>,
    resources: &Resources,
    passes: &mut Passes<'_>,
) -> Result<OldSide, Error> {
    let itself = || OldSide { plain: Plain::itself(input), is_image: false, lengths: Vec::new(), known: None };
    let Some(image) = find(Side::Old, input, resources)? else { return Ok(itself()) };
    let FoundImage { codec, block_size, blocks } = image;
    let blocks = Arc::new(blocks);
    let task = ScanTask {
        side: Side::Old,
        input: Arc::clone(input),
        codec: codec.clone(),
        block_size,
        blocks: Arc::clone(&blocks),
        reproducers: None,
    };
    let spill = Spill::new(resources.scratch.as_deref())?;
    let found = Vec::with_capacity(blocks.len());
    let mut job = BlockScan::new(task, input.size(), resources, passes)?;
    let mut scan = OldScan { spill, found, digests: Vec::with_capacity(blocks.len()), passes };
    job.run(&mut scan)?;
    let OldScan { spill, found, digests, .. } = scan;
    let Some(lengths) = lengths_of(&blocks, &found) else { return Ok(itself()) };
    let blocks = blocks.iter().zip(&found).map(|(block, found)| block.with_plain(*found));
    let form = Form::new(blocks.filter(|block| block.plain() > 0).collect(), input.size());
    let plain = plain_of(input, spill, form, &codec, block_size)?;
    let known = Some(Arc::new(KnownBlocks::new(&plain.form, digests)));
    Ok(OldSide { plain, is_image: true, lengths, known })
}

pub(super) fn new_side(
    input: &Arc<dyn Input>,
    old: &OldSide,
    codecs: &[Spec],
    resources: &Resources,
    passes: &mut Passes<'_>,
) -> Result<NewSide, Error> {
    let Some(image) = find(Side::New, input, resources)? else {
        let length = input.size();
        let steps = if length > 0 { vec![Step::Raw { length }] } else { Vec::new() };
        return Ok(NewSide { plain: Plain::itself(input), codec: None, steps, counts: BlockCounts::default() });
    };
    let stated = probe::candidates(&image.codec);
    let codec = probe::codec(input, &image, if codecs.is_empty() { &stated } else { codecs }, &resources.cancel)?;
    let FoundImage { codec: decoded, block_size, blocks } = image;
    let blocks = Arc::new(blocks);
    let task = ScanTask {
        side: Side::New,
        input: Arc::clone(input),
        codec: decoded.clone(),
        block_size,
        blocks: Arc::clone(&blocks),
        reproducers: Some(Reproducers { codec: codec.clone(), known: old.known.clone() }),
    };
    let mut job = BlockScan::new(task, input.size(), resources, passes)?;
    let mut scan = NewScan {
        spill: Spill::new(resources.scratch.as_deref())?,
        blocks: Arc::clone(&blocks),
        known: old.known.clone(),
        steps: Vec::new(),
        plain: Vec::new(),
        next: 0,
        counts: BlockCounts::default(),
        passes,
    };
    job.run(&mut scan)?;
    let NewScan { spill, steps, plain, counts, .. } = scan;
    let plain = plain_of(input, spill, Form::new(plain, input.size()), &decoded, block_size)?;
    let codec = codec.filter(|_| counts.encoded > 0).map(|codec| (codec, block_size));
    Ok(NewSide { plain, codec, steps, counts })
}

/// Returns the plain form from the temporary file. Without a temporary file, it is decoded where it is read.
fn plain_of(
    input: &Arc<dyn Input>,
    spill: Option<Spill<'_>>,
    form: Form,
    codec: &Spec,
    block_size: BlockSize,
) -> Result<Plain, Error> {
    Ok(match spill {
        Some(spill) => Plain::stored(spill.finish()?, form),
        None => Plain::decoded(input, form, codec, block_size),
    })
}

/// Decodes all blocks of a file on the workers.
struct BlockScan<'j> {
    map: OrderedMap<ScanTask>,
    size: u64,
    block_size: BlockSize,
    blocks: Arc<Vec<Block>>,
    cancel: &'j CancelToken,
}

impl<'j> BlockScan<'j> {
    fn new(
        task: ScanTask,
        size: u64,
        resources: &'j Resources,
        passes: &mut Passes<'_>,
    ) -> Result<BlockScan<'j>, Error> {
        let span = task.span_memory();
        let block_size = task.block_size;
        let blocks = Arc::clone(&task.blocks);
        let demand = Demand {
            fixed: blocks.len() as u64 * (2 * size_of::<Block>() as u64 + KnownBlocks::BLOCK_MEMORY),
            per_worker: task.memory(),
            window: span,
            window_per_worker: span,
        };
        let what = "decoding an image with one worker";
        let granted = passes.plan(demand, 4 * span, what, resources)?;
        let map = resources.map(task, granted)?;
        passes.begin("decoding", size);
        Ok(BlockScan { map, size, block_size, blocks, cancel: &resources.cancel })
    }

    fn run(&mut self, consumer: &mut dyn Consumer<ScanTask>) -> Result<(), Error> {
        let BlockScan { map, size, block_size, blocks, cancel } = self;
        let ran = ScanTask::run(*size, *block_size, blocks, map, consumer, cancel);
        ran.map_err(|error| of_fault(map.earlier_error(consumer, error)))
    }
}

/// Consumes the spans of the old image.
struct OldScan<'s, 'o> {
    spill: Option<Spill<'s>>,
    /// The decoded length of each listed block in bytes; 0 if the block cannot be decoded.
    found: Vec<u32>,
    /// The digests of the blocks that can be decoded.
    digests: Vec<ContentDigest>,
    passes: &'s mut Passes<'o>,
}

impl Consumer<ScanTask> for OldScan<'_, '_> {
    fn consume(&mut self, scanned: Scanned) -> Result<(), Error> {
        self.found.extend(scanned.blocks.iter().map(|block| block.plain));
        let decoded = scanned.blocks.iter().filter(|block| block.reproduction != Reproduction::Raw);
        self.digests.extend(decoded.map(|block| block.digest));
        self.passes.show(scanned.span.bytes.end);
        self.spill.as_mut().map_or(Ok(()), |spill| spill.append(&scanned.plain))
    }
}

/// Consumes the spans of the new image.
struct NewScan<'s, 'o> {
    spill: Option<Spill<'s>>,
    blocks: Arc<Vec<Block>>,
    known: Option<Arc<KnownBlocks>>,
    steps: Vec<Step>,
    /// The blocks that the plain form has decoded.
    plain: Vec<Block>,
    /// The number of the block that follows the last kept block of the old image.
    next: u64,
    counts: BlockCounts,
    passes: &'s mut Passes<'o>,
}

impl NewScan<'_, '_> {
    fn raw(&mut self, length: u64) {
        if length > 0 {
            join(&mut self.steps, Step::Raw { length });
        }
    }

    fn block(
        &mut self,
        block: &Block,
        reproduction: Reproduction,
        plain: u32,
        digest: &ContentDigest,
    ) -> Result<(), Error> {
        if reproduction == Reproduction::Raw {
            self.counts.raw += 1;
            self.raw(block.stored.into());
            return Ok(());
        }
        self.plain.push(block.with_plain(plain));
        if reproduction == Reproduction::Encoded {
            self.counts.encoded += 1;
            let kind = if block.is_metadata() { BlockKind::Metadata } else { BlockKind::Data };
            join(&mut self.steps, Step::Encode { kind, length: plain, count: 1 });
            return Ok(());
        }
        self.counts.kept += 1;
        let found = self.known.as_ref().and_then(|known| known.find(digest, plain, self.next));
        let first = found.ok_or_else(|| Error::internal("a block of the old image is gone".into()))?;
        self.next = first + 1;
        join(&mut self.steps, Step::Keep { first, count: 1 });
        Ok(())
    }
}

impl Consumer<ScanTask> for NewScan<'_, '_> {
    fn consume(&mut self, scanned: Scanned) -> Result<(), Error> {
        let blocks = Arc::clone(&self.blocks);
        let mut at = scanned.span.bytes.start;
        for (block, found) in blocks[scanned.span.blocks.clone()].iter().zip(&scanned.blocks) {
            self.raw(block.at - at);
            self.block(block, found.reproduction, found.plain, &found.digest)?;
            at = block.end();
        }
        self.raw(scanned.span.bytes.end - at);
        self.passes.show(scanned.span.bytes.end);
        self.spill.as_mut().map_or(Ok(()), |spill| spill.append(&scanned.plain))
    }
}
