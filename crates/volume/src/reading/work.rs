//! The workers' task for reading: fetches stored blocks and decodes them.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use packline_engine::{Permit, Task};
use packline_runtime::Buffers;

use super::slot::{Decoded, DecodedPart, Product};
use crate::{ReadError, SharedVolume, Unit, UnitDecoder, check_length};

/// One unit of a job.
#[derive(Debug, Clone)]
pub(super) struct JobUnit {
    pub(super) unit: Unit,
    /// Destination of its bytes.
    pub(super) range: Range<usize>,
    /// The part of an own unit that the file needs; the unit must then fill the range. `None` for a shared unit, which may be shorter.
    pub(super) part: Option<Range<usize>>,
}

/// Units to decode into one buffer.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) units: Vec<JobUnit>,
    pub(super) permit: Permit,
    pub(super) pool: Arc<Buffers>,
}

/// Receives decoded units, on any thread and in any order. A unit that several files share may come more than once.
pub trait BlockListener: Debug + Send + Sync {
    /// `stored`: the stored bytes of the unit, which decoded to `content`.
    fn decoded(&self, unit: Unit, stored: &[u8], content: &[u8]);
}

/// Decodes the units of a job.
#[derive(Debug)]
pub(super) struct DecodeTask {
    pub(super) volume: SharedVolume,
    pub(super) listener: Option<Arc<dyn BlockListener>>,
}

impl Task for DecodeTask {
    type In = Job;
    type Out = Product;
    type Error = ReadError;
    type Tool = Result<Box<dyn UnitDecoder>, ReadError>;

    fn tool(&self) -> Self::Tool {
        self.volume.decoder()
    }

    fn run(&self, tool: &mut Self::Tool, job: Job) -> Result<Product, ReadError> {
        let decoder = tool.as_mut().map_err(|error| error.clone())?;
        Ok(decode(decoder.as_mut(), job, self.listener.as_deref()))
    }

    fn bytes_in(&self, job: &Job) -> u64 {
        job.units.iter().map(|wanted| u64::from(wanted.unit.stored)).sum()
    }

    fn bytes_out(&self, product: &Product) -> u64 {
        product.pieces.iter().filter(|piece| piece.error.is_none()).map(|piece| piece.range.len() as u64).sum()
    }
}

fn decode(decoder: &mut dyn UnitDecoder, job: Job, listener: Option<&dyn BlockListener>) -> Product {
    let mut buffer = job.pool.take(Permit::detached(0));
    let out = buffer.bytes_mut();
    let mut pieces = Vec::with_capacity(job.units.len());
    for group in job.units.chunk_by(adjoin) {
        decode_group(decoder, group, out, listener, &mut pieces);
    }
    Product { decoded: Decoded::new(buffer, job.permit), pieces }
}

/// Whether two units are adjacent.
fn adjoin(one: &JobUnit, other: &JobUnit) -> bool {
    one.unit.offset + u64::from(one.unit.stored) == other.unit.offset
}

/// Decodes adjacent units with one read. If the read fails, each unit is read separately, so that a fault does not affect its neighbours.
fn decode_group(
    decoder: &mut dyn UnitDecoder,
    group: &[JobUnit],
    out: &mut [u8],
    listener: Option<&dyn BlockListener>,
    pieces: &mut Vec<DecodedPart>,
) {
    let stored: usize = group.iter().map(|wanted| wanted.unit.stored as usize).sum();
    let together = group.len() > 1 && decoder.load(group[0].unit.offset, stored).is_ok();
    let mut at = 0;
    for wanted in group {
        let target = &mut out[wanted.range.clone()];
        let length =
            if together { decoder.decode_loaded(wanted.unit, at, target) } else { decoder.decode(wanted.unit, target) };
        let piece = decoded_part(wanted, &length);
        if let (Some(listener), None, Ok(decoded)) = (listener, &piece.error, length) {
            let unit = wanted.unit;
            let content = &out[wanted.range.start..wanted.range.start + decoded];
            let loaded = decoder.loaded(if together { at } else { 0 }, unit);
            listener.decoded(unit, if unit.is_plain() { content } else { loaded }, content);
        }
        pieces.push(piece);
        at += wanted.unit.stored as usize;
    }
}

/// Returns the result for one unit: a part of it, or all of a shared unit.
fn decoded_part(wanted: &JobUnit, length: &Result<usize, ReadError>) -> DecodedPart {
    let Range { start, end } = wanted.range;
    let range = match (&wanted.part, length) {
        (Some(part), _) => start + part.start..start + part.end,
        (None, Ok(length)) => start..start + length,
        (None, Err(_)) => start..end,
    };
    let error = match length {
        Err(error) => Some(error.clone()),
        Ok(length) if wanted.part.is_some() => check_length(wanted.unit, *length, end - start).err(),
        Ok(_) => None,
    };
    DecodedPart { range, error }
}
