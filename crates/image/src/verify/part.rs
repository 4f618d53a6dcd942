//! Checks a part of an image through its volume: all that a name in the part leads to is read. These are types and names of entries, link counts,
//! extended attributes, and contents or their positions.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use packline_runtime::escape::Escape;
use packline_runtime::{hex, unless_cancelled, zeros};
use packline_volume::{
    Event, FileData, Inode, Node, NodeId, ReadError, ReadSettings, Reading, Report, Request, SharedUses, SharedVolume,
    Visit, Walk,
};
use sha2::{Digest, Sha256};

/// The part of an image that is checked.
#[derive(Clone, Copy)]
pub struct PartScope<'s> {
    /// The inode to check, with everything below it.
    pub from: NodeId,
    /// Whether contents are read. Otherwise only their positions are checked.
    pub contents: bool,
    /// Returns the stored SHA-256 of a file with content. `None` compares nothing; a file without a hash is noted.
    pub hashes: Option<&'s dyn Fn(NodeId) -> Result<Option<Sha256Hash>, ReadError>>,
}

/// A SHA-256.
pub type Sha256Hash = [u8; 32];

/// Checks a part of the tree, and its contents. `most` is the maximum number of files to record.
///
/// # Errors
/// Errors that are not faults of the image: [`ReadError::Work`], [`ReadError::Unsupported`].
pub(super) fn check(
    volume: &SharedVolume,
    scope: PartScope<'_>,
    settings: &ReadSettings,
    most: usize,
    report: &mut Report<'_>,
) -> Result<(), ReadError> {
    let mut tree = Tree { volume, scope, report, files: Files::default(), path: Vec::new(), uses: SharedUses::new() };
    let mut content = 0u64;
    for visit in Walk::new(volume, scope.from, Vec::new()) {
        unless_cancelled(&settings.engine.cancel)?;
        match visit {
            Ok(visit) => content = content.saturating_add(tree.visit(&visit)?),
            Err((path, error)) => tree.report.unread(named(&path), error)?,
        }
        if tree.files.0.len() > most {
            let expected = format!("at most the {} inodes of the superblock", volume.facts().inodes);
            tree.report.fault(0, format!("more than {most} files"), expected);
            return Ok(());
        }
    }
    tree.leave(0);
    tree.check_names();
    if scope.contents { tree.read_contents(content, settings) } else { Ok(()) }
}

/// The tree as far as it was walked.
struct Tree<'t, 'x> {
    volume: &'t SharedVolume,
    scope: PartScope<'t>,
    report: &'t mut Report<'x>,
    files: Files,
    /// The directories from the root to the last entry.
    path: Vec<OpenDirectory>,
    /// Uses of shared units, in the order of the first names of files.
    uses: SharedUses,
}

/// A directory whose entries are being visited.
struct OpenDirectory {
    at: NodeId,
    number: u64,
    links: u32,
    directories: u32,
}

impl Tree<'_, '_> {
    /// Checks an entry, without its content. Returns the size of a file's content at its first name.
    fn visit(&mut self, visit: &Visit) -> Result<u64, ReadError> {
        let Visit { path, inode } = visit;
        // The walk is depth first: the entries after a directory are in it until one is at the directory's own depth.
        let depth = if path.is_empty() { 0 } else { 1 + path.iter().filter(|byte| **byte == b'/').count() };
        self.leave(depth);
        let totals = &mut self.report.totals;
        totals.names += u64::from(!path.is_empty());
        if let Node::Directory(_) = &inode.node {
            totals.directories += 1;
            if let Some(above) = self.path.last_mut() {
                above.directories = above.directories.saturating_add(1);
            }
            self.path.push(OpenDirectory { at: inode.at, number: inode.number, links: inode.links, directories: 0 });
        } else if !self.files.name(inode) {
            return Ok(0);
        }
        self.report.totals.inodes += 1;
        self.report.totals.symlinks += u64::from(matches!(inode.node, Node::Symlink(_)));
        if let Err(error) = self.volume.xattrs(inode) {
            self.report.unread(named(path), error)?;
        }
        let Node::File(file) = &inode.node else { return Ok(0) };
        self.report.totals.files += 1;
        if self.scope.contents {
            self.uses.note(self.volume.as_ref(), file);
        } else {
            self.check_pieces(path, file)?;
        }
        Ok(file.size)
    }

    /// Checks the positions of a file's content.
    fn check_pieces(&mut self, path: &[u8], file: &FileData) -> Result<(), ReadError> {
        let mut pieces = self.volume.pieces(file, 0);
        while let Some(piece) = pieces.next_piece() {
            if let Err(missing) = piece {
                self.report.unread(Some(path), missing.error)?;
            }
        }
        Ok(())
    }

    /// Leaves the directories at this depth and below it, and checks their link counts.
    fn leave(&mut self, depth: usize) {
        while self.path.len() > depth {
            let Some(OpenDirectory { at, number, links, directories }) = self.path.pop() else { return };
            let counted = directories.saturating_add(2);
            // A count of 1 means that the number is unknown. After a fault, names may be missing.
            if links != counted && links != 1 && self.report.totals.faults == 0 {
                let what = format!("directory, inode {number}, with a link count of {links}");
                let expected = format!("{counted}: 2, and 1 for each directory in it");
                self.report.note(self.volume.offset_of(at), what, expected);
            }
        }
    }

