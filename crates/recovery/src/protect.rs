//! Writes recovery data.

use std::io;
use std::sync::Arc;

use packline_engine::{Permit, Task};
use packline_runtime::{Input, Observer, Pass, Progress, Resources, Sink};

use crate::code::{Encoder, TABLES};
use crate::format::footer::Footer;
use crate::format::packet::{HEAD_BYTES, Head, Kind, Params};
use crate::format::shape::UNIT;
use crate::format::table;
use crate::hashing::{FileHashes, hash_file};
use crate::pass::{Columns, demand, for_each, plan, put, ranges};
use crate::{Error, Redundancy, Shape};

/// Upper bound for the width of columns, in bytes. A disk reads this many bytes almost as fast as one sector.
const WIDEST: u64 = 64 << 10;
/// Upper bound for the bytes of the chunks that a worker holds.
const CHUNKS_MOST: u64 = 64 << 20;

/// The location of the packets of recovery data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketLocation {
    /// In a separate file.
    Sidecar,
    /// After the protected bytes, with a footer.
    Appended,
}

/// Statistics of the recovery data that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protected {
    /// How the file is cut into shards.
    pub shape: Shape,
    /// BLAKE3 of the protected bytes.
    pub blake3: [u8; 32],
    /// Bytes of the recovery data.
    pub bytes: u64,
}

