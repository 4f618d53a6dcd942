//! Resolves paths inside an image through symbolic links, as if the image were the complete file system.

use std::collections::VecDeque;

use packline_volume::{FileData, Inode, Node, ReadError, SharedVolume};

use crate::{EntryFault, Error, OpenedImage};

/// Maximum number of symbolic links followed for one path, as in Linux.
const LINKS_MOST: usize = 40;

/// Returns the regular file at `path`, through all symbolic links.
///
/// # Errors
/// [`Error::Entry`] for a path that does not lead to a regular file; [`Error::Read`].
pub(crate) fn regular_file(image: &OpenedImage, path: &[u8]) -> Result<FileData, Error> {
    let refused = |fault| Error::Entry {
        path: image.display_path.clone(),
        entry: path.to_vec(),
        fault,
        expected: "the path of a regular file in the image",
    };
    match follow(&image.volume, path).map_err(|cause| image.fault_at(path, cause))? {
        Followed::Missing => Err(refused(EntryFault::Missing)),
        Followed::TooManyLinks => Err(refused(EntryFault::TooManyLinks)),
        Followed::Found(inode) => match inode.node {
            Node::File(file) => Ok(file),
            Node::Directory(_) => Err(refused(EntryFault::Directory)),
            _ => Err(refused(EntryFault::NotRegular)),
        },
    }
}

/// Result of resolving a path.
#[derive(Debug)]
pub(crate) enum Followed {
    /// An inode that is not a symbolic link.
    Found(Box<Inode>),
    /// The path does not exist.
    Missing,
    /// More symbolic links than Linux would follow.
    TooManyLinks,
}

/// Returns the inode at `path`, through all symbolic links. `..` of the root is the root.
///
/// # Errors
/// An error of reading a directory or inode.
pub(crate) fn follow(volume: &SharedVolume, path: &[u8]) -> Result<Followed, ReadError> {
    let mut walk =
        PathWalk { volume, above: Vec::new(), at: volume.inode(volume.root())?, links: 0, rest: VecDeque::new() };
    walk.prepend(path);
    while let Some(name) = walk.rest.pop_front() {
        match walk.step(&name)? {
            Step::Entered => {}
            Step::Missing => return Ok(Followed::Missing),
            Step::TooManyLinks => return Ok(Followed::TooManyLinks),
        }
    }
    Ok(Followed::Found(Box::new(walk.at)))
}

enum Step {
    Entered,
    Missing,
    TooManyLinks,
}

struct PathWalk<'i> {
    volume: &'i SharedVolume,
    /// The directories above the current one.
    above: Vec<Inode>,
    at: Inode,
    links: usize,
    /// Components still to resolve.
    rest: VecDeque<Vec<u8>>,
}

impl PathWalk<'_> {
    /// Resolves `path` before the remaining components.
    fn prepend(&mut self, path: &[u8]) {
        for name in path.split(|byte| *byte == b'/').rev() {
            if !matches!(name, b"" | b".") {
                self.rest.push_front(name.to_vec());
            }
        }
    }

    fn step(&mut self, name: &[u8]) -> Result<Step, ReadError> {
        if !matches!(self.at.node, Node::Directory(_)) {
            return Ok(Step::Missing);
        }
        if name == b".." {
            if let Some(parent) = self.above.pop() {
                self.at = parent;
            }
            return Ok(Step::Entered);
        }
        let Some(entry) = self.volume.lookup(&self.at, name)? else { return Ok(Step::Missing) };
        let found = self.volume.entry_inode(&entry)?;
        match &found.node {
            Node::Symlink(target) => Ok(self.follow_link(target)),
            _ => {
                self.above.push(std::mem::replace(&mut self.at, found));
                Ok(Step::Entered)
            }
        }
    }

    fn follow_link(&mut self, target: &[u8]) -> Step {
        self.links += 1;
        if self.links > LINKS_MOST {
            return Step::TooManyLinks;
        }
        if target.starts_with(b"/") && !self.above.is_empty() {
            self.at = self.above.swap_remove(0);
            self.above.clear();
        }
        self.prepend(target);
        Step::Entered
    }
}
