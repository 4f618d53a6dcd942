//! The entries of the tar, in order: each name of the scope, as a file, a link to an earlier name, or a fault.

use packline_tree::{Bytes, Entry, Kind, Xattr};
use packline_volume::{FileData, Inode, Node, ReadError, Request, SharedVolume, Visit, Walk};

use super::sparse::{self, SparseFile};
use super::{Asked, TarRoot, TarScope};
use crate::SelectedWalk;
use crate::links::Links;

/// Largest file that a tar can hold, bytes.
const SIZE_MAX: u64 = i64::MAX as u64;

/// An item of the scope.
pub(super) enum Found {
    /// An entry, and the earlier name of its inode if there is one.
    Name { path: Bytes, inode: Box<Inode>, link: Option<Bytes> },
    /// The entry at a path cannot be read.
    Fault { path: Bytes, error: ReadError },
}

/// The entry that is written for a request.
pub(super) enum Tag {
    /// A header and its content.
    Entry {
        entry: Entry,
        /// The content, if it is a file with holes.
        sparse: Option<Box<(SparseFile, FileData)>>,
        /// Why its attributes could not be read.
        fault: Option<ReadError>,
    },
    /// Nothing.
    Fault { path: Bytes, error: ReadError },
}

impl Found {
    /// The content that is read.
    pub(super) fn content(&self) -> Option<&FileData> {
        match self {
            Found::Name { inode, link: None, .. } => match &inode.node {
                Node::File(data) if data.size <= SIZE_MAX => Some(data),
                _ => None,
            },
            _ => None,
        }
    }

    /// Reads what else belongs to the entry.
    pub(super) fn into_request(self, volume: &SharedVolume, asked: &Asked) -> Request<Tag> {
        let file = self.content().cloned();
        let (path, inode, link) = match self {
            Found::Name { path, inode, link } => (path, inode, link),
            Found::Fault { path, error } => {
                return Request { weight: path.len(), tag: Tag::Fault { path, error }, file };
            }
        };
        let mut xattrs = Vec::new();
        let mut fault = None;
        if asked.xattrs && link.is_none() && inode.xattr.is_some() {
            match volume.xattrs(&inode) {
                Ok(all) => xattrs = all,
                Err(error) => fault = Some(error),
            }
        }
        let shape = file.clone().filter(|_| asked.sparse);
        let sparse = shape.and_then(|data| sparse::survey(volume, &data).map(|sparse| Box::new((sparse, data))));
        let entry = Entry { path, meta: inode.meta, kind: kind_of(*inode, link), xattrs };
        Request { weight: weight(&entry), tag: Tag::Entry { entry, sparse, fault }, file }
    }
}

/// Bytes that an entry refers to.
pub fn weight(entry: &Entry) -> usize {
    let target = match &entry.kind {
        Kind::HardLink(target) | Kind::Symlink(target) => target.capacity(),
        _ => 0,
    };
    let xattr = |xattr: &Xattr| size_of::<Xattr>() + xattr.name.capacity() + xattr.value.capacity();
    entry.path.capacity() + target + entry.xattrs.iter().map(xattr).sum::<usize>()
}

/// The kind of an entry; `link` is an earlier name of its inode.
pub fn kind_of(inode: Inode, link: Option<Bytes>) -> Kind {
    if let Some(target) = link {
        return Kind::HardLink(target);
    }
    match inode.node {
        Node::Directory(_) => Kind::Dir,
        Node::File(data) => Kind::File { size: data.size },
        Node::Symlink(target) => Kind::Symlink(target),
        Node::BlockDevice(device) => Kind::BlockDevice(device),
        Node::CharDevice(device) => Kind::CharDevice(device),
        Node::Fifo => Kind::Fifo,
        Node::Socket => Kind::Socket,
    }
}

/// Walks the scope.
pub(super) struct Items<'a> {
    walk: Source<'a>,
    root: bool,
    links: Option<Links>,
}

