//! Reads and decodes all blocks of a base on the workers.

use packline_cache::{Cluster, ContentDigest};
use packline_codec::{BareCodec, BareDecoder, BlockPart};
use packline_engine::{Config, Consumer, OrderedMap, Task};
use packline_runtime::{WorkFault, of_fault};
use packline_volume::ReadError;

use super::KnownBlock;
use super::segments::{Segment, Segments};
use crate::Options;
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
    let mut job = Vec::new();
    let mut bytes = 0;
    for (number, segment) in (0..).zip(segments.list()) {
        bytes += u64::from(segment.stored);
        job.push((number, *segment, segments.clusters(segment).to_vec()));
        if bytes >= JOB_BYTES {
            map.submit(std::mem::take(&mut job), &mut scanned).map_err(of_fault)?;
            bytes = 0;
        }
    }
    map.submit(job, &mut scanned).map_err(of_fault)?;
    map.drain(&mut scanned).map_err(of_fault)?;
    Ok(scanned)
}

/// Decodes and hashes segments.
#[derive(Debug)]
struct DecodeTask {
    image: Image,
    /// The codec of the new image, whose decoder must decode each block.
    codec: BareCodec,
    has_clusters: bool,
}

/// A decoder, and its input and output.
struct Tool {
    decoder: BareDecoder,
    stored: Vec<u8>,
    content: Vec<u8>,
}

impl Task for DecodeTask {
    /// Numbers, segments and their clusters.
    type In = Vec<(u32, Segment, Vec<Cluster>)>;
    /// `None` for a segment that cannot be reused.
    type Out = Vec<Option<KnownBlock>>;
    type Error = ReadError;
    type Tool = Result<Tool, ReadError>;

    fn tool(&self) -> Self::Tool {
        let decoder = self.codec.decoder();
        let decoder = decoder.map_err(|error| ReadError::unsupported(error.to_string(), "a decoder for the image"))?;
        Ok(Tool { decoder, stored: Vec::new(), content: Vec::new() })
    }

    fn run(&self, tool: &mut Self::Tool, job: Self::In) -> Result<Self::Out, ReadError> {
        let tool = tool.as_mut().map_err(|error| error.clone())?;
        job.iter().map(|(number, segment, clusters)| self.block(tool, *number, segment, clusters)).collect()
    }

    fn bytes_in(&self, job: &Self::In) -> u64 {
        job.iter().map(|(_, segment, _)| u64::from(segment.stored)).sum()
    }
}

impl DecodeTask {
    fn block(
        &self,
        tool: &mut Tool,
        number: u32,
        segment: &Segment,
        clusters: &[Cluster],
    ) -> Result<Option<KnownBlock>, ReadError> {
        tool.stored.resize(segment.stored as usize, 0);
        self.image.contents().store().read(segment.offset, &mut tool.stored)?;
        tool.content.clear();
        let mut at = 0;
        for cluster in clusters {
            let end = at + cluster.size() as usize;
            if tool.decode(cluster, at..end, self.has_clusters).is_none() {
                return Ok(None);
            }
            at = end;
        }
        let content = ContentDigest::of(&tool.content);
        let stored = if segment.is_compressed { ContentDigest::of(&tool.stored) } else { content };
        Ok(Some(KnownBlock { content, stored, segment: number }))
    }
}

impl Tool {
    /// Appends the content of a cluster. Clusters of whole blocks start with zeros.
    fn decode(&mut self, cluster: &Cluster, range: std::ops::Range<usize>, is_padded: bool) -> Option<()> {
        let stored = self.stored.get(range)?;
        let length = cluster.length as usize;
        if !cluster.is_compressed() {
            let (content, padding) = stored.split_at_checked(length)?;
            self.content.extend_from_slice(content);
            return padding.iter().all(|byte| *byte == 0).then_some(());
        }
        let zeros = stored.iter().take(BLOCK as usize).take_while(|byte| **byte == 0).count();
        let zeros_most = if is_padded { BLOCK as usize - 1 } else { 0 };
        let coded = stored.get(zeros..).filter(|_| zeros <= zeros_most)?;
        let start = self.content.len();
        self.content.resize(start + length, 0);
        self.decoder.fill(coded, &mut self.content[start..], BlockPart::Whole).ok()
    }
}

impl Consumer<DecodeTask> for Scanned {
    fn consume(&mut self, blocks: Vec<Option<KnownBlock>>) -> Result<(), ReadError> {
        self.damaged += blocks.iter().filter(|block| block.is_none()).count() as u64;
        self.blocks.extend(blocks.into_iter().flatten());
        Ok(())
    }
}
