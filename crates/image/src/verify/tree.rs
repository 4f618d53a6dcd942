//! Checks an image through its volume, for file systems without a verification of their own: all that a name leads to is read. These are types and
//! names of entries, link counts, extended attributes, and contents.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use packline_runtime::unless_cancelled;
use packline_volume::{
    Event, Inode, Node, NodeId, ReadError, ReadSettings, Reading, Report, Request, SharedUses, SharedVolume, Visit,
    Walk,
};

/// Memory for a file in bytes, rounded up: its record, its entry in the set of visited directories, the use of its tail end.
pub(super) const NOTED: u64 = 64;

/// Checks the tree and reads all contents. `most` is the maximum number of files to record.
///
/// # Errors
/// Errors that are not faults of the image: [`ReadError::Work`], [`ReadError::Unsupported`].
pub(super) fn check(
    volume: &SharedVolume,
    settings: &ReadSettings,
    most: usize,
    report: &mut Report<'_>,
) -> Result<(), ReadError> {
    let mut tree = Tree { volume, report, files: Files::default(), path: Vec::new(), uses: SharedUses::new() };
    let mut content = 0u64;
    for visit in Walk::new(volume, volume.root(), Vec::new()) {
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
    tree.read_contents(content, settings)
}

/// The tree as far as it was walked.
struct Tree<'t, 'x> {
    volume: &'t SharedVolume,
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
        self.uses.note(self.volume.as_ref(), file);
        Ok(file.size)
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

    /// Compares the link counts of files with their names.
    fn check_names(&mut self) {
        if self.report.totals.faults > 0 {
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
        let Tree { volume, report, mut files, uses, .. } = self;
        // The first walk reported the faults of the tree.
        let visits = Walk::new(volume, volume.root(), Vec::new()).filter_map(Result::ok);
        let requests = visits.filter_map(|visit| request(visit, &mut files)).map(Ok);
        let mut reading = Reading::new(volume, Box::new(requests), uses, settings)?;
        let mut path = Vec::new();
        while let Some(event) = reading.next_event()? {
            let length = match event {
                Event::Begin(next) => {
                    path = next;
                    0
                }
                Event::Data(chunk) => chunk.len() as u64,
                Event::Hole(length) => length,
                Event::Failed { length, error } => {
                    report.unread(Some(&path), error)?;
                    length
                }
            };
            report.totals.content = report.totals.content.saturating_add(length);
            report.examiner.advance(report.totals.content, total);
        }
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

fn request(visit: Visit, files: &mut Files) -> Option<Request<Vec<u8>>> {
    let Visit { path, inode } = visit;
    let file = match inode.node {
        Node::File(file) if files.request(inode.at) => file,
        _ => return None,
    };
    Some(Request { weight: path.len(), tag: path, file: Some(file) })
}

/// The root has no name in messages.
fn named(path: &[u8]) -> Option<&[u8]> {
    if path.is_empty() { None } else { Some(path) }
}
