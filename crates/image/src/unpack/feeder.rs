//! Submits a window's files: large ones in pieces, tail ends by fragment block, so that each block is decoded once.

use std::collections::BTreeMap;
use std::sync::Arc;

use packline_engine::{Fault, OrderedMap};
use packline_squashfs::read::{Block, Blocks, FileData, Inode, Node, ReadError};

use super::desk::Desk;
use super::fragment::Fragment;
use super::later::Later;
use super::notes::Outcome;
use super::part::Part;
use super::request::Duplicates;
use super::shop::Shop;
use super::task::{Job, Tail, Task};
use super::window::{Kind, NO_FRAGMENT, PlannedFile, Window};
use super::work::{JOB_BYTES, Unpacking};
use crate::Error;

/// Bytes of a file that one job writes, about.
const PIECE: u64 = 1 << 20;
/// Files with equal blocks that are written at once; each takes a handle.
const AT_ONCE: u32 = 16;
/// Files that one job makes out of a fragment block, and empty ones, about.
const SMALL_FILES: u32 = 64;
/// Memory that a file with blocks and a tail end takes until its tail end is written, bytes.
pub const ENDED_BYTES: usize = 160;

/// Feeds one window.
pub struct Feeder<'f, 'o> {
    shop: &'f Shop,
    window: Arc<Window>,
    map: &'f mut OrderedMap<Unpacking>,
    desk: &'f mut Desk<'o>,
    later: &'f mut Later,
    block_size: u32,
    /// Files with blocks whose tail ends are to come, by fragment block.
    ends: BTreeMap<u32, Vec<Arc<Part>>>,
}

/// Why feeding stops.
pub type Stop = Fault<Error>;

impl<'f, 'o> Feeder<'f, 'o> {
    /// Sorts a window and writes all of it.
    ///
    /// # Errors
    /// The first error in the order of the files, or that of the map.
    pub fn write(
        shop: &'f Shop,
        mut window: Window,
        map: &'f mut OrderedMap<Unpacking>,
        desk: &'f mut Desk<'o>,
        later: &'f mut Later,
    ) -> Result<(), Stop> {
        let block_size = shop.opened.image.superblock().block_size;
        window.sort(block_size);
        let window = Arc::new(window);
        let mut feeder = Feeder { shop, window, map, desk, later, block_size, ends: BTreeMap::new() };
        feeder.feed_all()?;
        feeder.map.drain(feeder.desk)
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
        let permit = self.map.reserve(bytes + JOB_BYTES, self.desk)?;
        let task = Task { window: self.window.clone(), work, _permit: permit };
        self.map.submit(task, self.desk)
    }

    /// Keeps an error of ours if the rest goes on; else everything before it comes first.
    fn failed(&mut self, file: &PlannedFile, error: Error) -> Result<(), Stop> {
        let mut outcome = Outcome::new(self.shop.go_on);
        outcome.written.unreadable.insert(self.window.key(file));
        match outcome.keep::<()>(Err(error)) {
            Ok(_) => {
                self.desk.take(outcome);
                Ok(())
            }
            Err(error) => {
                self.map.drain(self.desk)?;
                Err(Fault::Work(error))
            }
        }
    }

    fn fault(&self, file: &PlannedFile, cause: ReadError) -> Error {
        self.shop.fault(file.directory, self.window.name(file), cause)
    }

    /// Feeds a file with blocks and those that have the same content; how many that were.
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
            self.feed_blocks(&file, &part, self.shop.opened.image.blocks(&data))?;
        }
        Ok(alike)
    }

    /// Of so many files with equal content, how many are written and how many share what was written.
    fn divide(&self, alike: u32) -> (u32, u32) {
        if self.shop.duplicates == Duplicates::Copy { (alike, 0) } else { (1, alike - 1) }
    }

    fn data(&self, file: &PlannedFile) -> Result<FileData, Error> {
        match self.shop.opened.image.inode(file.inode) {
            Ok(Inode { node: Node::File(data), .. }) => Ok(data),
            Ok(_) => Err(self.fault(file, ReadError::Internal("a file is no file any more".to_string()))),
            Err(cause) => Err(self.fault(file, cause)),
        }
    }

    /// How many of the files that resemble the first have its block list too. Those stand at the front: the others are
    /// moved behind them only by being taken one by one.
    fn same_blocks(&self, first: usize, resembling: usize, data: &FileData) -> usize {
        let image = &self.shop.opened.image;
        let same = |number: &usize| {
            let file = self.window.files()[first + number];
            self.data(&file).is_ok_and(|other| equal(image.blocks(data), image.blocks(&other)))
        };
        (1..resembling).take_while(same).count() + 1
    }

    /// Cuts a file into jobs. The part counts one job more than there are until the last is on its way.
    fn feed_blocks(&mut self, file: &PlannedFile, part: &Arc<Part>, blocks: Blocks) -> Result<(), Stop> {
        let mut piece = Piece::default();
        for block in blocks {
            let block = match block {
                Ok(block) => block,
                Err(cause) => {
                    let error = self.fault(file, cause);
                    self.failed(file, error)?;
                    break;
                }
            };
            if piece.is_full() {
                part.add_job();
                self.feed_piece(part, &mut piece)?;
            }
            piece.add(block, self.shop.sparse);
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

    /// Feeds the tail ends of the files `at..end`, and with them those of files with blocks, fragment block by fragment
    /// block.
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
        let permit = self.map.reserve(self.block_size as usize, self.desk)?;
        Ok(Arc::new(Fragment::new(self.shop.opened.image.fragment(index), self.later.share(index), permit)))
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

/// Blocks on their way into a job, each with its offset in the file, bytes.
#[derive(Default)]
struct Piece {
    blocks: Vec<(u64, Block)>,
    /// Bytes to be written.
    data: u64,
    /// Where in the file the next block lies, bytes.
    position: u64,
}

impl Piece {
    fn is_full(&self) -> bool {
        self.data >= PIECE
    }

    /// Holes that stay holes are nothing to be done: a file of a terabyte of them is no list at all.
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

/// Tail ends of one fragment block on their way into a job.
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
