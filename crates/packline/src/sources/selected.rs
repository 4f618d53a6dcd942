//! The selected entries of a tar, by their paths below a directory of the tar. Each comes after the directories that lead to it, as far as
//! the tar has them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use packline_image::{Omit, Selection};
use packline_runtime::Observer;
use packline_tree::{Bytes, Entry, Error, Extent, Kind, Source, UnreadPart};

use super::filtered::Filtered;

/// Memory in bytes for directories that may lead to selected entries, if memory is not limited.
const LEADING_MOST: u64 = 160 << 20;
/// The share of the memory limit for these directories.
const LEADING_SHARE: u64 = 32;
/// Memory in bytes of a directory, not counting its name and attributes.
const LEADING_EACH: usize = 128;

/// Which entries of a tar are wanted.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    /// Selects by paths below the directory.
    selection: Arc<Selection>,
    /// The directory that becomes the root, as a canonical path; empty for the root.
    directory: Bytes,
}

impl Scope {
    /// # Errors
    /// [`crate::error::Error::Request`] for a selection by type.
    pub(crate) fn new(selection: Selection, directory: Bytes) -> Result<Scope, crate::error::Error> {
        if selection.omit != Omit::default() {
            let what = "a selection of the entries of a tar by their types".to_string();
            return Err(crate::error::Error::Request { what, expected: "a selection by paths".to_string() });
        }
        Ok(Scope { selection: Arc::new(selection), directory })
    }

    /// Whether all entries are wanted.
    fn is_all(&self) -> bool {
        self.selection.is_all() && self.directory.is_empty()
    }

    /// Limits a source to the wanted entries. `input` is its name in messages, and `memory` the limit in bytes of the whole program.
    pub(crate) fn of(&self, source: Box<dyn Source>, input: String, memory: Option<u64>) -> Box<dyn Source> {
        if self.is_all() { source } else { Box::new(Selected::new(source, self.clone(), input, memory)) }
    }

    /// Checks, after all entries were read, whether each pattern matched an entry. `place` is the tar's name in messages.
    ///
    /// # Errors
    /// [`packline_image::Error::Request`] for a pattern to include that matched nothing.
    pub(crate) fn check_patterns(&self, place: &str, observer: &mut dyn Observer) -> Result<(), packline_image::Error> {
        if let Some(warning) = self.selection.unmatched_exclude(place) {
            observer.warning(&warning);
        }
        self.selection.unmatched(place).map_or(Ok(()), Err)
    }

    /// The path below the directory; `None` for an entry outside it.
    fn below(&self, path: &[u8]) -> Option<Bytes> {
        if self.directory.is_empty() {
            return Some(path.to_vec());
        }
        match path.strip_prefix(self.directory.as_slice())? {
            [] => Some(Bytes::new()),
            [b'/', rest @ ..] => Some(rest.to_vec()),
            _ => None,
        }
    }

    /// Whether an entry is needed: it is selected, or it is a directory that may lead to a selected entry.
    fn needs(&self, path: &[u8], is_directory: bool) -> bool {
        self.below(path).is_some_and(|path| {
            let may_lead = is_directory && !self.selection.exclude.cover(&path, true);
            may_lead || self.selection.selects(&path, is_directory)
        })
    }
}

struct Selected {
    source: Filtered,
    scope: Scope,
    /// The source's name in messages.
    input: String,
    /// Directories that were not needed so far. The last entry of a path wins.
    leading: BTreeMap<Bytes, Entry>,
    /// The paths above the entries so far.
    led: BTreeSet<Bytes>,
    /// Memory of both in bytes, and its limit.
    kept_bytes: u64,
    kept_most: u64,
    /// Entries that come next. The last is the source's current entry.
    ready: VecDeque<Entry>,
    /// Whether an entry at or below the directory was found.
    found: bool,
}

