//! Entries in order, each with its content. The caller reads the content, or readers read it ahead of the caller.
//!
//! With readers, the list of entries is ahead of the caller by a bounded distance. Small files go into batches that readers
//! complete; other entries wait in the queue for the caller. Batches leave in the order in which they entered, so the caller gets
//! the same entries, contents and errors as without readers.

mod ahead;
mod batch;
mod change;
mod file;
mod readers;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_runtime::process_limit;

use crate::directory::fault::Fault;
use crate::directory::found::{FileLocation, ScannedEntry};
use crate::directory::stat::FileId;
use crate::directory::xattr::{XattrReader, join};
use crate::{Bytes, Entry, Error, Extent, Kind, ReadErrors, UnreadPart};
use ahead::{Ahead, Next};
use batch::{Batch, Item};
use change::Change;
use file::OpenFile;
use readers::Readers;

/// Maximum number of files that workers read at a time.
const OPEN_FILES_MOST: u64 = 128;
/// The part of the process's limit of descriptors that these files may take. Directories, readers and outputs need the others.
const OPEN_FILES_SHARE: u64 = 8;

/// Lists entries in order.
pub(crate) trait Finder {
    fn find(&mut self) -> Result<Option<ScannedEntry>, Error>;

    /// Returns the errors before the last entry that did not stop the listing.
    fn take_problems(&mut self) -> Vec<Error> {
        Vec::new()
    }

