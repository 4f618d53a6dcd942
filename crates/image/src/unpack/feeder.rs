//! Submits a window's files: large files in parts, and pieces of shared units by unit, so that each unit is decoded once.

use std::collections::BTreeMap;
use std::sync::Arc;

use packline_engine::{Fault, OrderedMap};
use packline_runtime::TaskError;
use packline_volume::{FileData, Inode, Missing, Node, Piece, Pieces, ReadError};

use super::collector::ResultCollector;
use super::context::UnpackContext;
use super::outcome::Outcome;
use super::part::Part;
use super::request::Duplicates;
use super::shared_unit::SharedUnit;
use super::task::{End, Job, Tail, Task};
use super::unit_uses::UnitUseCounts;
use super::window::{Kind, PlannedFile, Window};
use super::work::{JOB_BYTES, Unpacking};
use crate::Error;

/// Approximate bytes of a file per job.
const JOB: u64 = 1 << 20;
/// Approximate bytes of the files of one task at most. A directory's files are adjacent, and the kernel creates them one at a time: workers that
/// write fewer files at a time wait for each other more often.
const TASK: u64 = 512 << 10;
/// Bytes whose decoding and writing takes about as long as creating a file.
const FILE: u64 = 4 << 10;
/// Tasks for each worker at least, and tasks that fill the window.
const TASKS_A_WORKER: u64 = 8;
const TASKS_A_WINDOW: usize = 32;
/// Maximum number of files with equal pieces that are written together; each needs a handle.
const AT_ONCE: u32 = 16;
/// Approximate number of files per job of small or of empty files.
const SMALL_FILES: u32 = 64;
/// Pieces of shared units in files with own units that wait for their unit, in addition to one for each file of the window.
const MORE_ENDS: usize = 4096;
/// Memory in bytes of a file with own units and a piece of a shared unit, until the piece is written.
pub const ENDED_BYTES: usize = 160;

/// Submits one window.
pub struct Feeder<'f, 'o> {
    context: &'f UnpackContext,
    window: Arc<Window>,
    map: &'f mut OrderedMap<Unpacking>,
    collector: &'f mut ResultCollector<'o>,
    uses: &'f mut UnitUseCounts,
    /// Unwritten pieces of shared units, of files with own units, by unit.
    ends: BTreeMap<u32, Vec<End>>,
    /// Number of these pieces.
    waiting: usize,
    collected: Collected,
    /// Bytes collected before a task is submitted.
    task_bytes: u64,
}

/// Jobs for the next task.
#[derive(Default)]
struct Collected {
    jobs: Vec<Job>,
    /// Memory in bytes.
    memory: usize,
    /// Bytes of their files, and [`FILE`] for each file.
    bytes: u64,
}

pub type Stop = Fault<Error>;

impl<'f, 'o> Feeder<'f, 'o> {
    /// Sorts a window and writes all of its files. `budget` is the memory in bytes of the tasks in flight.
    ///
    /// # Errors
    /// The first error in the order of the files, or the error of the map.
    pub fn write(
        context: &'f UnpackContext,
        mut window: Window,
        map: &'f mut OrderedMap<Unpacking>,
        collector: &'f mut ResultCollector<'o>,
        uses: &'f mut UnitUseCounts,
        budget: usize,
    ) -> Result<(), Stop> {
        window.sort();
        let window = Arc::new(window);
        let total = window.files().iter().fold(0u64, |sum, file| sum.saturating_add(file.size));
        let share = total / (map.workers() as u64 * TASKS_A_WORKER).max(1);
        let task_bytes = TASK.min((budget / TASKS_A_WINDOW) as u64).min(share);
        let ends = BTreeMap::new();
        let collected = Collected::default();
        let mut feeder = Feeder { context, window, map, collector, uses, ends, waiting: 0, collected, task_bytes };
        feeder.feed_all()?;
        feeder.submit()?;
        feeder.map.drain(feeder.collector)
    }

