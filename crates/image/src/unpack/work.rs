//! What workers do: they decode, make files, write them and set their attributes.

use std::sync::Arc;

use packline_engine::Task as EngineTask;
use packline_squashfs::read::{Block, BlockDecoder, Inode, ReadError};
use packline_tree::destination::DestinationFile;

use super::fragment::{Fragment, FragmentTool, NoTail, TailBytes};
use super::notes::Outcome;
use super::part::{Part, Target};
use super::shop::{Shop, Spot};
use super::task::{Job, Tail, Task};
use super::window::{PlannedFile, Window};
use super::{share, task};
use crate::Error;

/// The work of unpacking: decodes blocks and writes files.
pub struct Unpacking {
    /// What all share.
    pub shop: Arc<Shop>,
}

/// What a worker keeps.
pub struct Tool {
    decoder: Result<BlockDecoder, ReadError>,
    bytes: Vec<u8>,
}

/// One job at work.
pub(super) struct Hand<'w> {
    pub(super) shop: &'w Shop,
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
        Tool { decoder: BlockDecoder::new(&self.shop.opened.image), bytes: Vec::new() }
    }

    fn run(&self, tool: &mut Tool, task: Task) -> Result<Outcome, Error> {
        let outcome = Outcome::new(self.shop.go_on);
        let mut hand = Hand { shop: &self.shop, window: &task.window, outcome, tool };
        match &task.work {
            Job::Blocks { part, blocks } => hand.write_blocks(part, blocks)?,
            Job::Tails { fragment, tails } => hand.write_tails(fragment, tails)?,
            Job::Empty(range) => hand.write_empty(range.clone())?,
        }
        Ok(hand.outcome)
    }

    fn bytes_in(&self, task: &Task) -> u64 {
        match &task.work {
            Job::Blocks { blocks, .. } => {
                blocks.iter().filter_map(|(_, block)| Some(u64::from(block.place?.stored))).sum()
            }
            Job::Tails { fragment, .. } => fragment.stored_bytes(),
            Job::Empty(_) => 0,
        }
    }

    fn bytes_out(&self, outcome: &Outcome) -> u64 {
        outcome.counts.written_bytes
    }
}

/// A file of the window that is open.
pub(super) struct Opened {
    /// Its number in the window.
    pub(super) number: u32,
    pub(super) spot: Spot,
    pub(super) file: DestinationFile,
}

