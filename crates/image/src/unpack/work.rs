//! The workers' task: decodes units, creates files, writes them and sets their attributes.

use std::ops::Range;
use std::sync::Arc;

use packline_engine::Task as EngineTask;
use packline_runtime::{TaskError, zeros};
use packline_tree::destination::DestinationFile;
use packline_volume::{Inode, Piece, ReadError, SharedPlace};

use super::context::{StagedEntry, UnpackContext};
use super::outcome::Outcome;
use super::part::{Part, Target};
use super::shared_unit::{DecodingTool, NoTail, SharedUnit, TailBytes};
use super::task::{End, Job, Tail, Task};
use super::tool::Tool;
use super::window::{PlannedFile, Window};
use super::{share, task};
use crate::Error;

/// Decodes units and writes files.
pub struct Unpacking {
    pub context: Arc<UnpackContext>,
}

/// Runs the jobs of a task.
pub(super) struct JobRunner<'w> {
    pub(super) context: &'w UnpackContext,
    pub(super) window: &'w Window,
    pub(super) outcome: Outcome,
    tool: &'w mut Tool,
}

impl EngineTask for Unpacking {
    type In = Task;
    type Out = Outcome;
    type Error = Error;
    type Tool = Tool;

    fn tool(&self) -> Tool {
        Tool::new(self.context.opened.volume.decoder())
    }

    fn run(&self, tool: &mut Tool, task: Task) -> Result<Outcome, Error> {
        let outcome = Outcome::new(self.context.continue_on_error);
        let mut runner = JobRunner { context: &self.context, window: &task.window, outcome, tool };
        for job in task.jobs {
            match &job {
                Job::Pieces { part, pieces } => runner.write_pieces(part, pieces)?,
                Job::Tails { unit, tails } => runner.write_tails(unit, tails)?,
                Job::Empty(range) => runner.write_empty(range.clone())?,
            }
        }
        Ok(runner.outcome)
    }

    fn bytes_in(&self, task: &Task) -> u64 {
        let of_job = |job: &Job| match job {
            Job::Pieces { pieces, .. } => pieces.iter().map(|(_, piece)| stored_bytes(piece)).sum(),
            Job::Tails { unit, .. } => unit.stored_bytes(),
            Job::Empty(_) => 0,
        };
        task.jobs.iter().map(of_job).sum()
    }

    fn bytes_out(&self, outcome: &Outcome) -> u64 {
        outcome.counts.written_bytes
    }
}

/// Returns the number of bytes that are read for a piece of an own unit, or for a hole.
fn stored_bytes(piece: &Piece) -> u64 {
    match piece {
        Piece::Own { unit, .. } => unit.stored.into(),
        Piece::Hole { .. } | Piece::Shared { .. } => 0,
    }
}

/// An open file of the window.
pub(super) struct OpenedFile {
    /// Number in the window.
    pub(super) number: u32,
    pub(super) staged: StagedEntry,
    pub(super) file: DestinationFile,
    /// Where the last of the bytes that this job wrote end.
    end: u64,
}

