//! Submits a window's files: large ones in pieces, tail ends by fragment block, so that each block is decoded once.

use std::collections::BTreeMap;
use std::sync::Arc;

use packline_engine::{Fault, OrderedMap};
use packline_runtime::TaskError;
use packline_squashfs::BlockSize;
use packline_squashfs::read::{Block, Blocks, FileData, Inode, Node, ReadError};

use super::collector::ResultCollector;
use super::context::UnpackContext;
use super::fragment::Fragment;
use super::fragment_uses::FragmentUseCounts;
use super::outcome::Outcome;
use super::part::Part;
use super::request::Duplicates;
use super::task::{Job, Tail, Task};
use super::window::{Kind, NO_FRAGMENT, PlannedFile, Window};
use super::work::{JOB_BYTES, Unpacking};
use crate::Error;

/// Approximate bytes of a file per job.
const PIECE: u64 = 1 << 20;
/// Files with equal blocks that are written together; each needs a handle.
const AT_ONCE: u32 = 16;
/// Approximate number of files per job of tail ends or of empty files.
const SMALL_FILES: u32 = 64;
/// Memory of a file with blocks and a tail end until its tail end is written, bytes.
pub const ENDED_BYTES: usize = 160;

/// Submits one window.
pub struct Feeder<'f, 'o> {
    context: &'f UnpackContext,
    window: Arc<Window>,
    map: &'f mut OrderedMap<Unpacking>,
    collector: &'f mut ResultCollector<'o>,
    uses: &'f mut FragmentUseCounts,
    block_size: BlockSize,
    /// Files with blocks whose tail ends are not yet written, by fragment block.
    ends: BTreeMap<u32, Vec<Arc<Part>>>,
}

pub type Stop = Fault<Error>;

impl<'f, 'o> Feeder<'f, 'o> {
    /// Sorts a window and writes all of it.
    ///
    /// # Errors
    /// The first error in the order of the files, or that of the map.
    pub fn write(
        context: &'f UnpackContext,
        mut window: Window,
        map: &'f mut OrderedMap<Unpacking>,
        collector: &'f mut ResultCollector<'o>,
        uses: &'f mut FragmentUseCounts,
    ) -> Result<(), Stop> {
        let block_size = context.opened.image.superblock().block_size;
        window.sort(block_size);
        let window = Arc::new(window);
        let mut feeder = Feeder { context, window, map, collector, uses, block_size, ends: BTreeMap::new() };
        feeder.feed_all()?;
        feeder.map.drain(feeder.collector)
    }

    fn feed_all(&mut self) -> Result<(), Stop> {
        let total = self.window.files().len();
        let kinds = self.window.files().partition_point(|file| file.kind(self.block_size) == Kind::Blocks);
        let tails = self.window.files().partition_point(|file| file.kind(self.block_size) <= Kind::Tail);
        let mut at = 0;
        while at < kinds {
            at += self.feed_file(at)?;
        }
        self.feed_tails(kinds, tails)?;
        for start in (tails..total).step_by(SMALL_FILES as usize) {
            let end = total.min(start + SMALL_FILES as usize);
            self.feed(Job::Empty(start as u32..end as u32), 0)?;
        }
        Ok(())
    }

    fn feed(&mut self, work: Job, bytes: usize) -> Result<(), Stop> {
        let permit = self.map.reserve(bytes + JOB_BYTES, self.collector)?;
        let task = Task { window: self.window.clone(), work, _permit: permit };
        self.map.submit(task, self.collector)
    }

