//! A run of small files that are opened and read completely, one after another, into one buffer.

use std::collections::VecDeque;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::FileType;

use super::change::{Change, ChangeCheck};
use crate::directory::fault::{Fault, Tried};
use crate::directory::found::{SMALL_BYTES, ScannedEntry};
use crate::directory::xattr::XattrReader;

/// Consecutive entries that a reader completes in one job. Batches are reused for their buffers.
#[derive(Default)]
pub(super) struct Batch {
    pub items: VecDeque<Item>,
    pub data: Vec<u8>,
    /// Sum of the sizes of all contents.
    bytes: usize,
}

pub(super) struct Item {
    pub found: ScannedEntry,
    /// The range of its content in the batch's data.
    pub content: Range<usize>,
    /// The file could not be opened.
    pub opening: Option<Fault>,
    /// The extended attributes could not be read.
    pub attributes: Option<Fault>,
    /// The content could not be read.
    pub reading: Option<Fault>,
    /// The content differs from the listed file.
    pub change: Option<Change>,
    /// Left to the caller, because the file is larger than listed.
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

    /// Reads all files. Failures are kept with their items, because the first in order is reported.
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

    /// Appends the content and records its size. A file that turns out to be large is left to the caller.
    fn read(&mut self, file: &OwnedFd, data: &mut Vec<u8>) -> Result<(), Fault> {
        let start = data.len();
        let mut check = ChangeCheck::new(&self.found);
        loop {
            data.truncate(start);
            let size = check.size as usize;
            let ended = read_whole(file, size, data)?;
            data.truncate(start + size);
            let stat = rustix::fs::fstat(file).tried("cannot examine")?;
            if let Some(meta) = check.end(&stat, ended)? {
                self.found.entry.meta = meta;
            }
            if !check.again() {
                break;
            }
            self.later = check.size > SMALL_BYTES;
            if self.later {
                data.truncate(start);
                self.found.modified = None;
                break;
            }
        }
        self.change = check.change();
        self.found.set_size(check.size);
        if check.size == 0 && !self.found.fixed {
            self.found.measure(file)?;
            self.later = self.found.measured;
        } else if !self.later {
            data.resize(start + check.size as usize, 0);
        }
        Ok(())
    }
}

/// Appends `wanted` bytes of a file, and possibly some bytes after them. Returns the offset at which the file ended, if it is too
/// short.
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
