//! Reads the data area of a base once, in order, and decodes all of its blocks on the workers.

use packline_codec::{Decoder, Spec};
use packline_engine::{Config, Consumer, OrderedMap, Task};
use packline_runtime::{Buffer, Buffers, WorkFault, of_fault};

use super::places::{Entry, Places};
use crate::read::{BlockPlace, Image, ReadError};
use crate::{BlockSize, Options};

/// Minimum number of bytes to read at a time.
const SEGMENT: usize = 256 << 10;
/// Memory of a decoder beyond the need of blocks of our encoder, bytes: other encoders may declare larger dictionaries.
const DECODER_SLACK: usize = 8 << 20;

/// All blocks of a base.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// Decoded blocks, in the order of the file.
    pub(super) entries: Vec<Entry>,
    /// CRC-32 of the data area.
    pub(super) checksum: u32,
    /// Blocks that could not be decoded, or have parameters that the new image's codec does not have.
    pub(super) damaged: u64,
}

/// Reads the data area with blocks at `places`.
pub(super) fn scan(image: &Image, options: &Options, places: &Places, engine: &Config) -> Result<Scanned, ReadError> {
    let task = DecodeTask { codec: options.codec.clone(), block_size: options.block_size };
    let mut map = OrderedMap::new(task, engine.clone()).map_err(WorkFault::workers)?;
    let mut scanned = Scanned { entries: Vec::with_capacity(places.list().len()), ..Scanned::default() };
    let pool = Buffers::new(SEGMENT.max(options.block_size.bytes()), engine.budget);
    let mut at = image.data_start();
    let end = image.superblock().inode_table;
    let mut rest = places.list();
    let mut checksum = crc32fast::Hasher::new();
    while at < end {
        let (count, cut) = segment(rest, (at + pool.buffer_size() as u64).min(end));
        let mut buffer = pool.take(map.reserve(pool.buffer_size(), &mut scanned).map_err(of_fault)?);
        let bytes = &mut buffer.bytes_mut()[..(cut - at) as usize];
        image.store().read(at, bytes)?;
        checksum.update(bytes);
        let (now, later) = rest.split_at(count);
        map.submit(Segment { start: at, buffer, places: now.to_vec() }, &mut scanned).map_err(of_fault)?;
        at = cut;
        rest = later;
    }
    map.drain(&mut scanned).map_err(of_fault)?;
    Ok(Scanned { checksum: checksum.finalize(), ..scanned })
}

/// Returns the number of blocks that end at or before byte `limit`, and a cut that is inside no block.
fn segment(places: &[BlockPlace], limit: u64) -> (usize, u64) {
    let count = places.partition_point(|place| place.offset + u64::from(place.stored) <= limit);
    (count, places.get(count).map_or(limit, |next| next.offset.min(limit)))
}

/// Consecutive bytes of the data area.
#[derive(Debug)]
struct Segment {
    /// Offset of its first byte in the image.
    start: u64,
    buffer: Buffer,
    places: Vec<BlockPlace>,
}

impl Segment {
    fn stored(&self, place: &BlockPlace) -> &[u8] {
        let at = (place.offset - self.start) as usize;
        &self.buffer.bytes()[at..at + place.stored as usize]
    }
}

/// Decodes and hashes the blocks of a segment.
#[derive(Debug)]
struct DecodeTask {
    codec: Spec,
    block_size: BlockSize,
}

/// A decoder, and its output.
struct Tool {
    codec: Spec,
    decoder: Box<dyn Decoder>,
    decoded: Vec<u8>,
}

impl Task for DecodeTask {
    type In = Segment;
    /// `None` for a block that cannot be reused.
    type Out = Vec<Option<Entry>>;
    type Error = ReadError;
    type Tool = Result<Tool, ReadError>;

    fn tool(&self) -> Self::Tool {
        let decoder = self
            .codec
            .decoder(self.block_size.bytes(), self.decoder_memory())
            .map_err(|error| ReadError::unsupported(error.to_string(), "a decoder for the image's compressor"))?;
        Ok(Tool { codec: self.codec.clone(), decoder, decoded: vec![0; self.block_size.bytes()] })
    }

    fn run(&self, tool: &mut Self::Tool, segment: Segment) -> Result<Self::Out, ReadError> {
        let tool = tool.as_mut().map_err(|error| error.clone())?;
        Ok(segment.places.iter().map(|place| tool.entry(place, segment.stored(place))).collect())
    }

    fn bytes_in(&self, segment: &Segment) -> u64 {
        segment.places.iter().map(|place| u64::from(place.stored)).sum()
    }
}

impl DecodeTask {
    /// For xz, at most the memory that readers of the new image reserve.
    fn decoder_memory(&self) -> usize {
        let own = self.codec.footprint(self.block_size.bytes()).decoder;
        if matches!(self.codec, Spec::Xz(_)) { own } else { 2 * own + DECODER_SLACK }
    }
}

impl Tool {
    fn entry(&mut self, place: &BlockPlace, bytes: &[u8]) -> Option<Entry> {
        if !place.compressed {
            return Some(Entry::of(*place, bytes, bytes));
        }
        self.codec.check_parameters(self.decoded.len(), bytes).ok()?;
        let length = self.decoder.decompress(bytes, &mut self.decoded).ok()?;
        Some(Entry::of(*place, bytes, &self.decoded[..length]))
    }
}

impl Consumer<DecodeTask> for Scanned {
    fn consume(&mut self, entries: Vec<Option<Entry>>) -> Result<(), ReadError> {
        self.damaged += entries.iter().filter(|entry| entry.is_none()).count() as u64;
        self.entries.extend(entries.into_iter().flatten());
        Ok(())
    }
}
