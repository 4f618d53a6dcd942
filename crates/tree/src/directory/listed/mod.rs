//! A directory whose entries are all listed first, and whose contents are read later in any order.
//!
//! Announced contents ([`Source::expect`]) are read ahead as in a [`super::DirectorySource`]. A file keeps the size that was
//! listed, so a file that shrank ends with zeros. It must still be the listed file, and is reached only through directories,
//! never through a symbolic link that has replaced a directory.

mod locations;

use std::collections::VecDeque;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use packline_runtime::escape::Escape;

use crate::directory::fault::Fault;
use crate::directory::found::{FileLocation, ScannedEntry};
use crate::directory::reading::{Feed, Finder};
use crate::directory::scan::{Scanner, open_directory, open_root};
use crate::directory::xattr::join;
use crate::directory::{DirectoryOptions, OPEN_DIRECTORIES, ReadErrors};
use crate::{Bookmark, Bytes, Entry, Error, Extent, Kind, Meta, Source, UnreadPart};
use locations::{FileLocations, ListedFile};

/// A directory that is listed before it is read. [`DirectoryOptions::errors`] does not apply to it.
pub struct ListedDirectory {
    scanner: Scanner,
    root: Arc<Path>,
    readers: usize,
    ahead_bytes: usize,
    ahead_directories: usize,
    locations: Rc<FileLocations>,
    current: Option<ScannedEntry>,
    /// Contents in the announced order, and the numbers of the contents that have not begun.
    announced: Option<(Feed<Later>, VecDeque<u32>)>,
    alone: Option<Feed<Later>>,
    bytes_done: u64,
    warnings: Vec<String>,
}

impl ListedDirectory {
    /// Opens the directory `root`, which may be a symbolic link to a directory. Fails if it cannot be opened.
    pub fn open(root: &Path, mut options: DirectoryOptions) -> Result<Self, Error> {
        options.errors = ReadErrors::Fail;
        Ok(Self {
            root: root.into(),
            readers: options.readers,
            ahead_bytes: options.ahead_bytes,
            ahead_directories: options.ahead_directories,
            scanner: Scanner::open(root, options)?,
            locations: Rc::default(),
            current: None,
            announced: None,
            alone: None,
            bytes_done: 0,
            warnings: Vec::new(),
        })
    }

    fn feed(&self, order: Vec<u32>, readers: usize) -> Result<Feed<Later>, Error> {
        let later = Later::new(&self.root, Rc::clone(&self.locations), order)?;
        Ok(Feed::new(later, &self.root, readers, self.ahead_bytes).keeping_open(self.ahead_directories))
    }

    /// Makes the last entry the current file, if its content has not been asked for.
    fn open_current(&mut self) -> Result<(), Error> {
        let bookmark = if self.current.is_some() { self.bookmark() } else { None };
        bookmark.map_or(Ok(()), |bookmark| self.recall(&bookmark, &[]))
    }

    /// Collects the warnings so far.
    fn drain(&mut self) {
        self.warnings.append(&mut self.scanner.warnings);
        let feeds = [self.alone.as_mut(), self.announced.as_mut().map(|(feed, _)| feed)];
        feeds.into_iter().flatten().for_each(|feed| self.warnings.append(&mut feed.take_warnings()));
    }

    /// Whether a file is in the rest of the announced order. If so, it becomes the current file.
    fn go_to(&mut self, number: u32) -> Result<bool, Error> {
        let Some((feed, left)) = &mut self.announced else { return Ok(false) };
        let Some(passed) = left.iter().position(|other| *other == number) else { return Ok(false) };
        for _ in 0..=passed {
            left.pop_front();
            feed.next_entry()?;
        }
        Ok(true)
    }
}

