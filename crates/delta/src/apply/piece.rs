//! The workers' tasks: literals of a group are decompressed; pieces of NEW are put together, and their blocks encoded.

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

/// A group as the delta has it.
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

/// The bytes of some ranges, one after the other.
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

/// Consecutive bytes of NEW.
pub(super) struct Piece {
    pub(super) sources: Vec<Source>,
    /// Bytes of all sources.
    pub(super) length: usize,
    /// Whether they are one block that is encoded.
    pub(super) encode: Option<BlockKind>,
    /// Its memory, twice.
    pub(super) permit: Permit,
}

/// The bytes of a piece.
pub(super) struct MadePiece {
    pub(super) bytes: Vec<u8>,
    pub(super) _permit: Permit,
}

/// Puts pieces together.
pub(super) struct PieceTask {
    /// OLD, and its plain form.
    pub(super) old: Arc<dyn Input>,
    pub(super) plain: Arc<dyn Input>,
    pub(super) codec: Option<BlockCodec>,
}

/// Encoders of a worker, each made when it is first needed.
#[derive(Default)]
pub(super) struct Encoders {
    data: Option<Box<dyn Encoder>>,
    metadata: Option<Box<dyn Encoder>>,
}

impl PieceTask {
    fn put_together(&self, piece: &Piece) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::with_capacity(piece.length);
        for source in &piece.sources {
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
                let encoder = made(&mut encoders.data, || spec.encoder(block_size.bytes()))?;
                let mut out = vec![0; plain.len()];
                match encoder.compress(&plain, &mut out)? {
                    Outcome::Smaller(size) => out.truncate(size),
                    Outcome::NotSmaller => out = plain,
                }
                Ok(out)
            }
            BlockKind::Metadata => {
                let encoder = made(&mut encoders.metadata, || spec.metadata_encoder())?;
                Ok(encode_metadata(encoder, &plain)?)
            }
        }
    }
}

type MadeEncoder = Result<Box<dyn Encoder>, packline_codec::CodecError>;

fn made(place: &mut Option<Box<dyn Encoder>>, make: impl FnOnce() -> MadeEncoder) -> Result<&mut dyn Encoder, Error> {
    Ok(match place {
        Some(encoder) => encoder.as_mut(),
        place => place.insert(make()?).as_mut(),
    })
}

impl Task for PieceTask {
    type In = Piece;
    type Out = MadePiece;
    type Error = Error;
    type Tool = Encoders;

    fn tool(&self) -> Encoders {
        Encoders::default()
    }

    fn run(&self, encoders: &mut Encoders, piece: Piece) -> Result<MadePiece, Error> {
        let plain = self.put_together(&piece)?;
        let bytes = match piece.encode {
            Some(kind) => self.encode(encoders, kind, plain)?,
            None => plain,
        };
        Ok(MadePiece { bytes, _permit: piece.permit })
    }

    fn bytes_in(&self, piece: &Piece) -> u64 {
        piece.length as u64
    }

    fn bytes_out(&self, made: &MadePiece) -> u64 {
        made.bytes.len() as u64
    }
}
