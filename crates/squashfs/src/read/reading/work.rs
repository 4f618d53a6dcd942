//! The workers' task for reading: fetches stored blocks and decodes them.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use packline_engine::{Permit, Task};

use super::slot::{Decoded, Piece, Product};
use crate::buffer::Pool;
use crate::read::block::check_length;
use crate::read::{BlockDecoder, BlockPlace, Image, ReadError};

/// One block of a job.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) place: BlockPlace,
    /// Destination of its bytes.
    pub(super) range: Range<usize>,
    /// Whether it must fill the range.
    pub(super) exact: bool,
}

/// Blocks to decode into one buffer.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) blocks: Vec<Wanted>,
    pub(super) permit: Permit,
    pub(super) pool: Arc<Pool>,
}

/// Receives blocks when they have been decoded, on any thread and in any order; one that several files share more than once.
pub trait DecodedBlocks: Debug + Send + Sync {
    /// `stored`: the bytes at the block's place, which decoded to `content`.
    fn decoded(&self, place: BlockPlace, stored: &[u8], content: &[u8]);
}

/// Decodes the blocks of a job.
#[derive(Debug)]
pub(super) struct DecodeTask {
    pub(super) image: Image,
    pub(super) watch: Option<Arc<dyn DecodedBlocks>>,
}

impl Task for DecodeTask {
    type In = Job;
    type Out = Product;
    type Error = ReadError;
    type Tool = Result<BlockDecoder, ReadError>;

    fn tool(&self) -> Self::Tool {
        BlockDecoder::new(&self.image)
    }

    fn run(&self, tool: &mut Self::Tool, job: Job) -> Result<Product, ReadError> {
        let decoder = tool.as_mut().map_err(|error| error.clone())?;
        Ok(decode(decoder, job, self.watch.as_deref()))
    }

    fn bytes_in(&self, job: &Job) -> u64 {
        job.blocks.iter().map(|wanted| u64::from(wanted.place.stored)).sum()
    }

    fn bytes_out(&self, product: &Product) -> u64 {
        product.pieces.iter().filter(|piece| piece.error.is_none()).map(|piece| piece.range.len() as u64).sum()
    }
}

fn decode(decoder: &mut BlockDecoder, job: Job, watch: Option<&dyn DecodedBlocks>) -> Product {
    let mut buffer = job.pool.take(Permit::detached(0));
    let out = buffer.bytes_mut();
    let mut pieces = Vec::with_capacity(job.blocks.len());
    for group in job.blocks.chunk_by(adjoin) {
        decode_group(decoder, group, out, watch, &mut pieces);
    }
    Product { decoded: Decoded::new(buffer, job.permit), pieces }
}

/// Whether two blocks are adjacent.
fn adjoin(one: &Wanted, other: &Wanted) -> bool {
    one.place.offset + u64::from(one.place.stored) == other.place.offset
}

/// Decodes adjacent blocks with one read. If that fails each is read separately, so that a fault does not affect its neighbours.
fn decode_group(
    decoder: &mut BlockDecoder,
    group: &[Wanted],
    out: &mut [u8],
    watch: Option<&dyn DecodedBlocks>,
    pieces: &mut Vec<Piece>,
) {
    let stored: usize = group.iter().map(|wanted| wanted.place.stored as usize).sum();
    let together = group.len() > 1 && decoder.load(group[0].place.offset, stored).is_ok();
    let mut at = 0;
    for wanted in group {
        let target = &mut out[wanted.range.clone()];
        let length = match together {
            true => decoder.unpack(wanted.place, at, target),
            false => decoder.fragment_into(wanted.place, target),
        };
        let piece = piece(wanted, length);
        if let (Some(watch), None) = (watch, &piece.error) {
            let (place, content) = (wanted.place, &out[piece.range.clone()]);
            let loaded = decoder.loaded(if together { at } else { 0 }, place);
            watch.decoded(place, if place.compressed { loaded } else { content }, content);
        }
        pieces.push(piece);
        at += wanted.place.stored as usize;
    }
}

fn piece(wanted: &Wanted, length: Result<usize, ReadError>) -> Piece {
    let whole = wanted.range.len();
    let exact = |length| if wanted.exact { check_length(wanted.place, length, whole) } else { Ok(()) };
    let start = wanted.range.start;
    match length.and_then(|length| exact(length).map(|()| length)) {
        Ok(length) => Piece { range: start..start + length, error: None },
        Err(error) => Piece { range: wanted.range.clone(), error: Some(error) },
    }
}