enum Source<'a> {
    Selected(Box<SelectedWalk<'a>>),
    Below { walk: Box<Walk>, directories: &'a [Bytes], keep: bool },
}

impl<'a> Items<'a> {
    pub(super) fn new(volume: &SharedVolume, asked: &'a Asked) -> Items<'a> {
        let walk = match &asked.scope {
            TarScope::Selected(selection) => Source::Selected(Box::new(SelectedWalk::new(volume, selection))),
            TarScope::Below { directories, keep } => Source::Below {
                walk: Box::new(Walk::new(volume, volume.root(), Bytes::new())),
                directories,
                keep: *keep,
            },
        };
        let links = asked.hard_links.then(|| Links::new(asked.link_bytes));
        Items { walk, root: asked.root != TarRoot::Nothing, links }
    }

    fn found(&mut self, Visit { path, inode }: Visit) -> Found {
        let links = self.links.as_mut().filter(|_| can_be_target(&inode.node));
        match links.map_or(Ok(None), |links| links.earlier(&inode, &path)) {
            Ok(link) => Found::Name { path, inode: Box::new(inode), link },
            Err(error) => Found::Fault { path, error },
        }
    }
}

impl Iterator for Items<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            match self.walk.next()? {
                Ok(visit) if visit.path.is_empty() && !self.root => {}
                Ok(visit) => return Some(self.found(visit)),
                Err((path, error)) => return Some(Found::Fault { path, error }),
            }
        }
    }
}

impl Source<'_> {
    /// The next entry, under its name in the tar.
    fn next(&mut self) -> Option<Result<Visit, (Bytes, ReadError)>> {
        let (walk, directories, keep) = match self {
            Source::Selected(walk) => return walk.next(),
            Source::Below { walk, directories, keep } => (walk, *directories, *keep),
        };
        loop {
            let (result, path) = match walk.next()? {
                Ok(Visit { path, inode }) => (Ok(inode), path),
                Err((path, error)) => (Err(error), path),
            };
            // The root is written as itself, whatever directory is requested.
            let place = if path.is_empty() { Place::Within(0) } else { place_of(&path, directories) };
            match place {
                Place::Beside => walk.prune(),
                Place::Leads if !keep && result.is_ok() => {}
                Place::Within(cut) if !keep => return Some(visit(result, path[cut..].to_vec())),
                Place::Leads | Place::Within(_) => return Some(visit(result, path)),
            }
        }
    }
}

fn visit(result: Result<Inode, ReadError>, path: Bytes) -> Result<Visit, (Bytes, ReadError)> {
    match result {
        Ok(inode) => Ok(Visit { path, inode }),
        Err(error) => Err((path, error)),
    }
}

/// Position of a path relative to the requested directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In none of them, and on the way to none.
    Beside,
    /// On the way to one, or one itself.
    Leads,
    /// In one, whose name and a slash are this many bytes of the path.
    Within(usize),
}

fn place_of(path: &[u8], directories: &[Bytes]) -> Place {
    let place = |directory: &Bytes| {
        let below = |path: &[u8], top: &[u8]| path.starts_with(top) && path.get(top.len()) == Some(&b'/');
        match directory {
            _ if directory.is_empty() => Place::Within(0),
            _ if below(path, directory) => Place::Within(directory.len() + 1),
            _ if directory == path || below(directory, path) => Place::Leads,
            _ => Place::Beside,
        }
    };
    let mut places = directories.iter().map(place).filter(|place| *place != Place::Beside);
    let first = places.next().unwrap_or(Place::Beside);
    places.find(|place| matches!(place, Place::Within(_))).filter(|_| first == Place::Leads).unwrap_or(first)
}

/// Whether a tar has an entry that a hard link can lead to: an entry that a tar cannot hold is left out under each of its names.
fn can_be_target(node: &Node) -> bool {
    match node {
        Node::Directory(_) | Node::Socket => false,
        Node::File(data) => data.size <= SIZE_MAX,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_paths() {
        let directories = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>();
        let one = directories(&["usr/lib"]);
        for (path, place) in [
            ("usr", Place::Leads),
            ("usr/lib", Place::Leads),
            ("usr/lib/a/b", Place::Within(8)),
            ("usr/lib64", Place::Beside),
            ("usr/li", Place::Beside),
            ("us", Place::Beside),
        ] {
            assert_eq!(place_of(path.as_bytes(), &one), place, "{path}");
        }
        let nested = directories(&["usr/lib/deep", "usr"]);
        assert_eq!(place_of(b"usr/lib", &nested), Place::Within(4));
        assert_eq!(place_of(b"anything", &directories(&[""])), Place::Within(0));
    }
}
