//! The queue of entries between the list and the caller, and the batches that readers complete in parallel.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::Finder;
use super::batch::{Batch, Item};
use super::readers::Readers;
use crate::Error;
use crate::directory::found::{FileLocation, SMALL_BYTES, ScannedEntry};

/// A batch is submitted when it has this many entries or bytes.
const BATCH_ITEMS: usize = 128;
const BATCH_BYTES: usize = 256 << 10;
/// Maximum number of entries in the queue.
const ITEMS_AHEAD: usize = 1_024;

/// Entries that have been listed but not yet returned to the caller.
pub(super) struct Ahead {
    readers: Readers,
    queue: VecDeque<Planned>,
    /// The batch that is being filled, and its number.
    filling: Batch,
    number: u64,
    /// The batch whose items are being returned, and its number.
    taken: Option<(u64, Batch)>,
    /// Unused batches, kept because new memory costs more than reading a small file into it.
    spare: Vec<Batch>,
    /// Bytes of content that are planned but not yet returned, and their limit.
    bytes: usize,
    window: usize,
    /// Number of directories that the queue keeps open, their limit, and the directory of the last entry.
    directories: usize,
    directories_most: usize,
    last: Option<Arc<OwnedFd>>,
    ended: bool,
}

/// One entry in the queue, and its share of the counts.
struct Planned {
    what: What,
    bytes: usize,
    directories: usize,
}

enum What {
    /// The caller reads it.
    Alone(Box<ScannedEntry>),
    /// The next item of the batch with this number.
    Batched(u64),
    /// Listing failed here, and ended or continued.
    Failed(Error),
    Passed(Error),
}

/// The next entry for the caller.
pub(super) enum Next {
    /// Not opened yet.
    Alone(ScannedEntry),
    /// Completed by a reader. Its content is in [`Ahead::data`].
    Loaded(Item),
    /// Listing failed here, and continued.
    Passed(Error),
}

impl Ahead {
    /// `window` is the number of bytes of content that are read ahead. At least one small file is.
    pub fn new(readers: Readers, window: usize) -> Self {
        Self {
            readers,
            queue: VecDeque::new(),
            filling: Batch::default(),
            number: 0,
            taken: None,
            spare: Vec::new(),
            bytes: 0,
            window: window.max(SMALL_BYTES as usize),
            directories: 0,
            directories_most: usize::MAX,
            last: None,
            ended: false,
        }
    }

    /// Sets the maximum number of open directories, not counting the directory of the next entry.
    pub fn keep_open(&mut self, directories: usize) {
        self.directories_most = directories;
    }

    pub fn next(&mut self, finder: &mut impl Finder) -> Result<Option<Next>, Error> {
        self.fill(finder)?;
        let Some(planned) = self.queue.pop_front() else { return Ok(None) };
        self.bytes -= planned.bytes;
        self.directories -= planned.directories;
        match planned.what {
            What::Alone(found) => Ok(Some(Next::Alone(*found))),
            What::Batched(number) => Ok(self.item(number)?.map(Next::Loaded)),
            What::Failed(error) => Err(error),
            What::Passed(error) => Ok(Some(Next::Passed(error))),
        }
    }

    /// The contents of the batch of the last item.
    pub fn data(&self) -> &[u8] {
        self.taken.as_ref().map_or(&[], |(_, batch)| &batch.data)
    }

    fn fill(&mut self, finder: &mut impl Finder) -> Result<(), Error> {
        while !self.ended && self.has_space() {
            let found = finder.find();
            let passed = finder.take_problems().into_iter().map(What::Passed);
            self.queue.extend(passed.map(|what| Planned { what, bytes: 0, directories: 0 }));
            match found {
                Ok(Some(found)) => self.plan(found)?,
                Ok(None) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    self.queue.push_back(Planned { what: What::Failed(error), bytes: 0, directories: 0 });
                }
            }
        }
        Ok(())
    }

    fn has_space(&self) -> bool {
        let few = self.queue.len() < ITEMS_AHEAD && self.directories < self.directories_most;
        self.queue.is_empty() || few && self.bytes + SMALL_BYTES as usize <= self.window
    }

    fn plan(&mut self, found: ScannedEntry) -> Result<(), Error> {
        let directories = self.count_directory(&found.location);
        if !found.is_small() {
            self.queue.push_back(Planned { what: What::Alone(Box::new(found)), bytes: 0, directories });
            return Ok(());
        }
        let bytes = found.size().unwrap_or(0) as usize;
        self.queue.push_back(Planned { what: What::Batched(self.number), bytes, directories });
        self.bytes += bytes;
        self.filling.push(found);
        if self.filling.is_full(BATCH_BYTES.min(self.window / 4), BATCH_ITEMS) {
            self.submit()?;
        }
        Ok(())
    }

    /// 1 if the queue keeps a directory open only for this location and the following ones.
    fn count_directory(&mut self, location: &FileLocation) -> usize {
        let FileLocation::In { directory, .. } = location else { return 0 };
        if self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, directory)) {
            return 0;
        }
        self.last = Some(Arc::clone(directory));
        self.directories += 1;
        1
    }

    /// Submits the batch that is being filled, and begins another.
    fn submit(&mut self) -> Result<(), Error> {
        self.number += 1;
        let next = self.spare.pop().unwrap_or_default();
        self.readers.submit(std::mem::replace(&mut self.filling, next))
    }

    /// The next item of a batch.
    fn item(&mut self, number: u64) -> Result<Option<Item>, Error> {
        if self.taken.as_ref().is_none_or(|&(taken, _)| taken != number) {
            if number == self.number {
                // The caller has caught up with the list.
                self.submit()?;
            }
            let batch = self.readers.take()?.unwrap_or_default();
            if let Some((_, mut old)) = self.taken.replace((number, batch)) {
                old.clear();
                self.spare.push(old);
            }
        }
        Ok(self.taken.as_mut().and_then(|(_, batch)| batch.items.pop_front()))
    }
}
