//! The names of hard-linked files in a cpio archive.

use std::collections::BTreeMap;

use packline_tree::{Bytes, Entry, Kind};

use super::header::{FileNumber, Form, Header};

/// Maximum memory in bytes for names that wait for their content, or whose further names may follow.
pub(super) const MOST: usize = 16 << 20;
/// Memory of one name besides its bytes.
const OVERHEAD: usize = 128;

/// The hard-linked files of one archive whose names are not complete.
#[derive(Default)]
pub(super) struct Links {
    files: BTreeMap<FileNumber, Linked>,
    /// The names that wait, each with its file. A name that a later entry has is not here any more.
    waiting: BTreeMap<Bytes, FileNumber>,
    bytes: usize,
    /// Number of files so far.
    count: u64,
}

/// A file with several names.
struct Linked {
    /// The position of its first name among the files.
    order: u64,
    /// The number of names that were found.
    found: u32,
    state: State,
}

enum State {
    /// No name had content so far. The first entry without its path, and the paths of all names, also of those that a later entry has.
    Waiting { first: Box<Entry>, names: Vec<Bytes> },
    /// The file was returned, under this path.
    Returned { path: Bytes, size: u64 },
}

/// The result of adding a name.
pub(super) enum Added {
    /// The entry is the file. The links come after it.
    File(Entry, Vec<Entry>),
    /// The entry is a link, and the content in the archive is skipped.
    Link(Entry),
    /// The name waits for its content.
    Waits,
}

impl Links {
    /// Adds a regular file with more than one name. `None` if the names need too much memory.
    pub fn add(&mut self, header: &Header, entry: Entry) -> Option<Added> {
        let waits = header.form != Form::Portable && header.size == 0;
        let cost = 2 * entry.path.len() + OVERHEAD;
        if waits {
            self.waiting.insert(entry.path.clone(), header.number);
        }
        let Some(linked) = self.files.get_mut(&header.number) else {
            let path = entry.path.clone();
            let (state, added) = if waits {
                let first = Box::new(Entry { path: Bytes::new(), ..entry });
                (State::Waiting { first, names: vec![path] }, Added::Waits)
            } else {
                (State::Returned { path, size: header.size }, Added::File(entry, Vec::new()))
            };
            self.files.insert(header.number, Linked { order: self.count, found: 1, state });
            self.count += 1;
            return self.grow(cost).then_some(added);
        };
        linked.found = linked.found.saturating_add(1);
        let is_last = linked.found >= header.links;
        let added = match &mut linked.state {
            State::Returned { size, .. } if header.size > 0 && *size != header.size => Added::File(entry, Vec::new()),
            State::Returned { path, .. } => Added::Link(link(entry, path)),
            State::Waiting { names, .. } if waits => {
                names.push(entry.path);
                return self.grow(cost).then_some(Added::Waits);
            }
            State::Waiting { first, names } => {
                let names = take_waiting(&mut self.waiting, std::mem::take(names), header.number);
                let links =
                    names.into_iter().map(|path| link(Entry { path, ..(**first).clone() }, &entry.path)).collect();
                linked.state = State::Returned { path: entry.path.clone(), size: header.size };
                Added::File(entry, links)
            }
        };
        if is_last {
            self.files.remove(&header.number);
            if self.files.is_empty() {
                self.bytes = 0;
            }
        }
        Some(added)
    }

    /// Forgets a name that waits, because another entry has it now. The last entry of a path counts.
    pub fn replace(&mut self, path: &[u8]) {
        self.waiting.remove(path);
    }

    /// Ends the archive. Returns the files whose names all have no content, each with its links, in the order of the archive.
    pub fn end(&mut self) -> Vec<Entry> {
        let mut files: Vec<(FileNumber, Linked)> = std::mem::take(&mut self.files).into_iter().collect();
        files.sort_by_key(|(_, linked)| linked.order);
        self.bytes = 0;
        let mut entries = Vec::new();
        for (number, linked) in files {
            let State::Waiting { first, names } = linked.state else { continue };
            let mut names = take_waiting(&mut self.waiting, names, number).into_iter();
            let Some(path) = names.next() else { continue };
            let file = Entry { path, ..*first };
            let links = names.map(|path| link(Entry { path, ..file.clone() }, &file.path));
            let links: Vec<Entry> = links.collect();
            entries.push(file);
            entries.extend(links);
        }
        entries
    }

    /// Memory in bytes, at most.
    pub fn memory(&self) -> usize {
        self.bytes
    }

    fn grow(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        self.bytes <= MOST
    }
}

/// Removes the names of a file from those that wait, and returns the removed ones.
fn take_waiting(waiting: &mut BTreeMap<Bytes, FileNumber>, names: Vec<Bytes>, file: FileNumber) -> Vec<Bytes> {
    let mut is_waiting = |name: &Bytes| {
        let waits = waiting.get(name) == Some(&file);
        if waits {
            waiting.remove(name);
        }
        waits
    };
    names.into_iter().filter(|name| is_waiting(name)).collect()
}

fn link(entry: Entry, target: &[u8]) -> Entry {
    Entry { kind: Kind::HardLink(target.to_vec()), ..entry }
}
