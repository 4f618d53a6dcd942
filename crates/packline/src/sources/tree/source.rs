//! The entries and contents of a tree that a program built.

use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use packline_engine::CancelToken;
use packline_runtime::{Resources, unless_cancelled};
use packline_tree::{
    Bookmark, Bytes, Contents, CopyReader, Entry, Error, Extent, Held, HostFile, Kind, ListSource, Meta, Source,
    UnreadPart, Xattr,
};

use super::content::{Content, Origin};
use super::plan::NAME;
use super::{NodeKind, Tree, path_of};

/// When contents are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// Each with its entry.
    WithEntries,
    /// After all entries. `twice`: some contents are read once more.
    Later { twice: bool },
}

/// A tree as a source, in the order of a directory source.
pub(super) struct TreeSource {
    entries: Vec<TreeNode>,
    reads: Reads,
    next: usize,
    current: Current,
    copies: Contents,
    /// Memory for copies, and the directory beyond it.
    most: u64,
    scratch: Option<PathBuf>,
    /// Ends a copy, because a reader may have no end.
    cancel: CancelToken,
    done: u64,
    total: Option<u64>,
    warnings: Vec<String>,
}

struct TreeNode {
    path: Bytes,
    kind: Kind,
    meta: Meta,
    xattrs: Vec<Xattr>,
    /// The content of a file.
    content: Content,
}

/// The file of this machine that is being read, as a source with one entry.
type HostSource = ListSource<std::array::IntoIter<(Entry, Option<HostFile>), 1>>;

/// The content of the current file.
enum Current {
    Nothing,
    /// The content of the entry with this number, of which nothing was read.
    Unread(usize),
    Memory {
        bytes: Arc<[u8]>,
        at: usize,
    },
    /// `missing` bytes were listed, but the file has become shorter since.
    Host {
        source: Box<HostSource>,
        missing: u64,
    },
    Reader {
        entry: usize,
        reader: Box<dyn Read + Send>,
        left: u64,
    },
    Copy(CopyReader),
}

impl TreeSource {
    pub(super) fn new(tree: Tree, reads: Reads, most: u64, resources: &Resources) -> TreeSource {
        let entries: Vec<TreeNode> = tree.nodes.into_iter().map(TreeNode::new).collect();
        let total = entries.iter().try_fold(0u64, |sum, entry| Some(sum.saturating_add(entry.known_size()?)));
        let scratch = resources.scratch.clone();
        let cancel = resources.cancel.clone();
        TreeSource {
            entries,
            reads,
            next: 0,
            current: Current::Nothing,
            copies: Contents::new(most, scratch.clone()),
            most,
            scratch,
            cancel,
            done: 0,
            total,
            warnings: Vec::new(),
        }
    }

    /// Ends the reading of the current content.
    fn leave(&mut self) -> Result<(), Error> {
        if let Current::Host { mut source, .. } = std::mem::replace(&mut self.current, Current::Nothing) {
            // The source compares the file when it goes on.
            source.next_entry()?;
            self.warnings.append(&mut source.take_warnings());
        }
        Ok(())
    }

    /// Finds out the size of a file. A reader of unknown size is copied.
    fn measure(&mut self, number: usize) -> Result<u64, Error> {
        let entry = &mut self.entries[number];
        match &mut entry.content.0 {
            Origin::Memory(bytes) => Ok(bytes.len() as u64),
            Origin::Host(path) => host_size(path, &entry.path),
            Origin::Reader { size: Some(size), .. } => Ok(*size),
            Origin::Reader { size: None, reader } => {
                let cancel = &self.cancel;
                let mut unsized_reader = UnsizedReader { reader: reader.as_mut(), path: &entry.path, cancel };
                if self.reads == Reads::WithEntries {
                    // The copy of an earlier file has no bookmark, and is not needed any more.
                    self.copies = Contents::new(self.most, self.scratch.clone());
                }
                let held = self.copies.hold(&Kind::File { size: u64::MAX }, &mut unsized_reader)?;
                let Held::Copied(copy) = held else { return Err(self.not_copied(number)) };
                let size = copy.size();
                entry.content.0 = Origin::Copied(copy);
                Ok(size)
            }
            Origin::Copied(copy) => Ok(copy.size()),
            Origin::Spent => Err(entry.spent()),
        }
    }

    fn not_copied(&self, number: usize) -> Error {
        let what = match &self.scratch {
            Some(_) => format!("a content of unknown size cannot be copied: {}", self.copies.failure()),
            None => format!(
                "a content of unknown size is larger than {} bytes; set a directory for temporary files, or give its size",
                self.most
            ),
        };
        self.entries[number].refused(what, "")
    }

