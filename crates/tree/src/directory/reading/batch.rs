//! A run of small files that are opened and read whole, one after the other, into one buffer.

use std::collections::VecDeque;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::FileType;

use super::change::{Change, Watch};
use crate::directory::fault::{Fault, Tried};
use crate::directory::found::{SMALL_BYTES, ScannedEntry};
use crate::directory::xattr::XattrReader;

/// Consecutive entries that a reader completes in one go; kept and used again for their buffers.
#[derive(Default)]
pub(super) struct Batch {
    pub items: VecDeque<Item>,
    pub data: Vec<u8>,
    /// Sum of the sizes of all contents.
    bytes: usize,
}

pub(super) struct Item {
    pub found: ScannedEntry,
    /// Where its content is in the batch's data.
    pub content: Range<usize>,
    /// Opening it failed.
    pub opening: Option<Fault>,
    /// Reading its extended attributes failed.
    pub attributes: Option<Fault>,
    /// Reading its content failed.
    pub reading: Option<Fault>,
    /// Its content differs from what was listed.
    pub change: Option<Change>,
    /// The caller reads it: it is larger than it was listed.
    pub later: bool,
}

impl Batch {
    pub fn push(&mut self, found: ScannedEntry) {
        self.bytes += found.size().unwrap_or(0) as usize;
        self.items.push_back(Item::new(found));
    }

    pub fn clear(&mut self) {
        self.items.clear();
        self.data.clear();
        self.bytes = 0;
    }

    pub fn is_full(&self, bytes: usize, items: usize) -> bool {
        self.bytes >= bytes || self.items.len() >= items
    }

    /// Reads everything. Failures are kept with their items: the first in order is reported.
    pub fn load(&mut self, xattrs: &mut XattrReader, root: &Path) {
        self.data.reserve_exact(self.bytes + 1);
        for item in &mut self.items {
            item.load(&mut self.data, xattrs, root);
        }
    }
}

impl Item {
    fn new(found: ScannedEntry) -> Item {
        let content = 0..0;
        let later = false;
        Item { found, content, opening: None, attributes: None, reading: None, change: None, later }
    }

    fn load(&mut self, data: &mut Vec<u8>, xattrs: &mut XattrReader, root: &Path) {
        if self.found.size().is_none() {
            self.attributes = self.found.read_xattrs(xattrs, root).err();
            return;
        }
        match self.found.open() {
            Ok(file) => {
                self.attributes = self.found.read_xattrs_of(&file, xattrs).err();
                let start = data.len();
                self.reading = self.read(&file, data).err();
                self.content = start..data.len();
            }
            Err(fault) => self.opening = Some(fault),
        }
    }

    /// Appends the content, and notes its size. A file that turns out to be large is left to the caller.
    fn read(&mut self, file: &OwnedFd, data: &mut Vec<u8>) -> Result<(), Fault> {
        let start = data.len();
        let mut watch = Watch::new(&self.found);
        loop {
            data.truncate(start);
            let size = watch.size as usize;
            let ended = read_whole(file, size, data)?;
            data.truncate(start + size);
            let stat = rustix::fs::fstat(file).tried("cannot examine")?;
            if let Some(meta) = watch.end(&stat, ended)? {
                self.found.entry.meta = meta;
            }
            if !watch.again() {
                break;
            }
            self.later = watch.size > SMALL_BYTES;
            if self.later {
                data.truncate(start);
                self.found.modified = None;
                break;
            }
        }
        self.change = watch.change();
        self.found.set_size(watch.size);
        if watch.size == 0 && !self.found.fixed {
            self.found.measure(file)?;
            self.later = self.found.measured;
        } else if !self.later {
            data.resize(start + watch.size as usize, 0);
        }
        Ok(())
    }
}

/// Appends so many bytes of a file, and perhaps some that follow; returns the byte at which it ended before.
fn read_whole(file: &OwnedFd, size: usize, data: &mut Vec<u8>) -> Result<Option<u64>, Fault> {
    let start = data.len();
    data.reserve_exact(size + 1);
    while data.len() - start < size {
        let at = (data.len() - start) as u64;
        let read = || rustix::io::pread(file, spare_capacity(data), at);
        let count = rustix::io::retry_on_intr(read).tried("cannot read");
        let count = count.map_err(|fault| fault.unless_turned(FileType::RegularFile, rustix::fs::fstat(file)))?;
        if count == 0 {
            return Ok(Some(at));
        }
    }
    Ok(None)
}