    fn feed_all(&mut self) -> Result<(), Stop> {
        let total = self.window.files().len();
        let kinds = self.window.files().partition_point(|file| file.kind() == Kind::Units);
        let tails = self.window.files().partition_point(|file| file.kind() <= Kind::Shared);
        let mut at = 0;
        while at < kinds {
            at += self.feed_file(at)?;
        }
        self.feed_tails(kinds, tails)?;
        for start in (tails..total).step_by(SMALL_FILES as usize) {
            let end = total.min(start + SMALL_FILES as usize);
            self.feed(Job::Empty(start as u32..end as u32), 0, (end - start) as u64 * FILE)?;
        }
        Ok(())
    }

    /// Collects a job that takes `memory` and writes `bytes`. Submits the collected jobs when they are enough for a task.
    fn feed(&mut self, job: Job, memory: usize, bytes: u64) -> Result<(), Stop> {
        self.collected.jobs.push(job);
        self.collected.memory += memory + JOB_BYTES;
        self.collected.bytes = self.collected.bytes.saturating_add(bytes);
        if self.collected.bytes >= self.task_bytes { self.submit() } else { Ok(()) }
    }

    /// Submits the collected jobs.
    fn submit(&mut self) -> Result<(), Stop> {
        let Collected { jobs, memory, .. } = std::mem::take(&mut self.collected);
        if jobs.is_empty() {
            return Ok(());
        }
        let permit = self.map.reserve(memory, self.collector)?;
        let task = Task { window: self.window.clone(), jobs, _permit: permit };
        self.map.submit(task, self.collector)
    }

    /// Records an error if unpacking continues. Otherwise returns it, after the errors of earlier files.
    fn failed(&mut self, file: &PlannedFile, error: Error) -> Result<(), Stop> {
        self.submit()?;
        let mut outcome = Outcome::new(self.context.continue_on_error);
        outcome.written.unreadable.insert(self.window.key(file));
        match outcome.keep::<()>(Err(error)) {
            Ok(_) => {
                self.collector.take(outcome);
                Ok(())
            }
            Err(error) => {
                self.map.drain(self.collector)?;
                Err(Fault::Work(error))
            }
        }
    }

    fn fault(&self, file: &PlannedFile, cause: ReadError) -> Error {
        self.context.fault(file.directory, self.window.name(file), cause)
    }

    /// Submits a file with own units and the files with the same content; returns their number.
    fn feed_file(&mut self, first: usize) -> Result<usize, Stop> {
        let file = self.window.files()[first];
        let data = match self.data(&file) {
            Ok(data) => data,
            Err(error) => return self.failed(&file, error).map(|()| 1),
        };
        let alike = match self.window.alike(first) {
            1 => 1,
            resembling => self.same_pieces(first, resembling, &data),
        };
        let (written, sharing) = self.divide(alike as u32);
        for start in (0..written).step_by(AT_ONCE as usize) {
            let count = AT_ONCE.min(written - start);
            let part = Arc::new(Part::new(first as u32 + start, count, sharing));
            self.feed_pieces(&part, self.context.opened.volume.pieces(&data, 0))?;
        }
        Ok(alike)
    }

    /// Splits a number of files with equal content into files to write and files that share the content.
    fn divide(&self, alike: u32) -> (u32, u32) {
        if self.context.duplicates == Duplicates::Copy { (alike, 0) } else { (1, alike - 1) }
    }

    fn data(&self, file: &PlannedFile) -> Result<FileData, Error> {
        match self.context.opened.volume.inode(file.inode) {
            Ok(Inode { node: Node::File(data), .. }) => Ok(data),
            Ok(_) => Err(self.fault(file, ReadError::internal("the inode is not a file any more".to_string()))),
            Err(cause) => Err(self.fault(file, cause)),
        }
    }