    /// Begins to read the content of an entry.
    fn begin(&mut self, number: usize) -> Result<Current, Error> {
        let entry = &mut self.entries[number];
        Ok(match &mut entry.content.0 {
            Origin::Memory(bytes) => Current::Memory { bytes: Arc::clone(bytes), at: 0 },
            Origin::Host(path) => {
                let path = path.clone();
                entry.open_host(path)?
            }
            Origin::Copied(copy) => Current::Copy(copy.start()),
            content @ Origin::Reader { .. } => match std::mem::replace(content, Origin::Spent) {
                Origin::Reader { reader, size: Some(left) } => Current::Reader { entry: number, reader, left },
                other => {
                    *content = other;
                    self.measure(number)?;
                    return self.begin(number);
                }
            },
            Origin::Spent => return Err(entry.spent()),
        })
    }

    fn extent(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        if let Current::Unread(number) = self.current {
            self.current = self.begin(number)?;
        }
        match &mut self.current {
            Current::Nothing | Current::Unread(_) => Ok(Extent::End),
            Current::Memory { bytes, at } => Ok(next_bytes(bytes, at, buffer)),
            Current::Host { source, missing } => match source.read(buffer)? {
                Extent::End if *missing > 0 => Ok(Extent::Hole(std::mem::take(missing))),
                extent => Ok(extent),
            },
            Current::Reader { entry, reader, left } => {
                let entry = &self.entries[*entry];
                read_sized(entry, reader.as_mut(), left, buffer)
            }
            Current::Copy(copy) => {
                self.copies.read(copy, buffer).map_err(|cause| io_error(NAME.as_bytes(), "cannot read back", cause))
            }
        }
    }
}

impl TreeNode {
    fn new((key, node): (Bytes, super::Node)) -> TreeNode {
        let (kind, content) = match node.kind {
            NodeKind::File(content) => (Kind::File { size: 0 }, content),
            NodeKind::Other(kind) => (kind, Content(Origin::Spent)),
        };
        TreeNode { path: path_of(key), kind, meta: node.meta, xattrs: node.xattrs, content }
    }

    /// Bytes of content, if they are known before the file is read.
    fn known_size(&self) -> Option<u64> {
        match (&self.kind, &self.content.0) {
            (Kind::File { .. }, Origin::Memory(bytes)) => Some(bytes.len() as u64),
            (Kind::File { .. }, Origin::Reader { size, .. }) => *size,
            (Kind::File { .. }, _) => None,
            _ => Some(0),
        }
    }

    fn entry(&self) -> Entry {
        Entry { path: self.path.clone(), kind: self.kind.clone(), meta: self.meta, xattrs: self.xattrs.clone() }
    }

    fn open_host(&self, path: PathBuf) -> Result<Current, Error> {
        let mut source = Box::new(ListSource::new([(self.entry(), Some(HostFile::from(path)))], None, 0, 0));
        let listed = if let Kind::File { size } = self.kind { size } else { 0 };
        let found = match source.next_entry()? {
            Some(Entry { kind: Kind::File { size }, .. }) => size,
            _ => 0,
        };
        Ok(Current::Host { source, missing: listed.saturating_sub(found) })
    }

    fn spent(&self) -> Error {
        self.refused("the reader of its content was read before".to_string(), "a content that is read once")
    }

    fn refused(&self, what: String, expected: &str) -> Error {
        Error::Entry { input: NAME.to_string(), entry: self.path.clone(), what, expected: expected.to_string() }
    }
}

/// Size of a regular file of this machine.
fn host_size(path: &std::path::Path, entry: &[u8]) -> Result<u64, Error> {
    let about = fs::metadata(path);
    let about = about.map_err(|cause| Error::Io { path: path.to_path_buf(), action: "cannot open", cause })?;
    if about.is_file() {
        return Ok(about.len());
    }
    Err(Error::Entry {
        input: NAME.to_string(),
        entry: entry.to_vec(),
        what: format!("the content is {}, which is not a regular file", path.display()),
        expected: "the path of a regular file".to_string(),
    })
}

fn next_bytes(bytes: &[u8], at: &mut usize, buffer: &mut [u8]) -> Extent {
    let rest = &bytes[*at..];
    let count = rest.len().min(buffer.len());
    if rest.is_empty() {
        return Extent::End;
    }
    buffer[..count].copy_from_slice(&rest[..count]);
    *at += count;
    Extent::Data(count)
}