/// Writes recovery data for all bytes of `input` to `sink`, which must accept bytes at any offset. The recovery data begins at byte 0, or
/// after the input's bytes, which are then in the sink already. The sink is not flushed.
///
/// # Errors
/// [`Error::Unsupported`] for an empty input, [`Error::Input`], [`Error::Output`], [`Error::Memory`], [`Error::Changed`],
/// [`Error::Work`].
pub fn protect(
    input: &Arc<dyn Input>,
    redundancy: Redundancy,
    location: PacketLocation,
    sink: &mut dyn Sink,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Protected, Error> {
    protect_again(input, Shape::new(input.size(), redundancy)?, location, sink, resources, observer)
}

/// Does the same as [`protect`] with the shape of earlier recovery data. If the file has the same bytes, so does the recovery data.
///
/// # Errors
/// Returns the same errors as [`protect`].
pub fn protect_again(
    input: &Arc<dyn Input>,
    shape: Shape,
    location: PacketLocation,
    sink: &mut dyn Sink,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Protected, Error> {
    let FileHashes { shards, root } = hash_file(input, &shape, true, resources, observer).map_err(changed_if_short)?;
    let shards: Option<Vec<_>> = shards.into_iter().collect();
    let (Some(shards), Some(root)) = (shards, root) else { return Err(Error::Changed) };
    let start = if location == PacketLocation::Appended { shape.length } else { 0 };
    let mut writer = Writer { params: Params { shape, root }, start, sink };
    writer.pieces(&table::pieces(&shape, &shards)?)?;
    writer.parity(input, resources, observer).map_err(changed_if_short)?;
    let bytes = shape.recovery_bytes(location);
    if location == PacketLocation::Appended {
        let footer = Footer { length: shape.length, total: start + bytes };
        writer.put(shape.packet_bytes(), &footer.encode())?;
    }
    // Appended recovery data changes the input's file itself.
    if location == PacketLocation::Sidecar && input.changed().map_err(Error::Input)? {
        return Err(Error::Changed);
    }
    Ok(Protected { shape, blake3: root, bytes })
}

/// Reports an input that ends before its size as changed.
fn changed_if_short(error: Error) -> Error {
    match error {
        Error::Input(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Error::Changed,
        error => error,
    }
}

struct Writer<'s> {
    params: Params,
    /// The offset of the first packet in the sink.
    start: u64,
    sink: &'s mut dyn Sink,
}

impl Writer<'_> {
    fn put(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        put(self.sink, self.start + offset, bytes)
    }

    fn pieces(&mut self, pieces: &[Vec<u8>]) -> Result<(), Error> {
        for (index, piece) in pieces.iter().enumerate() {
            let head = Head { params: self.params, kind: Kind::Piece, index };
            let mut hasher = head.hasher();
            hasher.update(piece);
            let at = self.params.shape.piece_at(index);
            self.put(at, &head.encode(&hasher))?;
            self.put(at + HEAD_BYTES as u64, piece)?;
        }
        Ok(())
    }

    /// Calculates all recovery shards, column by column.
    fn parity(
        &mut self,
        input: &Arc<dyn Input>,
        resources: &Resources,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let shape = self.params.shape;
        let recovery = shape.recovery() as u64;
        let head = |index| Head { params: self.params, kind: Kind::Parity, index };
        let heads: Vec<Head> = (0..shape.recovery()).map(head).collect();
        let mut hashers: Vec<blake3::Hasher> = heads.iter().map(Head::hasher).collect();
        let besides = TABLES + recovery * size_of::<blake3::Hasher>() as u64;
        let needed = |width| demand(besides, Encoder::memory(shape.recovery(), width), recovery * width);
        let chunk = recovery.next_power_of_two();
        let widest = shape.parity_bytes().min(WIDEST).min((CHUNKS_MOST / 2 / chunk).max(UNIT));
        let plan = plan(needed, widest, "making recovery data", resources, observer)?;
        let task = EncodeTask { input: Arc::clone(input), shape };
        let ranges = ranges(&shape, plan.width);
        for_each(task, &plan, resources, ranges, &mut |made: Columns| {
            for (index, (column, hasher)) in made.each().zip(&mut hashers).enumerate() {
                hasher.update(column);
                self.put(shape.parity_at(index) + HEAD_BYTES as u64 + made.start, column)?;
            }
            let done = made.start + made.width;
            let total = Some(shape.parity_bytes());
            let scaled = |bytes: u64| bytes.saturating_mul(shape.shards() as u64).min(shape.length);
            let pass = Some(Pass { name: "encoding", part: 1, done: scaled(done), total: total.map(scaled) });
            observer.advance(&Progress { pass, ..Progress::of_source(shape.length, Some(shape.length)) });
            Ok(())
        })?;
        for (index, (head, hasher)) in heads.iter().zip(&hashers).enumerate() {
            self.put(shape.parity_at(index), &head.encode(hasher))?;
        }
        Ok(())
    }
}

/// Reads a column of all shards and encodes it.
struct EncodeTask {
    input: Arc<dyn Input>,
    shape: Shape,
}

impl Task for EncodeTask {
    type In = ((u64, u64), Permit);
    type Out = Columns;
    type Error = Error;
    type Tool = Encoder;

    fn tool(&self) -> Encoder {
        Encoder::new(self.shape.recovery())
    }

    fn run(&self, encoder: &mut Encoder, ((start, width), permit): Self::In) -> Result<Columns, Error> {
        let bytes = encoder.encode(self.shape.shards(), width as usize, &mut |shard, row| {
            read_column(&*self.input, &self.shape, self.shape.start(shard), shard, start, row)
        })?;
        Ok(Columns { start, width, bytes, _permit: permit })
    }
}

/// Fills `row` with shard `index` from its byte `column`. The shard begins at byte `start` of the input. Zeros follow the end of the last
/// shard.
///
/// # Errors
/// Returns [`Error::Input`] if the read fails.
pub(crate) fn read_column(
    input: &dyn Input,
    shape: &Shape,
    start: u64,
    index: usize,
    column: u64,
    row: &mut [u8],
) -> Result<(), Error> {
    let there = shape.bytes(index).saturating_sub(column).min(row.len() as u64) as usize;
    let (bytes, zeros) = row.split_at_mut(there);
    zeros.fill(0);
    if bytes.is_empty() { Ok(()) } else { input.read_at(start + column, bytes).map_err(Error::Input) }
}