impl Selected {
    fn new(source: Box<dyn Source>, scope: Scope, input: String, memory: Option<u64>) -> Selected {
        let rule = scope.clone();
        let needs = Box::new(move |path: &[u8], is_directory: bool| rule.needs(path, is_directory));
        // The content of a file that is left out is kept in memory at most: a copy of all of a large tar would take longer than unpacking it.
        let source = Filtered::new(source, needs, input.clone(), memory, None);
        Selected {
            source,
            scope,
            input,
            leading: BTreeMap::new(),
            led: BTreeSet::new(),
            kept_bytes: 0,
            kept_most: memory.map_or(LEADING_MOST, |limit| LEADING_MOST.min(limit / LEADING_SHARE)),
            ready: VecDeque::new(),
            found: false,
        }
    }

    /// Adds the entry to those that come next, after the directories that lead to it, unless it only may lead to others.
    fn take(&mut self, mut entry: Entry) -> Result<(), Error> {
        let outside = |path: &[u8]| self.refused(path, "is outside the directory", "a path below it");
        let path = self.scope.below(&entry.path).ok_or_else(|| outside(&entry.path))?;
        if path.is_empty() && entry.kind != Kind::Dir {
            return Err(self.refused(&entry.path, "is not a directory", "a directory of the tar"));
        }
        if let Kind::HardLink(target) = &mut entry.kind {
            *target = self.scope.below(target).ok_or_else(|| outside(target))?;
        }
        entry.path = path;
        self.found = true;
        let is_directory = entry.kind == Kind::Dir;
        if !self.scope.selection.selects(&entry.path, is_directory) && !self.led.contains(&entry.path) {
            let xattrs: usize = entry.xattrs.iter().map(|xattr| xattr.name.len() + xattr.value.len()).sum();
            self.keep(2 * entry.path.len() + xattrs)?;
            self.leading.insert(entry.path.clone(), entry);
            return Ok(());
        }
        self.lead_to(&entry.path)?;
        self.ready.push_back(entry);
        Ok(())
    }

    /// Adds the directories that lead to a path and did not come before.
    fn lead_to(&mut self, path: &[u8]) -> Result<(), Error> {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let above: Vec<&[u8]> =
            (!path.is_empty()).then_some(0).into_iter().chain(slashes).map(|end| &path[..end]).collect();
        if above.last().is_none_or(|last| self.led.contains(*last)) {
            return Ok(());
        }
        for above in above {
            if !self.led.contains(above) {
                self.keep(above.len())?;
                self.led.insert(above.to_vec());
                self.ready.extend(self.leading.remove(above));
            }
        }
        Ok(())
    }

    fn keep(&mut self, bytes: usize) -> Result<(), Error> {
        self.kept_bytes += (bytes + LEADING_EACH) as u64;
        if self.kept_bytes <= self.kept_most {
            return Ok(());
        }
        let what = format!("the directories above selected entries need more than {} bytes of memory", self.kept_most);
        let expected = "fewer directories, or a higher memory limit".to_string();
        Err(Error::Input { input: self.input.clone(), what, expected })
    }

    fn refused(&self, path: &[u8], what: &str, expected: &str) -> Error {
        let input = self.input.clone();
        Error::Entry { input, entry: path.to_vec(), what: what.to_string(), expected: expected.to_string() }
    }
}

impl Source for Selected {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Ok(Some(entry));
            }
            match self.source.next_entry()? {
                Some(entry) => self.take(entry)?,
                None if self.found || self.scope.directory.is_empty() => return Ok(None),
                None => return Err(self.refused(&self.scope.directory, "is not in the tar", "a directory of the tar")),
            }
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        self.source.read(buffer)
    }

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        self.source.read_later(most)
    }

    fn data_ranges(&mut self, most: usize) -> Result<Option<Vec<Range<u64>>>, Error> {
        self.source.data_ranges(most)
    }

    fn read_again(&mut self) -> Option<u64> {
        self.source.read_again()
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.source.progress()
    }

    fn take_problems(&mut self) -> Vec<Error> {
        self.source.take_problems()
    }

    fn take_warnings(&mut self) -> Vec<String> {
        self.source.take_warnings()
    }
}