/// Reads a content that must have exactly the bytes that are left.
fn read_sized(entry: &TreeNode, reader: &mut dyn Read, left: &mut u64, buffer: &mut [u8]) -> Result<Extent, Error> {
    let failed = |cause| io_error(&entry.path, "cannot read the content", cause);
    let Kind::File { size } = entry.kind else { return Ok(Extent::End) };
    if *left == 0 {
        return match read_some(reader, &mut [0]).map_err(failed)? {
            0 => Ok(Extent::End),
            _ => Err(entry.refused(format!("more than {size} bytes"), "a content of the given size")),
        };
    }
    let most = usize::try_from(*left).unwrap_or(usize::MAX).min(buffer.len());
    match read_some(reader, &mut buffer[..most]).map_err(failed)? {
        0 => Err(entry.refused(format!("{} of {size} bytes", size - *left), "a content of the given size")),
        count => {
            *left -= count as u64;
            Ok(Extent::Data(count))
        }
    }
}

fn read_some(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            // A reader may return too large a number.
            read => return read.map(|count| count.min(buffer.len())),
        }
    }
}

fn io_error(path: &[u8], action: &'static str, cause: io::Error) -> Error {
    use std::os::unix::ffi::OsStrExt;
    Error::Io { path: PathBuf::from(std::ffi::OsStr::from_bytes(path)), action, cause }
}

impl Source for TreeSource {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        self.leave()?;
        let number = self.next;
        if number == self.entries.len() {
            return Ok(None);
        }
        self.next += 1;
        if let Kind::File { .. } = self.entries[number].kind {
            let size = self.measure(number)?;
            self.entries[number].kind = Kind::File { size };
            self.current = Current::Unread(number);
        }
        Ok(Some(self.entries[number].entry()))
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        let extent = self.extent(buffer)?;
        self.done += match extent {
            Extent::Data(bytes) => bytes as u64,
            Extent::Hole(bytes) => bytes,
            Extent::End => 0,
        };
        Ok(extent)
    }

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        if let Current::Unread(number) = self.current {
            self.current = self.begin(number)?;
        }
        let Current::Host { source, .. } = &mut self.current else { return Ok(None) };
        let part = source.read_later(most)?;
        self.done += part.as_ref().map_or(0, |part| part.bytes as u64);
        Ok(part)
    }

    fn data_ranges(&mut self, most: usize) -> Result<Option<Vec<Range<u64>>>, Error> {
        if let Current::Unread(number) = self.current {
            self.current = self.begin(number)?;
        }
        let Current::Host { source, .. } = &mut self.current else { return Ok(None) };
        source.data_ranges(most)
    }

    /// A content that cannot be read at that time has no bookmark, so that the caller copies it.
    fn bookmark(&mut self) -> Option<Bookmark> {
        let Current::Unread(number) = self.current else { return None };
        let is_lost = match self.entries[number].content.0 {
            // The next copy replaces it.
            Origin::Copied(_) => self.reads == Reads::WithEntries,
            Origin::Reader { .. } => self.reads == Reads::Later { twice: true },
            _ => false,
        };
        (!is_lost).then_some(Bookmark::Number(number as u64))
    }

    fn recall(&mut self, bookmark: &Bookmark, path: &[u8]) -> Result<(), Error> {
        self.leave()?;
        let number = match bookmark {
            Bookmark::Number(number) => usize::try_from(*number).ok().filter(|number| *number < self.entries.len()),
            Bookmark::Opaque(_) => None,
        };
        self.current = Current::Unread(number.ok_or_else(|| Bookmark::foreign(NAME, path))?);
        Ok(())
    }

    fn memory(&self) -> usize {
        self.copies.memory() + self.entries.len() * size_of::<TreeNode>()
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (self.done, self.total)
    }

    fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}

/// A reader of unknown size as a source whose current content it is.
struct UnsizedReader<'r> {
    reader: &'r mut (dyn Read + Send),
    path: &'r [u8],
    cancel: &'r CancelToken,
}

impl Source for UnsizedReader<'_> {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        Ok(None)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        unless_cancelled(self.cancel)?;
        match read_some(self.reader, buffer) {
            Ok(0) => Ok(Extent::End),
            Ok(count) => Ok(Extent::Data(count)),
            Err(cause) => Err(io_error(self.path, "cannot read the content", cause)),
        }
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (0, None)
    }
}
