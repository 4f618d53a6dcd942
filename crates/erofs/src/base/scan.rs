//! Reads and decodes all blocks of a base on the workers.

use packline_cache::{Cluster, ContentHasher};
use packline_codec::{BareCodec, BareDecoder, BlockPart};
use packline_engine::{Config, Consumer, OrderedMap, Permit, Task};
use packline_runtime::{WorkFault, of_fault};
use packline_volume::ReadError;

use super::KnownBlock;
use super::segments::{Segment, Segments};
use crate::Options;
use crate::format::cluster::without_padding;
use crate::options::BLOCK;
use crate::read::Image;
use crate::read::map::window::ReadBytes;

/// Bytes of stored blocks that a worker reads for one job.
const JOB_BYTES: u64 = 512 << 10;

/// All blocks of a base.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub(super) blocks: Vec<KnownBlock>,
    /// Blocks that could not be decoded.
    pub(super) damaged: u64,
}

/// Reads and decodes all segments.
pub(super) fn scan(
    image: &Image,
    options: &Options,
    segments: &Segments,
    engine: &Config,
) -> Result<Scanned, ReadError> {
    let Some(codec) = options.bare_codec() else { return Ok(Scanned::default()) };
    let task = DecodeTask { image: image.clone(), codec, has_clusters: segments.has_clusters() };
    let mut map = OrderedMap::new(task, engine.clone()).map_err(WorkFault::workers)?;
    let mut scanned = Scanned { blocks: Vec::with_capacity(segments.list().len()), damaged: 0 };
    let mut items = Vec::new();
    let mut bytes = 0;
    for (number, segment) in (0..).zip(segments.list()) {
        bytes += u64::from(segment.stored);
        items.push(Item { number, segment: *segment, clusters: segments.clusters(segment).to_vec() });
        if bytes >= JOB_BYTES {
            submit(&mut map, std::mem::take(&mut items), &mut scanned)?;
            bytes = 0;
        }
    }
    submit(&mut map, items, &mut scanned)?;
    map.drain(&mut scanned).map_err(of_fault)?;
    Ok(scanned)
}

/// Waits until there is memory for a job: its items, and the content of a cluster. The workers have memory for a stored cluster.
fn submit(map: &mut OrderedMap<DecodeTask>, items: Vec<Item>, scanned: &mut Scanned) -> Result<(), ReadError> {
    let of_item = |item: &Item| size_of::<Item>() + size_of_val(item.clusters.as_slice());
    let content = items.iter().flat_map(|item| &item.clusters).map(|cluster| cluster.length as usize).max();
    let memory = items.iter().map(of_item).sum::<usize>() + content.unwrap_or(0);
    let permit = map.reserve(memory, scanned).map_err(of_fault)?;
    map.submit(Job { items, permit }, scanned).map_err(of_fault)
}

/// Segments to decode.
#[derive(Debug)]
struct Job {
    items: Vec<Item>,
    permit: Permit,
}

/// A segment to decode.
#[derive(Debug)]
struct Item {
    number: u32,
    segment: Segment,
    clusters: Vec<Cluster>,
}

/// Decodes and hashes segments.
#[derive(Debug)]
struct DecodeTask {
    image: Image,
    /// The codec of the new image, whose decoder must decode each block.
    codec: BareCodec,
    has_clusters: bool,
}

/// A decoder, and its input: a cluster as it is stored.
struct Tool {
    decoder: BareDecoder,
    stored: Vec<u8>,
}

impl Task for DecodeTask {
    type In = Job;
    /// `None` for a segment that cannot be reused.
    type Out = Vec<Option<KnownBlock>>;
    type Error = ReadError;
    type Tool = Result<Tool, ReadError>;

    fn tool(&self) -> Self::Tool {
        let decoder = self.codec.decoder();
        let decoder = decoder.map_err(|error| ReadError::unsupported(error.to_string(), "a decoder for the image"))?;
        Ok(Tool { decoder, stored: Vec::new() })
    }

    fn run(&self, tool: &mut Self::Tool, Job { items, permit }: Job) -> Result<Self::Out, ReadError> {
        let tool = tool.as_mut().map_err(|error| error.clone())?;
        let mut content = Vec::new();
        let blocks = items.iter().map(|item| self.block(tool, item, &mut content)).collect();
        drop((items, content));
        drop(permit);
        blocks
    }

    fn bytes_in(&self, job: &Self::In) -> u64 {
        job.items.iter().map(|item| u64::from(item.segment.stored)).sum()
    }
}

impl DecodeTask {
    /// Decodes a segment, one cluster at a time.
    fn block(&self, tool: &mut Tool, item: &Item, content: &mut Vec<u8>) -> Result<Option<KnownBlock>, ReadError> {
        let Item { number, segment, clusters } = item;
        let mut of_stored = ContentHasher::default();
        let mut of_content = ContentHasher::default();
        let mut at = segment.offset;
        for (left, cluster) in (0..clusters.len()).rev().zip(clusters) {
            let is_end = left == 0 && segment.end.bytes > 0;
            let offset = if is_end { segment.end.offset } else { at };
            tool.stored.resize(cluster.size() as usize, 0);
            self.image.contents().store().read(offset, &mut tool.stored)?;
            at += u64::from(cluster.size());
            of_stored.update(&tool.stored);
            let is_padded = self.has_clusters && !is_end;
            let Some(decoded) = tool.decode(cluster, content, is_padded) else { return Ok(None) };
            of_content.update(decoded);
        }
        let content = of_content.digest();
        let stored = if segment.is_compressed { of_stored.digest() } else { content };
        Ok(Some(KnownBlock { content, stored, segment: *number }))
    }
}

impl Tool {
    /// Returns the content of the cluster that was read. Clusters of whole blocks start with zeros.
    fn decode<'t>(&'t mut self, cluster: &Cluster, content: &'t mut Vec<u8>, is_padded: bool) -> Option<&'t [u8]> {
        let length = cluster.length as usize;
        if !cluster.is_compressed() {
            let (content, padding) = self.stored.split_at_checked(length)?;
            return padding.iter().all(|byte| *byte == 0).then_some(content);
        }
        let coded = if is_padded { without_padding(&self.stored, BLOCK as usize)? } else { &self.stored };
        content.resize(length, 0);
        self.decoder.fill(coded, content, BlockPart::Whole).ok()?;
        Some(content)
    }
}

impl Consumer<DecodeTask> for Scanned {
    fn consume(&mut self, blocks: Vec<Option<KnownBlock>>) -> Result<(), ReadError> {
        self.damaged += blocks.iter().filter(|block| block.is_none()).count() as u64;
        self.blocks.extend(blocks.into_iter().flatten());
        Ok(())
    }
}
