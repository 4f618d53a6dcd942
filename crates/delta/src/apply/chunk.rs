//! The tasks of the workers: decompress the literals of groups; assemble chunks of NEW, and encode their blocks.

use std::sync::Arc;

use packline_codec::{Encoder, Outcome, ReferenceDecoder};
use packline_engine::{Permit, Task};
use packline_runtime::{Input, TaskError};
use packline_squashfs::encode_metadata;

use super::codec::BlockCodec;
use super::source::{DecodedGroup, Source};
use crate::format::group::Group;
use crate::format::part::Part;
use crate::format::recipe::BlockKind;
use crate::{Error, Side};

/// A group with its compressed literals.
pub(super) struct StoredGroup {
    pub(super) group: Group,
    pub(super) literals: Part,
    pub(super) permit: Permit,
}

/// Decompresses the literals of groups.
pub(super) struct GroupTask {
    /// The plain form of OLD.
    pub(super) old: Arc<dyn Input>,
}

impl Task for GroupTask {
    type In = StoredGroup;
    type Out = DecodedGroup;
    type Error = Error;
    type Tool = ReferenceDecoder;

    fn tool(&self) -> ReferenceDecoder {
        ReferenceDecoder::default()
    }

    fn run(&self, decoder: &mut ReferenceDecoder, stored: StoredGroup) -> Result<DecodedGroup, Error> {
        let StoredGroup { group, literals, permit } = stored;
        let reference = read_ranges(self.old.as_ref(), Side::Old, group.reference(self.old.size()))?;
        let literals = literals.content(decoder, &reference)?;
        Ok(DecodedGroup { group, literals, _permit: permit })
    }
}

/// Reads the bytes of some ranges, one after another.
pub(crate) fn read_ranges(
    input: &dyn Input,
    side: Side,
    ranges: impl IntoIterator<Item = std::ops::Range<u64>>,
) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    for range in ranges {
        let start = bytes.len();
        bytes.resize(start + (range.end - range.start) as usize, 0);
        input.read_at(range.start, &mut bytes[start..]).map_err(Error::input(side))?;
    }
    Ok(bytes)
}

/// Consecutive bytes of NEW, to be assembled.
pub(super) struct Chunk {
    pub(super) sources: Vec<Source>,
    /// The bytes of all sources.
    pub(super) length: usize,
    /// The kind of block, if the bytes are a block that is encoded.
    pub(super) encode: Option<BlockKind>,
    /// Reserves memory for the plain and the encoded bytes.
    pub(super) permit: Permit,
}

/// The bytes of a chunk.
pub(super) struct FinishedChunk {
    pub(super) bytes: Vec<u8>,
    pub(super) _permit: Permit,
}

/// Assembles chunks.
pub(super) struct ChunkTask {
    pub(super) old: Arc<dyn Input>,
    /// The plain form of OLD.
    pub(super) plain: Arc<dyn Input>,
    pub(super) codec: Option<BlockCodec>,
}

/// The encoders of a worker, created at first use.
#[derive(Default)]
pub(super) struct Encoders {
    data: Option<Box<dyn Encoder>>,
    metadata: Option<Box<dyn Encoder>>,
}

impl ChunkTask {
    fn assemble(&self, chunk: &Chunk) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::with_capacity(chunk.length);
        for source in &chunk.sources {
            let start = bytes.len();
            match source {
                Source::Literals(group, range) => bytes.extend_from_slice(&group.literals[range.clone()]),
                Source::Plain(range) => {
                    bytes.resize(start + (range.end - range.start) as usize, 0);
                    self.plain.read_at(range.start, &mut bytes[start..]).map_err(Error::input(Side::Old))?;
                }
                Source::Stored(range) => {
                    bytes.resize(start + (range.end - range.start) as usize, 0);
                    self.old.read_at(range.start, &mut bytes[start..]).map_err(Error::input(Side::Old))?;
                }
            }
        }
        Ok(bytes)
    }

    fn encode(&self, encoders: &mut Encoders, kind: BlockKind, plain: Vec<u8>) -> Result<Vec<u8>, Error> {
        let missing = || Error::internal("a block without a codec".into());
        let BlockCodec { spec, block_size } = self.codec.as_ref().ok_or_else(missing)?;
        match kind {
            BlockKind::Data => {
                let encoder = get_or_create(&mut encoders.data, || spec.encoder(block_size.bytes()))?;
                let mut out = vec![0; plain.len()];
                match encoder.compress(&plain, &mut out)? {
                    Outcome::Smaller(size) => out.truncate(size),
                    Outcome::NotSmaller => out = plain,
                }
                Ok(out)
            }
            BlockKind::Metadata => {
                let encoder = get_or_create(&mut encoders.metadata, || spec.metadata_encoder())?;
                Ok(encode_metadata(encoder, &plain)?)
            }
        }
    }
}

type NewEncoder = Result<Box<dyn Encoder>, packline_codec::CodecError>;

fn get_or_create(
    slot: &mut Option<Box<dyn Encoder>>,
    create: impl FnOnce() -> NewEncoder,
) -> Result<&mut dyn Encoder, Error> {
    Ok(match slot {
        Some(encoder) => encoder.as_mut(),
        slot => slot.insert(create()?).as_mut(),
    })
}

impl Task for ChunkTask {
    type In = Chunk;
    type Out = FinishedChunk;
    type Error = Error;
    type Tool = Encoders;

    fn tool(&self) -> Encoders {
        Encoders::default()
    }

    fn run(&self, encoders: &mut Encoders, chunk: Chunk) -> Result<FinishedChunk, Error> {
        let plain = self.assemble(&chunk)?;
        let bytes = match chunk.encode {
            Some(kind) => self.encode(encoders, kind, plain)?,
            None => plain,
        };
        Ok(FinishedChunk { bytes, _permit: chunk.permit })
    }

    fn bytes_in(&self, chunk: &Chunk) -> u64 {
        chunk.length as u64
    }

    fn bytes_out(&self, made: &FinishedChunk) -> u64 {
        made.bytes.len() as u64
    }
}