impl Hand<'_> {
    pub(super) fn planned(&self, number: u32) -> PlannedFile {
        self.window.files()[number as usize]
    }

    /// A failure to make or write a file, with its path.
    pub(super) fn refused(&self, number: u32, refusal: packline_tree::destination::Refusal) -> Error {
        let file = self.planned(number);
        self.shop.refused(file.directory, self.window.name(&file), refusal)
    }

    /// A fault of the image, with the entry it was met at.
    fn fault(&self, number: u32, cause: ReadError) -> Error {
        let file = self.planned(number);
        self.shop.fault(file.directory, self.window.name(&file), cause)
    }

    pub(super) fn inode(&self, number: u32) -> Result<Inode, Error> {
        let inode = self.shop.opened.image.inode(self.planned(number).inode);
        inode.map_err(|cause| self.fault(number, cause))
    }

    fn decoder(&mut self) -> Result<&mut BlockDecoder, ReadError> {
        self.tool.decoder.as_mut().map_err(|cause| cause.clone())
    }

    pub(super) fn spot(&self, number: u32) -> Result<Spot, Error> {
        let file = self.planned(number);
        let ticket = || format!("{:x}-{number:x}", self.window.number);
        let spot = self.shop.spot(file.directory, self.window.name(&file), ticket);
        spot.map_err(|refusal| self.refused(number, refusal))
    }

    /// Makes a file of the window.
    pub(super) fn create(&self, number: u32) -> Result<Opened, Error> {
        let spot = self.spot(number)?;
        let file =
            spot.make(|directory, name| directory.create(name)).map_err(|refusal| self.refused(number, refusal))?;
        Ok(Opened { number, spot, file })
    }

    /// Sets a file's attributes and puts it in place.
    pub(super) fn complete(&mut self, opened: &Opened) -> Result<(), Error> {
        let inode = self.inode(opened.number)?;
        let planned = self.planned(opened.number);
        let entry = (planned.directory, self.window.name(&planned));
        self.shop.dress(&inode, entry, opened.file.attributes(), &mut self.outcome)?;
        opened.spot.settle().map_err(|refusal| self.refused(opened.number, refusal))?;
        self.note_made(&inode, opened.number);
        self.outcome.counts.files += 1;
        self.outcome.counts.content_bytes += planned.size;
        Ok(())
    }

    /// Further names can be linked to it.
    pub(super) fn note_made(&mut self, inode: &Inode, number: u32) {
        if self.shop.go_on && inode.links > 1 {
            self.outcome.written.made.insert(self.window.key(&self.planned(number)));
        }
    }

    /// As [`complete`](Self::complete); what fails is removed, and kept as a problem if the rest goes on.
    fn complete_or_give_up(&mut self, opened: &Opened) -> Result<bool, Error> {
        let made = self.complete(opened);
        if made.is_err() {
            opened.spot.give_up();
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

    // Tail ends.

    fn write_tails(&mut self, fragment: &Fragment, tails: &[Tail]) -> Result<(), Error> {
        for tail in tails {
            match tail {
                Tail::Whole { first, count, sharing } => self.write_whole(*first, *count, *sharing, fragment)?,
                Tail::EndOf(part) => self.write_end(part, fragment)?,
            }
        }
        Ok(())
    }

    /// The tail end of a file in its fragment block.
    fn tail(&mut self, number: u32, fragment: &Fragment) -> Result<TailBytes, Error> {
        let file = self.planned(number);
        let length = file.size % u64::from(self.shop.opened.image.superblock().block_size);
        let start = file.offset as usize;
        let tool = FragmentTool { decoder: &mut self.tool.decoder, counts: &mut self.outcome.counts };
        fragment.tail(start..start.saturating_add(length as usize), tool).map_err(|why| match why {
            NoTail::Block(cause) => self.fault(number, cause),
            NoTail::Beyond(bytes) => {
                let inode = file.inode.0;
                let what = format!(
                    "the tail end of inode {inode:#x} is bytes {start} to {} of fragment block {}",
                    start as u64 + length,
                    file.fragment
                );
                let expected = format!("no more than the {bytes} bytes of that block");
                self.fault(number, ReadError::Corrupt { offset: self.fragment_offset(file.fragment), what, expected })
            }
        })
    }

    fn fragment_offset(&self, index: u32) -> u64 {
        self.shop.opened.image.fragment(index).map_or(0, |place| place.offset)
    }

    fn write_whole(&mut self, first: u32, count: u32, sharing: u32, fragment: &Fragment) -> Result<(), Error> {
        for number in first..first + count {
            match self.write_one(number, fragment)? {
                Some(opened) => share::others(self, &opened, sharing)?,
                None => share::none(self, number, sharing)?,
            }
        }
        Ok(())
    }

    /// Makes a file that is a tail end; `None` if that failed and the rest goes on.
    fn write_one(&mut self, number: u32, fragment: &Fragment) -> Result<Option<Opened>, Error> {
        let tail = self.tail(number, fragment);
        let Some(tail) = self.outcome.keep(tail)? else {
            self.outcome.written.unreadable.insert(self.window.key(&self.planned(number)));
            return Ok(None);
        };
        let made = self.create(number);
        let Some(opened) = self.outcome.keep(made)? else { return Ok(None) };
        if self.write(&opened, &tail, 0)? && self.complete_or_give_up(&opened)? {
            return Ok(Some(opened));
        }
        opened.spot.give_up();
        Ok(None)
    }

    /// Writes; false if that failed and the rest goes on.
    fn write(&mut self, opened: &Opened, bytes: &[u8], offset: u64) -> Result<bool, Error> {
        let written = opened.file.write_at(bytes, offset).map_err(|refusal| self.refused(opened.number, refusal));
        self.outcome.counts.written_bytes += bytes.len() as u64;
        Ok(self.outcome.keep(written)?.is_some())
    }

    fn write_end(&mut self, part: &Part, fragment: &Fragment) -> Result<(), Error> {
        let tail = self.tail(part.first, fragment);
        let mut opened = self.open_all(part)?;
        if let Some(tail) = self.outcome.keep(tail)? {
            let offset = self.planned(part.first).size - tail.len() as u64;
            self.write_all(part, &mut opened, &tail, offset)?;
        }
        self.end_job(part, opened)
    }

    // Blocks.

    fn write_blocks(&mut self, part: &Part, blocks: &[(u64, Block)]) -> Result<(), Error> {
        let mut opened = self.open_all(part)?;
        for (offset, block) in blocks {
            self.write_block(part, &mut opened, *offset, block)?;
        }
        self.end_job(part, opened)
    }

    fn write_block(&mut self, part: &Part, opened: &mut Vec<Opened>, offset: u64, block: &Block) -> Result<(), Error> {
        let Some(place) = block.place else { return self.write_zeros(part, opened, offset, block.length) };
        let mut bytes = std::mem::take(&mut self.tool.bytes);
        let decoded = self.decoder().and_then(|decoder| decoder.data(place, block.length, &mut bytes));
        let decoded = decoded.map_err(|cause| self.fault(part.first, cause));
        self.outcome.counts.read_bytes += u64::from(place.stored);
        let done = match self.outcome.keep(decoded) {
            Ok(Some(())) => self.write_all(part, opened, &bytes, offset),
            // What cannot be read stays a hole.
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        self.tool.bytes = bytes;
        done
    }

    /// A hole that is not to stay one.
    fn write_zeros(&mut self, part: &Part, opened: &mut Vec<Opened>, offset: u64, length: u32) -> Result<(), Error> {
        const ZEROS: &[u8] = &[0; 65_536];
        let mut left = u64::from(length);
        while left > 0 {
            let piece = left.min(ZEROS.len() as u64);
            self.write_all(part, opened, &ZEROS[..piece as usize], offset + u64::from(length) - left)?;
            left -= piece;
        }
        Ok(())
    }

    /// Writes to all files; one that cannot be written is not tried again.
    fn write_all(&mut self, part: &Part, opened: &mut Vec<Opened>, bytes: &[u8], offset: u64) -> Result<(), Error> {
        let mut at = 0;
        while at < opened.len() {
            if self.write(&opened[at], bytes, offset)? {
                at += 1;
            } else {
                let failed = opened.remove(at);
                part.targets()[(failed.number - part.first) as usize] = Target::Failed;
                failed.spot.give_up();
            }
        }
        Ok(())
    }

    /// Makes or opens all files that can be.
    fn open_all(&mut self, part: &Part) -> Result<Vec<Opened>, Error> {
        let mut all = Vec::with_capacity(part.count as usize);
        let mut targets = part.targets();
        for (number, target) in (part.first..).zip(targets.iter_mut()) {
            let opened = match target {
                Target::Failed => continue,
                Target::New => self.create(number),
                Target::Made(id) => self.reopen(number, *id),
            };
            // A job that comes alone needs no proof for the next.
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

    fn reopen(&self, number: u32, id: packline_tree::destination::FileId) -> Result<Opened, Error> {
        let spot = self.spot(number)?;
        let file = spot.directory().reopen(spot.name(), id).map_err(|refusal| self.refused(number, refusal))?;
        Ok(Opened { number, spot, file })
    }

    /// Finishes the files if this was the last job of theirs.
    fn end_job(&mut self, part: &Part, opened: Vec<Opened>) -> Result<(), Error> {
        if !part.job_done() {
            return Ok(());
        }
        let failed: Vec<bool> = part.targets().iter().map(|target| *target == Target::Failed).collect();
        let mut first = None;
        for opened in opened.into_iter().filter(|opened| !failed[(opened.number - part.first) as usize]) {
            if self.finish(&opened)? && opened.number == part.first {
                first = Some(opened);
            }
        }
        match first {
            Some(first) => share::others(self, &first, part.sharing),
            None => share::none(self, part.first, part.sharing),
        }
    }

    fn finish(&mut self, opened: &Opened) -> Result<bool, Error> {
        let size = self.planned(opened.number).size;
        let sized = opened.file.set_size(size).map_err(|refusal| self.refused(opened.number, refusal));
        if self.outcome.keep(sized)?.is_none() {
            opened.spot.give_up();
            return Ok(false);
        }
        self.complete_or_give_up(opened)
    }
}

/// Bytes of the queue that a job takes beside what it points to.
pub const JOB_BYTES: usize = size_of::<task::Task>() + 256;