    /// Records an error if unpacking continues; else returns it after those of earlier files.
    fn failed(&mut self, file: &PlannedFile, error: Error) -> Result<(), Stop> {
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

    /// Submits a file with blocks and those with the same content; returns their number.
    fn feed_file(&mut self, first: usize) -> Result<usize, Stop> {
        let file = self.window.files()[first];
        let data = match self.data(&file) {
            Ok(data) => data,
            Err(error) => return self.failed(&file, error).map(|()| 1),
        };
        let alike = match self.window.alike(first) {
            1 => 1,
            resembling => self.same_blocks(first, resembling, &data),
        };
        let (written, sharing) = self.divide(alike as u32);
        for start in (0..written).step_by(AT_ONCE as usize) {
            let count = AT_ONCE.min(written - start);
            let part = Arc::new(Part::new(first as u32 + start, count, sharing));
            self.feed_blocks(&file, &part, self.context.opened.image.blocks(&data))?;
        }
        Ok(alike)
    }

    /// Splits a number of files with equal content into those that are written and those that share the content.
    fn divide(&self, alike: u32) -> (u32, u32) {
        if self.context.duplicates == Duplicates::Copy { (alike, 0) } else { (1, alike - 1) }
    }

    fn data(&self, file: &PlannedFile) -> Result<FileData, Error> {
        match self.context.opened.image.inode(file.inode) {
            Ok(Inode { node: Node::File(data), .. }) => Ok(data),
            Ok(_) => Err(self.fault(file, ReadError::internal("the inode is not a file any more".to_string()))),
            Err(cause) => Err(self.fault(file, cause)),
        }
    }

    /// How many of the files with the same position as the first also have its block list. They must be consecutive: at the first mismatch
    /// the rest is treated as different.
    fn same_blocks(&self, first: usize, resembling: usize, data: &FileData) -> usize {
        let image = &self.context.opened.image;
        let same = |number: &usize| {
            let file = self.window.files()[first + number];
            self.data(&file).is_ok_and(|other| equal(image.blocks(data), image.blocks(&other)))
        };
        (1..resembling).take_while(same).count() + 1
    }

    /// Cuts a file into jobs. The part's count is one higher than the number of jobs until the last is submitted.
    fn feed_blocks(&mut self, file: &PlannedFile, part: &Arc<Part>, blocks: Blocks) -> Result<(), Stop> {
        let mut piece = Piece::default();
        for block in blocks {
            let block = match block {
                Ok(block) => block,
                Err(cause) => {
                    part.mark_damaged();
                    for number in part.files() {
                        let file = self.window.files()[number as usize];
                        let error = self.fault(&file, cause.clone());
                        self.failed(&file, error)?;
                    }
                    break;
                }
            };
            if piece.is_full() {
                part.add_job();
                self.feed_piece(part, &mut piece)?;
            }
            piece.add(block, self.context.sparse);
        }
        if file.fragment != NO_FRAGMENT {
            part.add_job();
            self.ends.entry(file.fragment).or_default().push(part.clone());
        }
        self.feed_piece(part, &mut piece)
    }

    fn feed_piece(&mut self, part: &Arc<Part>, piece: &mut Piece) -> Result<(), Stop> {
        let blocks = piece.take();
        let bytes = blocks.capacity() * size_of::<(u64, Block)>();
        self.feed(Job::Blocks { part: part.clone(), blocks }, bytes)
    }

    /// Submits the tail ends of the files `at..end` and those of files with blocks, ordered by fragment block.
    fn feed_tails(&mut self, mut at: usize, end: usize) -> Result<(), Stop> {
        loop {
            let whole = (at < end).then(|| self.window.files()[at].fragment);
            let ended = self.ends.first_key_value().map(|(&index, _)| index);
            let Some(index) = whole.into_iter().chain(ended).min() else { return Ok(()) };
            let parts = self.ends.remove(&index).unwrap_or_default();
            let mut batch = Batch { fragment: self.fragment(index)?, tails: Vec::new(), files: 0 };
            for part in parts {
                let count = part.count;
                self.add_tail(&mut batch, Tail::EndOf(part), count)?;
            }
            while at < end && self.window.files()[at].fragment == index {
                at += self.add_whole(&mut batch, at)?;
            }
            self.feed_batch(&mut batch)?;
        }
    }

    fn fragment(&mut self, index: u32) -> Result<Arc<Fragment>, Stop> {
        let permit = self.map.reserve(self.block_size.bytes(), self.collector)?;
        Ok(Arc::new(Fragment::new(self.context.opened.image.fragment(index), self.uses.share(index), permit)))
    }

    fn add_whole(&mut self, batch: &mut Batch, first: usize) -> Result<usize, Stop> {
        let alike = self.window.alike(first);
        let (written, sharing) = self.divide(alike as u32);
        for start in (0..written).step_by(SMALL_FILES as usize) {
            let count = SMALL_FILES.min(written - start);
            self.add_tail(batch, Tail::Whole { first: first as u32 + start, count, sharing }, count + sharing)?;
        }
        Ok(alike)
    }

    fn add_tail(&mut self, batch: &mut Batch, tail: Tail, files: u32) -> Result<(), Stop> {
        batch.tails.push(tail);
        batch.files += files;
        if batch.files >= SMALL_FILES { self.feed_batch(batch) } else { Ok(()) }
    }

    fn feed_batch(&mut self, batch: &mut Batch) -> Result<(), Stop> {
        let tails = std::mem::take(&mut batch.tails);
        batch.files = 0;
        if tails.is_empty() {
            return Ok(());
        }
        let bytes = tails.len() * size_of::<Tail>();
        self.feed(Job::Tails { fragment: batch.fragment.clone(), tails }, bytes)
    }
}

/// Blocks collected for a job, each with its offset in the file, bytes.
#[derive(Default)]
struct Piece {
    blocks: Vec<(u64, Block)>,
    /// Bytes to write.
    data: u64,
    /// Offset of the next block in the file, bytes.
    position: u64,
}

impl Piece {
    fn is_full(&self) -> bool {
        self.data >= PIECE
    }

    /// Holes that stay holes are skipped: a hole of a terabyte takes no memory.
    fn add(&mut self, block: Block, sparse: bool) {
        if block.place.is_some() || !sparse {
            self.blocks.push((self.position, block));
            self.data += u64::from(block.length);
        }
        self.position += u64::from(block.length);
    }

    fn take(&mut self) -> Vec<(u64, Block)> {
        self.data = 0;
        std::mem::take(&mut self.blocks)
    }
}

/// Tail ends of one fragment block collected for a job.
struct Batch {
    fragment: Arc<Fragment>,
    tails: Vec<Tail>,
    files: u32,
}

fn equal(one: Blocks, mut other: Blocks) -> bool {
    for block in one {
        match (block, other.next()) {
            (Ok(one), Some(Ok(other))) if one == other => {}
            _ => return false,
        }
    }
    other.next().is_none()
}