    /// Returns how many of the files with the same position as the first one also have its pieces. They must be consecutive: files after the
    /// first mismatch are treated as different.
    fn same_pieces(&self, first: usize, resembling: usize, data: &FileData) -> usize {
        let volume = &self.context.opened.volume;
        let same = |number: &usize| {
            let file = self.window.files()[first + number];
            self.data(&file).is_ok_and(|other| equal(volume.pieces(data, 0), volume.pieces(&other, 0)))
        };
        (1..resembling).take_while(same).count() + 1
    }

    /// Cuts a file into jobs. The part's count is one higher than the number of jobs until the last job is submitted.
    fn feed_pieces(&mut self, part: &Arc<Part>, pieces: Box<dyn Pieces>) -> Result<(), Stop> {
        let mut batch = PieceBatch::default();
        for piece in pieces {
            let piece = match piece {
                Ok(piece) => piece,
                Err(Missing { length, error }) => {
                    batch.position += length;
                    self.report_missing(part, &error)?;
                    continue;
                }
            };
            if let Piece::Shared { place, length } = piece {
                part.add_job();
                let end = End { part: part.clone(), place, length, position: batch.position };
                batch.position += u64::from(length);
                self.add_end(end)?;
                continue;
            }
            if batch.is_full() {
                part.add_job();
                self.feed_batch_of(part, &mut batch)?;
            }
            if let Piece::Own { unit, .. } = piece {
                self.context.opened.volume.will_read(unit);
            }
            batch.add(piece, self.context.sparse);
        }
        self.feed_batch_of(part, &mut batch)
    }

    /// Reports, or returns, that the pieces of files that are written together cannot be located.
    fn report_missing(&mut self, part: &Part, cause: &ReadError) -> Result<(), Stop> {
        part.mark_damaged();
        for number in part.files() {
            let file = self.window.files()[number as usize];
            let error = self.fault(&file, cause.clone());
            self.failed(&file, error)?;
        }
        Ok(())
    }

    fn feed_batch_of(&mut self, part: &Arc<Part>, batch: &mut PieceBatch) -> Result<(), Stop> {
        let bytes = (batch.data + FILE).saturating_mul(part.count.into());
        let pieces = batch.take();
        let memory = pieces.capacity() * size_of::<(u64, Piece)>();
        self.feed(Job::Pieces { part: part.clone(), pieces }, memory, bytes)
    }

    /// Records a piece of a shared unit, which is written with other pieces of the unit. Writes all such pieces if there are too many: a file may
    /// have any number of them.
    fn add_end(&mut self, end: End) -> Result<(), Stop> {
        self.ends.entry(end.place.unit).or_default().push(end);
        self.waiting += 1;
        if self.waiting < self.window.files().len() + MORE_ENDS {
            return Ok(());
        }
        // No file is only a piece here.
        self.feed_tails(0, 0)
    }

    /// Submits the files `at..end`, which are pieces of shared units, and such pieces of files with own units, ordered by unit.
    fn feed_tails(&mut self, mut at: usize, end: usize) -> Result<(), Stop> {
        loop {
            let whole = if at < end { self.unit_of(at) } else { None };
            let ended = self.ends.first_key_value().map(|(&unit, _)| unit);
            let Some(unit) = whole.into_iter().chain(ended).min() else { return self.all_fed(at, end) };
            let ends = self.ends.remove(&unit).unwrap_or_default();
            self.waiting -= ends.len();
            let mut batch = Batch { unit: self.shared_unit(unit)?, tails: Vec::new(), files: 0, bytes: 0 };
            for end in ends {
                let count = end.part.count;
                let size = end.length.into();
                self.add_tail(&mut batch, Tail::EndOf(end), count, size)?;
            }
            while at < end && self.unit_of(at) == Some(unit) {
                at += self.add_whole(&mut batch, at)?;
            }
            self.feed_batch(&mut batch)?;
        }
    }

