//! A filtered source in which no hard link refers to an entry that is left out. The first kept name of a file becomes the
//! file, and the other names are links to it.
//!
//! A directory source does this itself, because it finds a file under each of its names. In a tar the content occurs once, with the first
//! name. If the first name is left out, a later name may still need the content. Therefore the position of the content of each file that is
//! left out is recorded:
//!
//! - In a tar that is a plain file: its position in that file. Nothing is copied.
//! - In any other source: a copy, in memory and then in an unnamed temporary file ([`Contents`]). Packing the content at once would
//!   leave it in the image if no link follows. Reading a compressed tar a second time takes as long as the first time, and is impossible
//!   for a pipe.
//!
//! Contents that cannot be recorded (no space for the copy, no memory for the name) are an error only if a link needs them.

mod names;

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;

use packline_tree::{Bytes, Contents, CopyReader, Entry, Error, Extent, Held, Kind, Source, UnreadPart};

use super::planned::DEFAULT_META;
use names::{Lead, OmittedNames};

/// The reason in the error for a link, if the memory limit is too low.
const NO_MEMORY: &str = "which does not fit the memory limit or is missing";
/// Memory for copied contents in bytes.
const CONTENTS_MOST: u64 = 16 << 20;

/// Memory of a [`Filtered`] in bytes, of a total limit.
pub(crate) fn filter_memory(limit: Option<u64>) -> u64 {
    limit.map_or(0, |limit| contents_memory(Some(limit)) + names_memory(Some(limit)))
}

fn contents_memory(limit: Option<u64>) -> u64 {
    limit.map_or(CONTENTS_MOST, |limit| CONTENTS_MOST.min(limit / 32))
}

fn names_memory(limit: Option<u64>) -> u64 {
    limit.map_or(u64::MAX, |limit| limit / 32)
}

/// Source of the current entry's content.
enum Reading {
    /// The source itself.
    Source,
    /// No content.
    Nothing,
    /// A copy.
    Copy(CopyReader),
}

/// Whether an entry is kept, by its path in the source, and whether it is a directory.
pub(crate) type Keeps = Box<dyn Fn(&[u8], bool) -> bool>;

pub(crate) struct Filtered {
    source: Box<dyn Source>,
    keeps: Keeps,
    names: OmittedNames,
    contents: Contents,
    /// Hard links whose target is known now.
    ready: VecDeque<Entry>,
    reading: Reading,
    /// The source's name in messages.
    input: String,
}

impl Filtered {
    /// The entries of a source called `input` that are kept, within `limit` bytes of memory. Contents beyond the limit go to `scratch`.
    pub(crate) fn new(
        source: Box<dyn Source>,
        keeps: Keeps,
        input: String,
        limit: Option<u64>,
        scratch: Option<PathBuf>,
    ) -> Filtered {
        let contents = Contents::new(contents_memory(limit), scratch);
        let names = OmittedNames::new(names_memory(limit));
        Filtered { source, keeps, names, contents, ready: VecDeque::new(), reading: Reading::Source, input }
    }

    /// The next entry to process: a link whose target is known now, or the next entry of the source.
    fn advance(&mut self) -> Result<Option<Entry>, Error> {
        if let Some(link) = self.ready.pop_front() {
            self.reading = Reading::Nothing;
            return Ok(Some(link));
        }
        self.reading = Reading::Source;
        self.source.next_entry()
    }

    /// Processes a kept entry; `None` if it is a link that has to wait for its target.
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
            Lead::Nowhere(missing) => {
                if self.names.wait(&entry.path, missing) {
                    Ok(None)
                } else {
                    Err(self.refused(&entry.path, target, NO_MEMORY))
                }
            }
            Lead::Replaced => Err(self.refused(&entry.path, target, "which stands for a file that has been replaced")),
        }
    }

    fn lead(&self, target: &[u8]) -> Lead {
        self.names.lead(target, &|path| (self.keeps)(path, false))
    }

    /// Adds a kept name to an inode that was left out. The first kept name becomes the file.
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
                    Held::Lost => return Err(self.refused(path, &left_out, &self.lost())),
                };
                entry
            }
        };
        if self.names.add_name(inode, path) { Ok(entry) } else { Err(self.refused(path, &left_out, NO_MEMORY)) }
    }

    /// Records an entry that is left out, for links to it.
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

    /// An error if a link still waits.
    fn end(&self) -> Result<(), Error> {
        let why = if self.names.is_full() { NO_MEMORY } else { "which is missing" };
        self.names.first_waiting().map_or(Ok(()), |(path, target)| Err(self.refused(path, target, why)))
    }

    fn lost(&self) -> String {
        format!("which is left out and whose content could not be kept ({})", self.contents.failure())
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
            if !(self.keeps)(&entry.path, entry.kind == Kind::Dir) {
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

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        if let Reading::Source = self.reading { self.source.read_later(most) } else { Ok(None) }
    }

    fn data_ranges(&mut self, most: usize) -> Result<Option<Vec<Range<u64>>>, Error> {
        if let Reading::Source = self.reading { self.source.data_ranges(most) } else { Ok(None) }
    }

    fn read_again(&mut self) -> Option<u64> {
        if let Reading::Source = self.reading { self.source.read_again() } else { None }
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

/// A hard link, without attributes.
fn link(path: Bytes, target: Bytes) -> Entry {
    Entry { path, kind: Kind::HardLink(target), meta: DEFAULT_META, xattrs: Vec::new() }
}

#[cfg(test)]
mod tests;
