//! Entries in order, each with its content: read by the caller, or ahead of it by readers.
//!
//! With readers, the list of entries runs ahead of the caller, by a bounded distance; small files go into batches that readers
//! complete, everything else waits in the queue for the caller. Batches come out in the order they went in, so the caller
//! gets the same entries, contents and errors as without readers.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ahead::{Ahead, Next};
use super::batch::Item;
use super::fault::Fault;
use super::file::OpenFile;
use super::found::{Found, Place};
use super::readers::Readers;
use super::xattr::{XattrReader, join};
use crate::{Bytes, Entry, Error, Extent};

/// Lists entries in order.
pub(crate) trait Finder {
    fn find(&mut self) -> Result<Option<Found>, Error>;
}

/// Entries and contents in order.
pub(crate) struct Feed<F> {
    finder: F,
    ahead: Option<Ahead>,
    root: Arc<Path>,
    xattrs: XattrReader,
    current: Current,
    /// The current file's place: its path below the root, or its path on this machine.
    name: Bytes,
    host: Option<PathBuf>,
    bytes_done: u64,
}

enum Current {
    Nothing,
    Open(OpenFile),
    Loaded(Range<usize>, Option<Fault>),
}

impl<F: Finder> Feed<F> {
    /// `root` precedes entries' paths in messages; `window` bytes of content are read ahead at most.
    pub fn new(finder: F, root: &Path, readers: usize, window: usize) -> Self {
        let root: Arc<Path> = root.into();
        let readers = if readers > 0 { Readers::start(readers, &root).ok() } else { None };
        let ahead = readers.map(|readers| Ahead::new(readers, window));
        Self {
            finder,
            ahead,
            root,
            xattrs: XattrReader::default(),
            current: Current::Nothing,
            name: Bytes::new(),
            host: None,
            bytes_done: 0,
        }
    }

    pub fn bytes_done(&self) -> u64 {
        self.bytes_done
    }

    pub fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        self.current = Current::Nothing;
        let next = match &mut self.ahead {
            Some(ahead) => ahead.next(&mut self.finder)?,
            None => self.finder.find()?.map(Next::Alone),
        };
        match next {
            Some(Next::Alone(found)) => self.start(found).map(Some),
            Some(Next::Loaded(item)) => self.start_loaded(item).map(Some),
            None => Ok(None),
        }
    }

    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        let found = match &mut self.current {
            Current::Nothing => Ok(Extent::End),
            Current::Open(file) => file.read(buffer),
            Current::Loaded(rest, fault) => match fault {
                Some(fault) => Err(*fault),
                None => Ok(copy(rest, self.ahead.as_ref().map_or(&[], Ahead::data), buffer)),
            },
        };
        let extent = found.map_err(|fault| self.fault(fault))?;
        self.bytes_done += match extent {
            Extent::Data(count) => count as u64,
            Extent::Hole(count) => count,
            Extent::End => 0,
        };
        Ok(extent)
    }

    /// An entry whose file is read here.
    fn start(&mut self, mut found: Found) -> Result<Entry, Error> {
        self.note(&found);
        let opened = match found.size() {
            Some(0) if found.is_nowhere() => Ok(Current::Nothing),
            Some(_) => found.open(&mut self.xattrs).map(|file| Current::Open(OpenFile::new(file, &found))),
            None => found.read_xattrs(&mut self.xattrs, &self.root).map(|()| Current::Nothing),
        };
        self.current = opened.map_err(|fault| self.fault(fault))?;
        Ok(found.entry)
    }

    /// An entry whose file a reader has read.
    fn start_loaded(&mut self, item: Item) -> Result<Entry, Error> {
        self.note(&item.found);
        self.current = Current::Loaded(item.content, item.reading);
        match item.opening {
            Some(fault) => Err(self.fault(fault)),
            None => Ok(item.found.entry),
        }
    }

    fn note(&mut self, found: &Found) {
        self.name.clone_from(&found.entry.path);
        self.host = match &found.place {
            Place::At(path) => Some(path.clone()),
            Place::In(_) | Place::Nowhere => None,
        };
    }

    fn fault(&self, fault: Fault) -> Error {
        match &self.host {
            Some(path) => fault.at(path),
            None => fault.at(&join(&self.root, &self.name)),
        }
    }
}

fn copy(rest: &mut Range<usize>, data: &[u8], buffer: &mut [u8]) -> Extent {
    if rest.start == rest.end {
        return Extent::End;
    }
    let count = rest.len().min(buffer.len());
    buffer[..count].copy_from_slice(&data[rest.start..rest.start + count]);
    rest.start += count;
    Extent::Data(count)
}