impl JobRunner<'_> {
    pub(super) fn planned(&self, number: u32) -> PlannedFile {
        self.window.files()[number as usize]
    }

    /// Adds the path to a failed system call.
    pub(super) fn refused(&self, number: u32, refusal: packline_tree::destination::Refusal) -> Error {
        let file = self.planned(number);
        self.context.refused(file.directory, self.window.name(&file), refusal)
    }

    /// Adds the entry to a fault of the image.
    fn fault(&self, number: u32, cause: ReadError) -> Error {
        let file = self.planned(number);
        self.context.fault(file.directory, self.window.name(&file), cause)
    }

    /// Reports or returns a fault of content that these files share. Each file gets zeros instead of the content.
    fn damaged(&mut self, files: Range<u32>, cause: &ReadError) -> Result<(), Error> {
        for number in files {
            let fault = self.fault(number, cause.clone());
            self.outcome.keep::<()>(Err(fault))?;
        }
        Ok(())
    }

    pub(super) fn inode(&self, number: u32) -> Result<Inode, Error> {
        let inode = self.context.opened.volume.inode(self.planned(number).inode);
        inode.map_err(|cause| self.fault(number, cause))
    }

    pub(super) fn staged(&self, number: u32) -> Result<StagedEntry, Error> {
        let file = self.planned(number);
        let ticket = || format!("{:x}-{number:x}", self.window.number);
        let staged = self.context.staged(file.directory, self.window.name(&file), ticket);
        staged.map_err(|refusal| self.refused(number, refusal))
    }

    /// Creates a file of the window.
    pub(super) fn create(&self, number: u32) -> Result<OpenedFile, Error> {
        let staged = self.staged(number)?;
        let file =
            staged.make(|directory, name| directory.create(name)).map_err(|refusal| self.refused(number, refusal))?;
        Ok(OpenedFile { number, staged, file, end: 0 })
    }

    /// Sets a file's attributes and moves it into place.
    pub(super) fn complete(&mut self, opened: &OpenedFile) -> Result<(), Error> {
        let inode = self.inode(opened.number)?;
        let planned = self.planned(opened.number);
        let entry = (planned.directory, self.window.name(&planned));
        self.context.set_attributes(&inode, entry, opened.file.attributes(), &mut self.outcome)?;
        opened.staged.settle().map_err(|refusal| self.refused(opened.number, refusal))?;
        self.note_made(&inode, opened.number);
        self.outcome.counts.files += 1;
        self.outcome.counts.content_bytes += planned.size;
        Ok(())
    }

    /// Records that further names can be linked to the file.
    pub(super) fn note_made(&mut self, inode: &Inode, number: u32) {
        if self.context.continue_on_error && inode.links > 1 {
            self.outcome.written.made.insert(self.window.key(&self.planned(number)));
        }
    }

    /// Completes a file. After an error, removes the file and, if unpacking continues, records the error.
    fn complete_or_give_up(&mut self, opened: &OpenedFile) -> Result<bool, Error> {
        let made = self.complete(opened);
        if made.is_err() {
            opened.staged.give_up();
        }
        Ok(self.outcome.keep(made)?.is_some())
    }

    fn write_empty(&mut self, range: std::ops::Range<u32>) -> Result<(), Error> {
        for number in range {
            let made = self.create(number);
            if let Some(opened) = self.outcome.keep(made)? {
                self.complete_or_give_up(&opened)?;
            }
        }
        Ok(())
    }

    // Pieces of shared units.

    fn write_tails(&mut self, unit: &SharedUnit, tails: &[Tail]) -> Result<(), Error> {
        for tail in tails {
            match tail {
                Tail::Whole { first, count, sharing } => self.write_whole(*first, *count, *sharing, unit)?,
                Tail::EndOf(end) => self.write_end(end, unit)?,
            }
        }
        Ok(())
    }

    /// Returns the bytes at a position in a shared unit.
    fn tail(&mut self, place: SharedPlace, length: usize, unit: &SharedUnit) -> Result<TailBytes, ReadError> {
        let start = place.offset as usize;
        let tool = DecodingTool { decoder: &mut self.tool.decoder, counts: &mut self.outcome.counts };
        unit.tail(start..start.saturating_add(length), tool).map_err(|why| match (why, unit.unit()) {
            (NoTail::Unit(cause), _) => cause,
            (NoTail::Beyond(bytes), Some(unit)) => self.context.opened.volume.shared_fault(unit, place, length, bytes),
            (NoTail::Beyond(_), None) => ReadError::internal("a unit that does not exist was decoded".to_string()),
        })
    }

    fn write_whole(&mut self, first: u32, count: u32, sharing: u32, unit: &SharedUnit) -> Result<(), Error> {
        for number in first..first + count {
            match self.write_one(number, sharing, unit)? {
                Some(opened) => share::others(self, &opened, sharing)?,
                None => share::none(self, number, sharing)?,
            }
        }
        Ok(())
    }

    /// Writes a file that consists of a piece of a shared unit, which `sharing` more files share; returns `None` if that failed and unpacking
    /// continues.
    fn write_one(&mut self, number: u32, sharing: u32, unit: &SharedUnit) -> Result<Option<OpenedFile>, Error> {
        let planned = self.planned(number);
        let place = planned.tail().ok_or_else(|| ReadError::internal("a small file has no place".to_string()));
        let tail = place.and_then(|place| self.tail(place, planned.size as usize, unit));
        if let Err(cause) = &tail {
            self.damaged(number..number + 1 + sharing, cause)?;
        }
        let made = self.create(number);
        let Some(mut opened) = self.outcome.keep(made)? else { return Ok(None) };
        let written = match &tail {
            Ok(tail) => self.write(&mut opened, tail, 0)? && self.complete_or_give_up(&opened)?,
            Err(_) => self.finish(&opened)?,
        };
        if written {
            self.outcome.counts.damaged_files += if tail.is_err() { 1 + u64::from(sharing) } else { 0 };
            return Ok(Some(opened));
        }
        opened.staged.give_up();
        Ok(None)
    }

    /// Writes; returns false if that failed and unpacking continues.
    fn write(&mut self, opened: &mut OpenedFile, bytes: &[u8], offset: u64) -> Result<bool, Error> {
        let written = opened.file.write_at(bytes, offset).map_err(|refusal| self.refused(opened.number, refusal));
        opened.end = opened.end.max(offset + bytes.len() as u64);
        self.outcome.counts.written_bytes += bytes.len() as u64;
        Ok(self.outcome.keep(written)?.is_some())
    }

    fn write_end(&mut self, end: &End, unit: &SharedUnit) -> Result<(), Error> {
        let tail = self.tail(end.place, end.length as usize, unit);
        let part = end.part.as_ref();
        let mut opened = self.open_all(part)?;
        match tail {
            Ok(tail) => self.write_all(part, &mut opened, &tail, end.position)?,
            Err(cause) => self.part_damaged(part, &cause)?,
        }
        self.end_job(part, opened)
    }

    // Pieces of own units, and holes.

    fn write_pieces(&mut self, part: &Part, pieces: &[(u64, Piece)]) -> Result<(), Error> {
        let mut opened = self.open_all(part)?;
        for (offset, piece) in pieces {
            self.write_piece(part, &mut opened, *offset, piece)?;
        }
        self.end_job(part, opened)
    }

    fn write_piece(
        &mut self,
        part: &Part,
        opened: &mut Vec<OpenedFile>,
        offset: u64,
        piece: &Piece,
    ) -> Result<(), Error> {
        let (unit, start, length) = match *piece {
            Piece::Own { unit, start, length } => (unit, start as usize, length as usize),
            Piece::Hole { length } => return self.write_zeros(part, opened, offset, length),
            Piece::Shared { place, .. } => {
                let what = format!("a piece of shared unit {} among own units", place.unit);
                return self.part_damaged(part, &ReadError::internal(what));
            }
        };
        let decoded = self.tool.decode(unit);
        self.outcome.counts.read_bytes += u64::from(unit.stored);
        match decoded {
            Ok(true) if self.context.sparse => Ok(()),
            Ok(_) => {
                let bytes = std::mem::take(&mut self.tool.bytes);
                let done = self.write_all(part, opened, &bytes[start..start + length], offset);
                self.tool.bytes = bytes;
                done
            }
            Err(cause) => self.part_damaged(part, &cause),
        }
    }

    /// Reports, or returns, a fault of the content of files that are written together. Unreadable pieces stay holes.
    fn part_damaged(&mut self, part: &Part, cause: &ReadError) -> Result<(), Error> {
        part.mark_damaged();
        self.damaged(part.files(), cause)
    }

    /// Writes zeros instead of a hole.
    fn write_zeros(
        &mut self,
        part: &Part,
        opened: &mut Vec<OpenedFile>,
        offset: u64,
        length: u64,
    ) -> Result<(), Error> {
        let mut at = offset;
        for piece in zeros(length) {
            self.write_all(part, opened, piece, at)?;
            at += piece.len() as u64;
        }
        Ok(())
    }

    /// Writes to all files. A file that fails is not tried again.
    fn write_all(&mut self, part: &Part, opened: &mut Vec<OpenedFile>, bytes: &[u8], offset: u64) -> Result<(), Error> {
        let mut at = 0;
        while at < opened.len() {
            if self.write(&mut opened[at], bytes, offset)? {
                at += 1;
            } else {
                let failed = opened.remove(at);
                part.targets()[(failed.number - part.first) as usize] = Target::Failed;
                failed.staged.give_up();
            }
        }
        Ok(())
    }

    /// Creates or opens the files that have not failed.
    fn open_all(&mut self, part: &Part) -> Result<Vec<OpenedFile>, Error> {
        let mut all = Vec::with_capacity(part.count as usize);
        let mut targets = part.targets();
        for (number, target) in (part.first..).zip(targets.iter_mut()) {
            let opened = match target {
                Target::Failed => continue,
                Target::New => self.create(number),
                Target::Made(id) => self.reopen(number, *id),
            };
            // A single job need not record the id for later jobs.
            let noted = opened.and_then(|opened| {
                if *target == Target::New && !part.is_last() {
                    *target = Target::Made(opened.file.id().map_err(|refusal| self.refused(number, refusal))?);
                }
                Ok(opened)
            });
            match self.outcome.keep(noted)? {
                Some(opened) => all.push(opened),
                None => *target = Target::Failed,
            }
        }
        Ok(all)
    }

    fn reopen(&self, number: u32, id: packline_tree::destination::FileId) -> Result<OpenedFile, Error> {
        let staged = self.staged(number)?;
        let file = staged.directory().reopen(staged.name(), id).map_err(|refusal| self.refused(number, refusal))?;
        Ok(OpenedFile { number, staged, file, end: 0 })
    }

    /// Finishes the files if this was their last job.
    fn end_job(&mut self, part: &Part, opened: Vec<OpenedFile>) -> Result<(), Error> {
        if !part.job_done() {
            return Ok(());
        }
        let failed: Vec<bool> = part.targets().iter().map(|target| *target == Target::Failed).collect();
        let mut first = None;
        let damaged = u64::from(part.is_damaged());
        for opened in opened.into_iter().filter(|opened| !failed[(opened.number - part.first) as usize]) {
            if !self.finish(&opened)? {
                continue;
            }
            self.outcome.counts.damaged_files += damaged;
            if opened.number == part.first {
                self.outcome.counts.damaged_files += damaged * u64::from(part.sharing);
                first = Some(opened);
            }
        }
        match first {
            Some(first) => share::others(self, &first, part.sharing),
            None => share::none(self, part.first, part.sharing),
        }
    }

    fn finish(&mut self, opened: &OpenedFile) -> Result<bool, Error> {
        let size = self.planned(opened.number).size;
        // A file that was just written up to its end has its size.
        if opened.end != size {
            let sized = opened.file.set_size(size).map_err(|refusal| self.refused(opened.number, refusal));
            if self.outcome.keep(sized)?.is_none() {
                opened.staged.give_up();
                return Ok(false);
            }
        }
        self.complete_or_give_up(opened)
    }
}

/// Memory of a queued job in bytes, without the data that it refers to.
pub const JOB_BYTES: usize = size_of::<task::Task>() + size_of::<Job>() + 256;