impl Source for ListedDirectory {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        self.drain();
        self.alone = None;
        self.announced = None;
        self.current = self.scanner.next_measured()?;
        let Some(found) = &self.current else { return Ok(None) };
        if let Some(locations) = Rc::get_mut(&mut self.locations) {
            let directory = found.entry.kind == Kind::Dir;
            locations.visit(
                &found.entry.path,
                directory,
                self.scanner.stack.last().is_some_and(|frame| frame.followed),
            );
        }
        Ok(Some(found.entry.clone()))
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        self.open_current()?;
        let extent = match (&mut self.alone, &mut self.announced) {
            (Some(feed), _) => feed.read(buffer)?,
            (None, Some((feed, _))) => feed.read(buffer)?,
            _ => Extent::End,
        };
        self.bytes_done += match extent {
            Extent::Data(bytes) => bytes as u64,
            Extent::Hole(bytes) => bytes,
            Extent::End => 0,
        };
        Ok(extent)
    }

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        self.open_current()?;
        let part = match (&mut self.alone, &mut self.announced) {
            (Some(feed), _) => feed.read_later(most)?,
            (None, Some((feed, _))) => feed.read_later(most)?,
            _ => None,
        };
        self.bytes_done += part.as_ref().map_or(0, |part| part.bytes as u64);
        Ok(part)
    }

    fn data_ranges(&mut self, most: usize) -> Result<Option<Vec<Range<u64>>>, Error> {
        self.open_current()?;
        Ok(match (&self.alone, &self.announced) {
            (Some(feed), _) => feed.data_ranges(most),
            (None, Some((feed, _))) => feed.data_ranges(most),
            _ => None,
        })
    }

    fn shared_file(&self) -> Option<(u64, u64)> {
        let found = self.current.as_ref().filter(|found| found.shared && self.scanner.options.hard_links);
        found.and_then(|found| found.id)
    }

    fn bookmark(&mut self) -> Option<Bookmark> {
        let found = self.current.as_ref().filter(|found| found.size().is_some_and(|size| size > 0))?;
        let followed = matches!(found.location, FileLocation::In { followed: true, .. });
        Rc::get_mut(&mut self.locations)?.add(found, followed).map(|number| Bookmark::Number(number.into()))
    }

    fn recall(&mut self, bookmark: &Bookmark, path: &[u8]) -> Result<(), Error> {
        let number = if let Bookmark::Number(number) = bookmark { u32::try_from(*number).ok() } else { None };
        let foreign = || Bookmark::foreign(&self.root.escaped(), path);
        let number = number.filter(|number| self.locations.file(*number).is_some()).ok_or_else(foreign)?;
        self.drain();
        self.current = None;
        self.alone = None;
        if !self.go_to(number)? {
            let mut feed = self.feed(vec![number], 0)?;
            feed.next_entry()?;
            self.alone = Some(feed);
        }
        Ok(())
    }

    fn expect(&mut self, order: &mut dyn Iterator<Item = Bookmark>) {
        let number = |bookmark| if let Bookmark::Number(number) = bookmark { u32::try_from(number).ok() } else { None };
        let order: Vec<u32> = order.filter_map(number).collect();
        self.drain();
        // The order is a hint: without it, each file is read separately.
        self.announced = self.feed(order.clone(), self.readers).ok().map(|feed| (feed, order.into()));
    }

    /// Bytes of contents returned so far, including holes. The total is not known.
    fn progress(&self) -> (u64, Option<u64>) {
        (self.bytes_done, None)
    }

    fn memory(&self) -> usize {
        self.locations.memory()
    }

    fn take_warnings(&mut self) -> Vec<String> {
        self.drain();
        std::mem::take(&mut self.warnings)
    }
}

/// ListedFile files in the order of reading.
struct Later {
    root: Arc<Path>,
    locations: Rc<FileLocations>,
    order: std::vec::IntoIter<u32>,
    /// Open directories from the root to the last file's directory. If there are many, some in the middle are missing.
    open: Vec<(u32, Arc<OwnedFd>)>,
}

impl Later {
    fn new(root: &Arc<Path>, locations: Rc<FileLocations>, order: Vec<u32>) -> Result<Later, Error> {
        let opened = open_root(root).map_err(|fault| fault.at(root))?;
        Ok(Later { root: Arc::clone(root), locations, order: order.into_iter(), open: vec![(0, Arc::new(opened))] })
    }

    fn enter(&mut self, directory: u32) -> Result<Arc<OwnedFd>, Error> {
        let mut at = directory;
        let mut way = Vec::new();
        let known = loop {
            match self.open.iter().rposition(|(open, _)| *open == at) {
                Some(known) => break known,
                None => way.push(at),
            }
            at = self.locations.directory(at).map_or(0, |(parent, ..)| parent);
        };
        self.open.truncate(known + 1);
        for next in way.into_iter().rev() {
            self.step(next).map_err(|fault| fault.at(&join(&self.root, &self.locations.directory_path(next))))?;
        }
        self.open.last().map(|(_, open)| Arc::clone(open)).ok_or_else(|| Fault::Replaced.at(&self.root))
    }

    fn step(&mut self, directory: u32) -> Result<(), Fault> {
        let (Some((_, above)), Some((_, name, followed))) = (self.open.last(), self.locations.directory(directory))
        else {
            return Err(Fault::Replaced);
        };
        let opened = open_directory(above, name, followed)?;
        self.open.push((directory, Arc::new(opened)));
        if self.open.len() > OPEN_DIRECTORIES {
            self.open.remove(1);
        }
        Ok(())
    }
}

impl Finder for Later {
    fn find(&mut self) -> Result<Option<ScannedEntry>, Error> {
        let Some(file) = self.order.next().and_then(|number| self.locations.file(number)) else { return Ok(None) };
        let ListedFile { path, directory, id, size, sparse, followed, measured } = file;
        let directory = self.enter(directory)?;
        let location = FileLocation::In { directory, followed };
        let found = ScannedEntry::new(unnamed(path, size), location);
        Ok(Some(ScannedEntry { id: Some(id), sparse, measured, fixed: true, ..found }))
    }
}

/// An entry that is used only for its content.
fn unnamed(path: Bytes, size: u64) -> Entry {
    let meta = Meta::default();
    Entry { path, kind: Kind::File { size }, meta, xattrs: Vec::new() }
}