    /// Compares the link counts of files with their names, if all names are in the part.
    fn check_names(&mut self) {
        if self.report.totals.faults > 0 || self.scope.from != self.volume.root() {
            return;
        }
        for (at, File { names, links, .. }) in self.files.0.iter().filter(|(_, file)| file.names != file.links) {
            let what = format!("file with a link count of {links}");
            let expected = format!("{names}, the number of its names");
            self.report.fault(self.volume.offset_of(*at), what, expected);
        }
    }

    /// Reads all files in the order of the tree, each once; `total` bytes in all.
    fn read_contents(self, total: u64, settings: &ReadSettings) -> Result<(), ReadError> {
        let Tree { volume, scope, report, mut files, uses, .. } = self;
        // The first walk reported the faults of the tree.
        let visits = Walk::new(volume, scope.from, Vec::new()).filter_map(Result::ok);
        let requests = visits.filter_map(|visit| request(visit, &mut files)).map(Ok);
        let mut reading = Reading::new(volume, Box::new(requests), uses, settings)?;
        let mut file = Hashing::default();
        while let Some(event) = reading.next_event()? {
            let length = match event {
                Event::Begin(next) => {
                    let before = std::mem::replace(&mut file, Hashing::of(next, scope, report)?);
                    before.compare(volume, report);
                    0
                }
                Event::Data(chunk) => {
                    file.add(&chunk);
                    chunk.len() as u64
                }
                Event::Hole(length) => {
                    file.add_zeros(length);
                    length
                }
                Event::Failed { length, error } => {
                    report.unread(Some(&file.path), error)?;
                    file.expected = None;
                    length
                }
            };
            report.totals.content = report.totals.content.saturating_add(length);
            report.examiner.advance(report.totals.content, total);
        }
        file.compare(volume, report);
        Ok(())
    }
}

/// The entries that are not directories, each once for all of its names.
#[derive(Default)]
struct Files(BTreeMap<NodeId, File>);

struct File {
    names: u32,
    links: u32,
    /// Whether the content was requested.
    is_read: bool,
}

impl Files {
    /// Counts a name, and returns whether it is the first one.
    fn name(&mut self, inode: &Inode) -> bool {
        match self.0.entry(inode.at) {
            Entry::Occupied(file) => {
                let names = &mut file.into_mut().names;
                *names = names.saturating_add(1);
                false
            }
            Entry::Vacant(place) => {
                place.insert(File { names: 1, links: inode.links, is_read: false });
                true
            }
        }
    }

    /// Returns whether the content of a file was not requested before.
    fn request(&mut self, at: NodeId) -> bool {
        self.0.get_mut(&at).is_some_and(|file| !std::mem::replace(&mut file.is_read, true))
    }
}

/// A file whose content is read.
struct NamedFile {
    path: Vec<u8>,
    at: NodeId,
    size: u64,
}

fn request(visit: Visit, files: &mut Files) -> Option<Request<NamedFile>> {
    let Visit { path, inode } = visit;
    let file = match inode.node {
        Node::File(file) if files.request(inode.at) => file,
        _ => return None,
    };
    let weight = path.len();
    Some(Request { weight, tag: NamedFile { path, at: inode.at, size: file.size }, file: Some(file) })
}

/// The file whose content is being read, and the hash of the content so far.
#[derive(Default)]
struct Hashing {
    path: Vec<u8>,
    at: u64,
    hasher: Sha256,
    /// The stored hash, if it is compared.
    expected: Option<Sha256Hash>,
}

impl Hashing {
    fn of(file: NamedFile, scope: PartScope<'_>, report: &mut Report<'_>) -> Result<Hashing, ReadError> {
        let NamedFile { path, at, size } = file;
        let mut hashing = Hashing { path, at: at.0, ..Hashing::default() };
        let Some(hashes) = scope.hashes.filter(|_| size > 0) else { return Ok(hashing) };
        match hashes(at) {
            Ok(Some(hash)) => hashing.expected = Some(hash),
            Ok(None) => {
                report.note(0, format!("file {} without a SHA-256", hashing.path.escaped()), "one for each file")
            }
            Err(error) => report.unread(Some(&hashing.path), error)?,
        }
        Ok(hashing)
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.expected.is_some() {
            self.hasher.update(bytes);
        }
    }

    fn add_zeros(&mut self, length: u64) {
        if self.expected.is_some() {
            zeros(length).for_each(|piece| self.hasher.update(piece));
        }
    }

    /// Compares the hash with the stored one.
    fn compare(self, volume: &SharedVolume, report: &mut Report<'_>) {
        let Some(expected) = self.expected else { return };
        let found: Sha256Hash = self.hasher.finalize().into();
        if found != expected {
            let offset = volume.offset_of(NodeId(self.at));
            let what = format!("content of {} with the SHA-256 {}", self.path.escaped(), hex(&found));
            report.fault(offset, what, format!("{}, its stored SHA-256", hex(&expected)));
        }
    }
}

/// The root has no name in messages.
fn named(path: &[u8]) -> Option<&[u8]> {
    if path.is_empty() { None } else { Some(path) }
}
