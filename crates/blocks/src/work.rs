//! The tasks of the two stages: hash pieces of content, compress blocks.

use std::ops::Range;
use std::sync::Arc;

use packline_cache::ContentDigest;
use packline_codec::{Anchor, Outcome, add_anchors};
use packline_engine::{Outbox, Permit, Pipeline, Task};
use packline_runtime::{Buffer, Buffers, TaskError, is_zero};

use crate::digest::{Digest, Digester, hash};
use crate::options::EndRule;
use crate::slab::{Item, PieceKind, Slab};
use crate::written::{Chunk, Form, Hashes, Part};
use crate::{BlockContent, Cluster, ClusterSize, Coder, Coders, DataOptions, Error, STORED_BLOCK};

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
    coders: Arc<dyn Coders>,
    /// Whether results are hashed, too.
    hashes: bool,
    /// Whether the coder looks blocks up.
    looks_up: bool,
    /// Whether the image gets a checksum of all bytes in its data area.
    checksums: bool,
    /// See [`DataOptions::cluster_size`] and [`DataOptions::unit`].
    cluster_size: Option<ClusterSize>,
    unit: u32,
    ends: EndRule,
    /// Buffers for the results of jobs.
    products: Arc<Buffers>,
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
    /// Completes the last unit with zeros.
    pub(crate) fn completed(mut self, unit: usize) -> FragmentBuffer {
        let length = self.length.next_multiple_of(unit);
        self.raw.bytes_mut()[self.length..length].fill(0);
        self.length = length;
        self
    }

    /// Submits the block: to be compressed, or to be stored.
    pub(crate) fn submit(self, stored: bool, next: &mut Outbox<CompressTask>) {
        if stored {
            let FragmentBuffer { index, raw, length, .. } = self;
            next.pass(Packed::Fragment(PackedFragment::stored(index, raw, length, None)));
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
    /// The clusters of the range; empty without clusters.
    pub(crate) clusters: Vec<PackedCluster>,
    /// CRC-32 of the bytes that are stored, if the image gets a checksum.
    pub(crate) checksum: Option<u32>,
}

/// A cluster of a compressed block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackedCluster {
    pub(crate) cluster: Cluster,
    /// Its hashes, if they are wanted.
    pub(crate) hashes: Hashes,
}

/// A compressed block at the start of a buffer.
struct Compressed {
    size: usize,
    clusters: Vec<PackedCluster>,
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
    /// Length of the uncompressed block in bytes.
    pub(crate) content_length: u32,
    pub(crate) stored: bool,
    pub(crate) hashes: Option<Hashes>,
    /// The clusters of the block; empty without clusters.
    pub(crate) clusters: Vec<PackedCluster>,
    /// CRC-32 of the block, if the image gets a checksum and a worker has computed it.
    pub(crate) checksum: Option<u32>,
}

impl PackedFragment {
    /// An uncompressed fragment block.
    fn stored(index: u32, bytes: Buffer, length: usize, checksum: Option<u32>) -> PackedFragment {
        let (content_length, clusters) = (length as u32, Vec::new());
        PackedFragment { index, bytes, length, content_length, stored: true, hashes: None, clusters, checksum }
    }

    /// Returns the bytes of the block as it is stored.
    pub(crate) fn stored_bytes(&self) -> &[u8] {
        &self.bytes.bytes()[..self.length]
    }

    /// Returns the block as a part of the image from an offset on. Its hashes are not used unless parts are recorded.
    pub(crate) fn part(&self, start: u64, is_recorded: bool) -> Part {
        let stored_hash = || if is_recorded { hash(self.stored_bytes()) } else { 0 };
        let hashes = self.hashes.unwrap_or_else(|| Hashes { stored: stored_hash(), content: 0 });
        let form = if self.stored { Form::Plain } else { Form::Block { content: self.content_length } };
        Part { start, length: self.length as u32, form, hashes }
    }

    pub(crate) fn size_word(&self) -> u32 {
        size_word(self.length, self.stored)
    }
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
    type Tool = Box<dyn Coder>;

    fn tool(&self) -> Box<dyn Coder> {
        self.coders.coder()
    }

