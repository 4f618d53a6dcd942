//! Calculates lost shards.

use std::sync::Arc;

use packline_engine::{Permit, Task};
use packline_runtime::{Input, Observer, Pass, Progress, Resources, Sink};

use crate::code::{Decoder, Erasures, TABLES};
use crate::format::shape::UNIT;
use crate::pass::{Columns, demand, for_each, plan, put, ranges};
use crate::protect::read_column;
use crate::repair::examine::Examined;
use crate::{Error, RecoverySet, Shape};

/// Upper bound for the width of columns, in bytes.
const WIDEST: u64 = 16 << 10;
/// Upper bound for the bytes of the known shards that a worker holds.
const KNOWN_MOST: u64 = 64 << 20;

/// Calculates the lost shards, and writes them to `sink` at their own offsets.
///
/// # Errors
/// [`Error::Memory`], [`Error::Work`], [`Error::Input`], [`Error::Packets`], [`Error::Output`].
pub(crate) fn rebuild(
    file: &Arc<dyn Input>,
    set: &RecoverySet,
    examined: &Examined,
    sink: &mut dyn Sink,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let shape = set.shape();
    let lost: Vec<usize> = (0..shape.shards()).filter(|&index| examined.offsets[index].is_none()).collect();
    let parity: Vec<(usize, u64)> = set.parity().take(lost.len()).collect();
    let used = parity.iter().map(|&(index, _)| index).collect();
    let erasures = Erasures { shards: shape.shards(), recovery: shape.recovery(), lost, used };
    let count = erasures.lost.len() as u64;
    let tool = |width| Decoder::memory(shape.shards(), shape.recovery(), width);
    let fitting = KNOWN_MOST / (shape.shards() as u64).next_power_of_two();
    let widest = shape.parity_bytes().min(WIDEST).min(fitting.max(UNIT));
    let plan =
        plan(|width| demand(TABLES, tool(width), count * width), widest, "repairing shards", resources, observer)?;
    let task = DecodeTask {
        file: Arc::clone(file),
        packets: Arc::clone(&set.input),
        shape,
        offsets: examined.offsets.clone(),
        parity,
        erasures: erasures.clone(),
    };
    for_each(task, &plan, resources, ranges(&shape, plan.width), &mut |made: Columns| {
        for (&index, column) in erasures.lost.iter().zip(made.each()) {
            let there = shape.bytes(index).saturating_sub(made.start).min(made.width) as usize;
            // A short last shard may end before this column.
            if there > 0 {
                put(sink, shape.start(index) + made.start, &column[..there])?;
            }
        }
        let done = made.start + made.width;
        let total = Some(shape.parity_bytes());
        let pass = Some(Pass { name: "repairing", part: 1, done, total });
        observer.advance(&Progress { pass, ..Progress::of_source(done, total) });
        Ok(())
    })
}

/// Returns the shards that are not lost, with their offsets.
fn present(offsets: &[Option<u64>]) -> impl Iterator<Item = (usize, u64)> {
    offsets.iter().enumerate().filter_map(|(index, offset)| Some((index, (*offset)?)))
}

/// Reads a column of all known shards, and calculates the column of the lost shards.
struct DecodeTask {
    file: Arc<dyn Input>,
    packets: Arc<dyn Input>,
    shape: Shape,
    offsets: Vec<Option<u64>>,
    /// The recovery shards that are used, with their offsets.
    parity: Vec<(usize, u64)>,
    erasures: Erasures,
}

impl Task for DecodeTask {
    type In = ((u64, u64), Permit);
    type Out = Columns;
    type Error = Error;
    /// The decoder with its column width, and the known columns.
    type Tool = (Option<(usize, Decoder)>, Vec<u8>);

    fn tool(&self) -> Self::Tool {
        (None, Vec::new())
    }

    fn run(&self, (kept, known): &mut Self::Tool, ((start, width), permit): Self::In) -> Result<Columns, Error> {
        let bytes = width as usize;
        known.resize(self.shape.shards() * bytes, 0);
        let mut rows = known.chunks_mut(bytes);
        for ((index, at), row) in present(&self.offsets).zip(rows.by_ref()) {
            read_column(&*self.file, &self.shape, at, index, start, row)?;
        }
        for (&(_, at), row) in self.parity.iter().zip(rows) {
            self.packets.read_at(at + start, row).map_err(Error::Packets)?;
        }
        let (_, decoder) = match kept.take().filter(|(of, _)| *of == bytes) {
            Some(decoder) => kept.insert(decoder),
            None => kept.insert((bytes, Decoder::new(&self.erasures, bytes)?)),
        };
        let columns = decoder.decode(&self.erasures, known, bytes)?;
        Ok(Columns { start, width, bytes: columns, _permit: permit })
    }
}