    /// Returns an error if files `at..end` are left: otherwise files would be missing in silence.
    fn all_fed(&self, at: usize, end: usize) -> Result<(), Stop> {
        if at == end {
            return Ok(());
        }
        let file = self.window.files()[at];
        Err(Fault::Work(self.fault(&file, ReadError::internal("its content has no position".to_string()))))
    }

    /// Returns the shared unit at the end of a file of the window.
    fn unit_of(&self, number: usize) -> Option<u32> {
        self.window.files()[number].tail().map(|tail| tail.unit)
    }

    fn shared_unit(&mut self, key: u32) -> Result<Arc<SharedUnit>, Stop> {
        let volume = &self.context.opened.volume;
        let unit = volume.shared_unit(key);
        if let Ok(unit) = unit {
            volume.will_read(unit);
        }
        let most = unit.as_ref().map_or(0, |unit| unit.length);
        let permit = self.map.reserve(most as usize, self.collector)?;
        Ok(Arc::new(SharedUnit::new(unit, self.uses.share(key), permit)))
    }

    fn add_whole(&mut self, batch: &mut Batch, first: usize) -> Result<usize, Stop> {
        let alike = self.window.alike(first);
        let size = self.window.files()[first].size;
        let (written, sharing) = self.divide(alike as u32);
        for start in (0..written).step_by(SMALL_FILES as usize) {
            let count = SMALL_FILES.min(written - start);
            self.add_tail(batch, Tail::Whole { first: first as u32 + start, count, sharing }, count + sharing, size)?;
        }
        Ok(alike)
    }

    /// Adds a piece of `files` files, `size` bytes of each.
    fn add_tail(&mut self, batch: &mut Batch, tail: Tail, files: u32, size: u64) -> Result<(), Stop> {
        batch.tails.push(tail);
        batch.files += files;
        batch.bytes = batch.bytes.saturating_add((size.saturating_add(FILE)).saturating_mul(files.into()));
        if batch.files >= SMALL_FILES { self.feed_batch(batch) } else { Ok(()) }
    }

    fn feed_batch(&mut self, batch: &mut Batch) -> Result<(), Stop> {
        let tails = std::mem::take(&mut batch.tails);
        let bytes = std::mem::take(&mut batch.bytes);
        batch.files = 0;
        if tails.is_empty() {
            return Ok(());
        }
        let memory = tails.len() * size_of::<Tail>();
        self.feed(Job::Tails { unit: batch.unit.clone(), tails }, memory, bytes)
    }
}

/// Pieces collected for a job, each with its offset in bytes in the file.
#[derive(Default)]
struct PieceBatch {
    pieces: Vec<(u64, Piece)>,
    /// Bytes to write.
    data: u64,
    /// Offset in bytes of the next piece in the file.
    position: u64,
}

impl PieceBatch {
    fn is_full(&self) -> bool {
        self.data >= JOB
    }

    /// Adds a piece. Holes that are kept are skipped, so a hole of a terabyte takes no memory.
    fn add(&mut self, piece: Piece, sparse: bool) {
        let stays_hole = sparse && matches!(piece, Piece::Hole { .. });
        if !stays_hole {
            self.pieces.push((self.position, piece));
            self.data += piece.length();
        }
        self.position += piece.length();
    }

    fn take(&mut self) -> Vec<(u64, Piece)> {
        self.data = 0;
        std::mem::take(&mut self.pieces)
    }
}

/// Pieces of one shared unit collected for a job.
struct Batch {
    unit: Arc<SharedUnit>,
    tails: Vec<Tail>,
    files: u32,
    /// Bytes of the pieces, and [`FILE`] for each file.
    bytes: u64,
}

fn equal(one: Box<dyn Pieces>, mut other: Box<dyn Pieces>) -> bool {
    for piece in one {
        match (piece, other.next()) {
            (Ok(one), Some(Ok(other))) if one == other => {}
            _ => return false,
        }
    }
    other.next().is_none()
}