    /// Warnings so far about what was listed.
    fn take_warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Entries and contents in order.
pub(crate) struct Feed<F> {
    finder: F,
    ahead: Option<Ahead>,
    root: Arc<Path>,
    xattrs: XattrReader,
    current: Current,
    /// The current file's path below the root, or its path on this machine.
    name: Bytes,
    host: Option<PathBuf>,
    bytes_done: u64,
    /// The current entry, if it has several names.
    shared: Option<FileId>,
    /// Warnings about files that changed while they were read.
    warnings: Vec<String>,
    /// The small file that the caller reads.
    own: Batch,
    /// Whether small files are read only after their entries are returned.
    unread: bool,
    /// If reading continues after errors: the errors to report, and the entries that they remove.
    left_out: Option<LeftOut>,
    /// Has a clone for each open file that workers read.
    open_files: Arc<()>,
    open_files_most: usize,
}

#[derive(Default)]
struct LeftOut {
    /// Whether files that cannot be read are stored as empty files.
    keeps_files: bool,
    problems: Vec<Error>,
    /// First names of files with several names whose other names are links to nothing.
    names: BTreeSet<Bytes>,
}

enum Current {
    Nothing,
    Open(OpenFile),
    Loaded(Range<usize>, Option<Fault>),
}

/// The maximum number of files that workers read at a time. The caller reads the others.
fn open_files_most() -> usize {
    let limit = process_limit("Max open files").unwrap_or(u64::MAX);
    (limit / OPEN_FILES_SHARE).min(OPEN_FILES_MOST) as usize
}

impl<F: Finder> Feed<F> {
    /// `root` precedes entries' paths in messages. At most `window` bytes of content are read ahead.
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
            shared: None,
            warnings: Vec::new(),
            own: Batch::default(),
            unread: false,
            left_out: None,
            open_files: Arc::default(),
            open_files_most: open_files_most(),
        }
    }

    /// Sets the maximum number of directories kept open for waiting files.
    pub fn keeping_open(mut self, directories: usize) -> Self {
        if let Some(ahead) = &mut self.ahead {
            ahead.keep_open(directories);
        }
        self
    }

    /// Reads no file before its content is requested. Only without readers.
    pub fn leaving_unread(self) -> Self {
        Self { unread: true, ..self }
    }

    /// Decides how entries that cannot be read are handled, see [`Feed::take_problems`].
    pub fn with_errors(self, errors: ReadErrors) -> Self {
        let keeps_files = errors == ReadErrors::EmptyFile;
        let left_out = (errors != ReadErrors::Fail).then(|| LeftOut { keeps_files, ..LeftOut::default() });
        Self { left_out, ..self }
    }

    /// The errors so far after which reading continued.
    pub fn take_problems(&mut self) -> Vec<Error> {
        self.left_out.as_mut().map_or_else(Vec::new, |left_out| std::mem::take(&mut left_out.problems))
    }

    /// The warnings so far. With readers they include entries ahead of the caller.
    pub fn take_warnings(&mut self) -> Vec<String> {
        self.leave();
        let mut warnings = self.finder.take_warnings();
        warnings.append(&mut self.warnings);
        warnings
    }

    /// Device and inode number of the last entry, if it has several names.
    pub fn shared_file(&self) -> Option<FileId> {
        self.shared
    }

    pub fn bytes_done(&self) -> u64 {
        self.bytes_done
    }

    pub fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        loop {
            self.leave();
            self.current = Current::Nothing;
            let next = match &mut self.ahead {
                Some(ahead) => ahead.next(&mut self.finder)?,
                None => self.find()?,
            };
            let entry = match next {
                Some(Next::Alone(found)) => self.start(found)?,
                Some(Next::Loaded(item)) => self.start_loaded(item)?,
                Some(Next::Passed(error)) => {
                    self.problem(error)?;
                    None
                }
                None => return Ok(None),
            };
            if entry.is_some() {
                return Ok(entry);
            }
        }
    }

    /// See [`crate::Source::read_again`].
    pub fn read_again(&mut self) -> Option<u64> {
        if let Current::Open(file) = &mut self.current { file.read_again() } else { None }
    }

    /// Warns about the current file, if it has been read and has changed.
    fn leave(&mut self) {
        if let Current::Open(file) = &mut self.current
            && let Some(change) = file.take_change()
        {
            self.warn(change);
        }
    }

    fn warn(&mut self, change: Change) {
        self.warnings.push(change.text(&self.location()));
    }

    /// The next entry without readers.
    fn find(&mut self) -> Result<Option<Next>, Error> {
        let found = self.finder.find();
        self.finder.take_problems().into_iter().try_for_each(|error| self.problem(error))?;
        let Some(found) = found? else { return Ok(None) };
        if self.unread || !found.is_small() {
            return Ok(Some(Next::Alone(found)));
        }
        // Read completely, as by readers: its size may then differ, and it can be skipped after any failure.
        self.own.clear();
        self.own.push(found);
        self.own.load(&mut self.xattrs, &self.root);
        Ok(self.own.items.pop_front().map(Next::Loaded))
    }

    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        let found = match &mut self.current {
            Current::Nothing => Ok(Extent::End),
            Current::Open(file) => file.read(buffer),
            Current::Loaded(rest, fault) => match fault {
                Some(fault) => Err(*fault),
                None => Ok(copy(rest, self.ahead.as_ref().map_or(&self.own.data, Ahead::data), buffer)),
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

    /// See [`crate::Source::data_ranges`].
    pub fn data_ranges(&self, most: usize) -> Option<Vec<Range<u64>>> {
        if let Current::Open(file) = &self.current { file.data_ranges(most) } else { None }
    }

    /// See [`crate::Source::read_later`].
    pub fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        let Self { current, host, root, name, open_files, open_files_most, .. } = self;
        let Current::Open(file) = current else { return Ok(None) };
        if Arc::strong_count(open_files) > *open_files_most {
            return Ok(None);
        }
        let part = file.read_later(most, || host.clone().unwrap_or_else(|| join(root, name)), open_files);
        self.bytes_done += part.as_ref().map_or(0, |part| part.bytes as u64);
        Ok(part)
    }

    /// An entry whose file is read here. `None` if it is skipped.
    fn start(&mut self, mut found: ScannedEntry) -> Result<Option<Entry>, Error> {
        self.note(&found);
        if self.leads_to_nothing(&found) {
            return self.pass(Fault::Link, found);
        }
        let attributes = match found.size() {
            Some(0) if found.is_nowhere() => Ok(()),
            Some(_) => {
                let opened = found.open().and_then(|file| {
                    let attributes = found.read_xattrs_of(&file, &mut self.xattrs);
                    Ok((OpenFile::new(file, &mut found)?, attributes))
                });
                match opened {
                    Ok((file, attributes)) => {
                        self.current = Current::Open(file);
                        attributes
                    }
                    Err(fault) => return self.pass(fault, found),
                }
            }
            None => found.read_xattrs(&mut self.xattrs, &self.root),
        };
        if let Err(fault) = attributes {
            self.problem(self.fault(fault))?;
        }
        Ok(Some(found.entry))
    }

    /// An entry whose file has been read. `None` if it is skipped.
    fn start_loaded(&mut self, item: Item) -> Result<Option<Entry>, Error> {
        self.note(&item.found);
        if item.later && item.reading.is_none() {
            if let Some(change) = item.change {
                self.warn(change);
            }
            return self.start(item.found);
        }
        let unread = item.reading.filter(|_| self.left_out.is_some());
        if let Some(fault) = item.opening.or(unread) {
            return self.pass(fault, item.found);
        }
        if let Some(fault) = item.attributes {
            self.problem(self.fault(fault))?;
        }
        if let Some(change) = item.change {
            self.warn(change);
        }
        self.current = Current::Loaded(item.content, item.reading);
        Ok(Some(item.found.entry))
    }

    /// Whether it is a link to a file that was skipped.
    fn leads_to_nothing(&self, found: &ScannedEntry) -> bool {
        let target = if let Kind::HardLink(target) = &found.entry.kind { target } else { return false };
        self.left_out.as_ref().is_some_and(|left_out| left_out.names.contains(target))
    }

    /// Skips an entry, or returns it as an empty file.
    fn pass(&mut self, fault: Fault, mut found: ScannedEntry) -> Result<Option<Entry>, Error> {
        if fault.is_lack() {
            return Err(self.fault(fault));
        }
        let keeps_files = self.left_out.as_ref().is_some_and(|left_out| left_out.keeps_files);
        if keeps_files && let Kind::File { size } = &mut found.entry.kind {
            *size = 0;
            self.problem(self.fault(fault.of_empty_file()))?;
            return Ok(Some(found.entry));
        }
        self.problem(self.fault(fault))?;
        if let (true, Some(left_out)) = (found.shared, &mut self.left_out) {
            left_out.names.insert(found.entry.path);
        }
        Ok(None)
    }

    /// Records an error, if reading continues after errors.
    fn problem(&mut self, error: Error) -> Result<(), Error> {
        match &mut self.left_out {
            Some(left_out) => left_out.problems.push(error),
            None => return Err(error),
        }
        Ok(())
    }

    fn note(&mut self, found: &ScannedEntry) {
        self.shared = found.id.filter(|_| found.shared);
        self.name.clone_from(&found.entry.path);
        self.host = match &found.location {
            FileLocation::At(path) => Some(path.clone()),
            FileLocation::In { .. } | FileLocation::Nowhere => None,
        };
    }

    fn fault(&self, fault: Fault) -> Error {
        fault.at(&self.location())
    }

    /// The current file's path on this machine.
    fn location(&self) -> PathBuf {
        self.host.clone().unwrap_or_else(|| join(&self.root, &self.name))
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