    fn run(&self, coder: &mut Box<dyn Coder>, job: Job) -> Result<Packed, Error> {
        match job {
            Job::Blocks { buffer, blocks, permit } => self.blocks(&mut **coder, buffer, blocks, permit),
            Job::Fragment(fragment) => self.fragment(&mut **coder, fragment),
            Job::Metadata { raw } => Ok(Packed::Metadata(coder.encode_metadata(raw)?)),
            Job::Check(chunk) => chunk.check(&mut **coder).map(Packed::Checked),
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
    pub(crate) fn new(options: &DataOptions, coders: Arc<dyn Coders>, window: usize) -> CompressTask {
        let products = Buffers::new(options.block_size.bytes().max(JOB_BYTES), window);
        CompressTask {
            coders,
            hashes: options.verify,
            looks_up: options.looks_up,
            checksums: options.checksum,
            cluster_size: options.cluster_size,
            unit: options.unit,
            ends: options.end_rule(),
            products,
        }
    }

    fn blocks(
        &self,
        coder: &mut dyn Coder,
        raw: Arc<Buffer>,
        blocks: Vec<BlockRef>,
        permit: Permit,
    ) -> Result<Packed, Error> {
        let mut product = self.products.take(permit);
        let mut packed = Vec::with_capacity(blocks.len());
        let mut at = 0;
        for block in blocks {
            let content = &raw.bytes()[block.range.clone()];
            let digest = self.to_look_up(block.content);
            let to = &mut product.bytes_mut()[at..at + content.len()];
            let done = self.compress(coder, &BlockContent { bytes: content, digest, parts: None }, to)?;
            let compressed = done.as_ref().map(|done| at..at + done.size);
            let result = compressed.as_ref().map(|range| &product.bytes()[range.clone()]);
            let hash = result.map_or(0, |result| self.hash(result));
            let clusters = done.map_or_else(Vec::new, |done| done.clusters);
            let stored = result.unwrap_or(content);
            let checksum = self.checksum(&stored[..stored.len() - kept_end(self.ends, &clusters, stored.len())]);
            at = compressed.as_ref().map_or(at, |range| range.end);
            packed.push(PackedBlock { block, compressed, hash, clusters, checksum });
        }
        Ok(Packed::Blocks { raw, product, blocks: packed })
    }

    fn fragment(&self, coder: &mut dyn Coder, fragment: FragmentBuffer) -> Result<Packed, Error> {
        let FragmentBuffer { index, raw, length, parts, permit } = fragment;
        let mut product = self.products.take(permit);
        let bytes = &raw.bytes()[..length];
        let content = self.hashes.then(|| Digest::of(bytes, false));
        let [digest, parts] = [content, parts].map(|digest| self.to_look_up(digest));
        let to = &mut product.bytes_mut()[..length];
        let Some(Compressed { size, clusters }) = self.compress(coder, &BlockContent { bytes, digest, parts }, to)?
        else {
            let checksum = self.checksum(bytes);
            return Ok(Packed::Fragment(PackedFragment::stored(index, raw, length, checksum)));
        };
        let result = &product.bytes()[..size];
        let hashes = Hashes { stored: self.hash(result), content: content.map_or(0, |digest| digest.bits()) };
        let checksum = self.checksum(result);
        Ok(Packed::Fragment(PackedFragment {
            index,
            bytes: product,
            length: size,
            content_length: length as u32,
            stored: false,
            hashes: Some(hashes),
            clusters,
            checksum,
        }))
    }

    /// Compresses a block; returns `None` if it does not get smaller.
    fn compress(
        &self,
        coder: &mut dyn Coder,
        block: &BlockContent<'_>,
        to: &mut [u8],
    ) -> Result<Option<Compressed>, Error> {
        let mut clusters = Vec::new();
        let outcome = match self.cluster_size {
            Some(_) => coder.compress_clusters(block, to, &mut clusters)?,
            None => coder.compress(block, to)?,
        };
        let Outcome::Smaller(size) = outcome else { return Ok(None) };
        if self.cluster_size.is_some() {
            self.check_clusters(&clusters, block.bytes.len(), size)?;
        }
        let (mut content, mut stored) = (block.bytes, &to[..size]);
        let mut hashed = |cluster: Cluster| {
            let (of_content, of_stored);
            (of_content, content) = content.split_at(cluster.length as usize);
            (of_stored, stored) = stored.split_at(cluster.size() as usize);
            PackedCluster { cluster, hashes: Hashes { stored: self.hash(of_stored), content: self.hash(of_content) } }
        };
        let clusters = clusters.into_iter().map(&mut hashed).collect();
        Ok(Some(Compressed { size, clusters }))
    }

    /// Checks what a coder made of a block of `length` bytes: other clusters would make the image unreadable.
    fn check_clusters(&self, clusters: &[Cluster], length: usize, size: usize) -> Result<(), Error> {
        let most = self.cluster_size.map_or(0, |size| size.most);
        let is_valid = |(number, cluster): (usize, &Cluster)| {
            let fits = cluster.size() > 0 && (!cluster.is_compressed() || cluster.size() <= cluster.length);
            let is_end = number + 1 == clusters.len() && self.ends.end_of(cluster.size()) == cluster.size();
            fits && cluster.length <= most && (is_end || cluster.size().is_multiple_of(self.unit.max(1)))
        };
        let sum = |value: fn(&Cluster) -> u32| clusters.iter().map(|cluster| u64::from(value(cluster))).sum::<u64>();
        let (lengths, sizes) = (sum(|cluster| cluster.length), sum(Cluster::size));
        if clusters.iter().enumerate().all(is_valid) && (lengths, sizes) == (length as u64, size as u64) {
            return Ok(());
        }
        Err(Error::internal(format!("clusters of {lengths} bytes in {sizes} for a block of {length} bytes in {size}")))
    }

    /// Without look-ups a digest may be a keyed hash.
    fn to_look_up(&self, digest: Option<Digest>) -> Option<ContentDigest> {
        digest.filter(|_| self.looks_up).map(|digest| digest.content())
    }

    fn checksum(&self, stored: &[u8]) -> Option<u32> {
        self.checksums.then(|| crc32fast::hash(stored))
    }

    /// Returns the hash of a result, or 0 if hashes are not wanted.
    fn hash(&self, bytes: &[u8]) -> u64 {
        if self.hashes { hash(bytes) } else { 0 }
    }
}

/// Returns the bytes at the end of a block of `stored` bytes that are kept: the last cluster, or the end of a block that is not compressed.
pub(crate) fn kept_end(rule: EndRule, clusters: &[PackedCluster], stored: usize) -> usize {
    rule.end_of(clusters.last().map_or(stored as u32, |last| last.cluster.size())) as usize
}

/// Returns the size word of a block of `size` bytes on disk.
pub(crate) fn size_word(size: usize, stored: bool) -> u32 {
    size as u32 | if stored { STORED_BLOCK } else { 0 }
}
