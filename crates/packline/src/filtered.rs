//! A source without what is left out of it, in which no hard link leads to what is left out: of the names of a file, the first
//! that is kept is the file, and the others are links to it.
//!
//! A directory's walk sees to this by itself, since it meets a file under each of its names. In a tar the content comes once,
//! with the first name. If that is left out, whether the content is needed is known only when a later name has come, or none
//! has. So it is noted where the content of each file that is left out can be found again:
//!
//! - In a tar that is a plain file: at its place in that file. Nothing is copied.
//! - In any other source: in a copy, in memory and then in a temporary file without a name ([`contents`]). Packing it at once
//!   instead would leave it in the image when no link comes; reading the source a second time takes as long as the first, for
//!   each compressed tar of which something is left out, and no pipe can do it.
//!
//! What cannot be noted so (no room for the copy, no memory for the name) is no fault until a link needs it.

mod contents;
mod names;

use std::collections::VecDeque;
use std::path::PathBuf;

use packline_tree::{Bytes, Entry, Error, Extent, Kind, Source};

use crate::{Changes, DEFAULT_META};
use contents::{Contents, Held, Reading};
use names::{Lead, Names};

/// Why a link is refused where the limit on memory is too low.
const NO_MEMORY: &str = "for which the memory limit leaves no room, or which is missing";
/// Bytes of contents in memory, at most.
const CONTENTS_MOST: u64 = 16 << 20;

/// Bytes of memory that a [`Filtered`] takes, of so many that are allowed in all.
pub(crate) fn filter_memory(limit: Option<u64>) -> u64 {
    limit.map_or(0, |limit| contents_memory(Some(limit)) + names_memory(Some(limit)))
}

fn contents_memory(limit: Option<u64>) -> u64 {
    limit.map_or(CONTENTS_MOST, |limit| CONTENTS_MOST.min(limit / 32))
}

fn names_memory(limit: Option<u64>) -> u64 {
    limit.map_or(u64::MAX, |limit| limit / 32)
}

/// The source.
pub(crate) struct Filtered {
    source: Box<dyn Source>,
    changes: Changes,
    names: Names,
    contents: Contents,
    /// Hard links whose target has come.
    ready: VecDeque<Entry>,
    reading: Reading,
    /// The source's name in messages.
    input: String,
}

impl Filtered {
    /// What `changes` keep of a source called `input`, in `limit` bytes of memory in all; contents go to `scratch` if memory
    /// has no room for them.
    pub(crate) fn new(
        source: Box<dyn Source>,
        changes: Changes,
        input: String,
        limit: Option<u64>,
        scratch: Option<PathBuf>,
    ) -> Filtered {
        let contents = Contents::new(contents_memory(limit), scratch);
        let names = Names::new(names_memory(limit));
        Filtered { source, changes, names, contents, ready: VecDeque::new(), reading: Reading::Source, input }
    }

    /// The next entry to look at: a link whose target has come, or the source's next.
    fn advance(&mut self) -> Result<Option<Entry>, Error> {
        if let Some(link) = self.ready.pop_front() {
            self.reading = Reading::Nothing;
            return Ok(Some(link));
        }
        self.reading = Reading::Source;
        self.source.next_entry()
    }

    /// What becomes of an entry that is kept; `None` if it is a link that has to wait for its target.
    fn kept(&mut self, entry: Entry) -> Result<Option<Entry>, Error> {
        let Kind::HardLink(target) = &entry.kind else {
            self.names.replace(&entry.path);
            return Ok(Some(entry));
        };
        let lead = self.lead(target);
        if self.names.leads_back(&lead, &entry.path) {
            return Ok(Some(link(entry.path.clone(), entry.path)));
        }
        self.names.replace(&entry.path);
        match lead {
            Lead::Kept(name) => Ok(Some(link(entry.path, name))),
            Lead::Inode(inode) => self.named(inode, &entry.path).map(Some),
            Lead::Nowhere(missing) => match self.names.wait(&entry.path, missing) {
                true => Ok(None),
                false => Err(self.refused(&entry.path, target, NO_MEMORY)),
            },
            Lead::Replaced => Err(self.refused(&entry.path, target, "which stands for a file that has been replaced")),
        }
    }

    fn lead(&self, target: &[u8]) -> Lead {
        self.names.lead(target, &|path| self.changes.keeps(path, false))
    }

    /// Gives an inode that was left out a name that is kept: the first is the file.
    fn named(&mut self, inode: usize, path: &[u8]) -> Result<Entry, Error> {
        let first = self.names.name(inode);
        let held = self.names.held(inode);
        let left_out = held.entry.path.clone();
        let entry = match first {
            Some(first) => link(path.to_vec(), first),
            None => {
                let entry = Entry { path: path.to_vec(), ..held.entry.clone() };
                self.reading = match &held.content {
                    Held::Nothing => Reading::Nothing,
                    Held::Copied(copy) => Reading::Copy(copy.start()),
                    Held::InSource(bookmark) => {
                        self.source.recall(bookmark, &left_out)?;
                        Reading::Source
                    }
                    Held::Lost => return Err(self.refused(path, &left_out, &self.contents.lost())),
                };
                entry
            }
        };
        match self.names.add_name(inode, path) {
            true => Ok(entry),
            false => Err(self.refused(path, &left_out, NO_MEMORY)),
        }
    }

    /// Notes an entry that is left out, for links to it.
    fn leave_out(&mut self, entry: Entry) -> Result<(), Error> {
        let path = entry.path.clone();
        match &entry.kind {
            Kind::Dir => self.names.forget(&path),
            Kind::HardLink(target) => self.names.alias(&path, self.lead(target)),
            kind => {
                let content = self.contents.hold(kind, self.source.as_mut())?;
                self.names.add(entry, content);
            }
        }
        self.ready.extend(self.names.wake(&path).into_iter().map(|name| link(name, path.clone())));
        Ok(())
    }

    /// At the end no link may wait.
    fn end(&self) -> Result<(), Error> {
        let why = if self.names.is_full() { NO_MEMORY } else { "which is missing" };
        self.names.first_waiting().map_or(Ok(()), |(path, target)| Err(self.refused(path, target, why)))
    }

    fn refused(&self, path: &[u8], target: &[u8], why: &str) -> Error {
        Error::Entry {
            input: self.input.clone(),
            entry: path.to_vec(),
            what: format!("hard link to {}, {why}", String::from_utf8_lossy(target)),
            expected: "the path of a file, device or link in the same input".to_string(),
        }
    }
}

impl Source for Filtered {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        while let Some(entry) = self.advance()? {
            if !self.changes.keeps(&entry.path, entry.kind == Kind::Dir) {
                self.leave_out(entry)?;
            } else if let Some(entry) = self.kept(entry)? {
                return Ok(Some(entry));
            }
        }
        self.end().map(|()| None)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        match &mut self.reading {
            Reading::Source => self.source.read(buffer),
            Reading::Nothing => Ok(Extent::End),
            Reading::Copy(copy) => self.contents.read(copy, buffer).map_err(|cause| Error::Io {
                path: PathBuf::from(&self.input),
                action: "cannot read back the copy of content",
                cause,
            }),
        }
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.source.progress()
    }

    fn take_warnings(&mut self) -> Vec<String> {
        self.source.take_warnings()
    }
}

/// A hard link; its attributes mean nothing.
fn link(path: Bytes, target: Bytes) -> Entry {
    Entry { path, kind: Kind::HardLink(target), meta: DEFAULT_META, xattrs: Vec::new() }
}

#[cfg(test)]
mod tests;
