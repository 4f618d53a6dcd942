//! A run of small files that are opened and read whole, one after the other, into one buffer.

use std::collections::VecDeque;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::buffer::spare_capacity;

use super::fault::{Fault, Tried};
use super::file::Expected;
use super::found::Found;
use super::xattr::XattrReader;

/// Consecutive entries that a reader completes in one go; kept and used again for their buffers.
#[derive(Default)]
pub(super) struct Batch {
    pub items: VecDeque<Item>,
    pub data: Vec<u8>,
    /// Sum of the sizes of all contents.
    bytes: usize,
}

pub(super) struct Item {
    pub found: Found,
    /// Where its content is in the batch's data.
    pub content: Range<usize>,
    /// Opening it failed.
    pub opening: Option<Fault>,
    /// Reading its extended attributes failed.
    pub attributes: Option<Fault>,
    /// Reading its content failed.
    pub reading: Option<Fault>,
}

impl Batch {
    pub fn push(&mut self, found: Found) {
        self.bytes += found.size().unwrap_or(0) as usize;
        self.items.push_back(Item { found, content: 0..0, opening: None, attributes: None, reading: None });
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
    fn load(&mut self, data: &mut Vec<u8>, xattrs: &mut XattrReader, root: &Path) {
        if self.found.size().is_none() {
            self.attributes = self.found.read_xattrs(xattrs, root).err();
            return;
        }
        match self.found.open() {
            Ok(file) => {
                self.attributes = self.found.read_xattrs_of(&file, xattrs).err();
                self.read(&file, data);
            }
            Err(fault) => self.opening = Some(fault),
        }
    }

    fn read(&mut self, file: &OwnedFd, data: &mut Vec<u8>) {
        let (start, expected) = (data.len(), Expected::of(&self.found));
        self.reading = read_whole(file, &expected, data).err();
        self.content = start..data.len().min(start + expected.size as usize);
        data.truncate(self.content.end);
    }
}

/// Appends the content, perhaps with some bytes too many if the check fails.
fn read_whole(file: &OwnedFd, expected: &Expected, data: &mut Vec<u8>) -> Result<(), Fault> {
    let end = data.len() + expected.size as usize;
    data.reserve_exact(expected.size as usize + 1);
    while data.len() < end {
        let count = rustix::io::retry_on_intr(|| rustix::io::read(file, spare_capacity(data))).tried("cannot read");
        let count = count.map_err(|fault| expected.explain(file, fault))?;
        if count == 0 {
            expected.check(file)?;
            let found = expected.size - (end - data.len()) as u64;
            return Err(Fault::Size(found, expected.size));
        }
    }
    expected.check(file)
}
