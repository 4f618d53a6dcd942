//! The entries of the tar, in order: each name of the scope, as a file, a link to an earlier name, or a fault.

use packline_tree::{Bytes, Entry, Kind, Xattr};
use packline_volume::{FileData, Inode, Node, ReadError, Request, SharedVolume, Visit, Walk};

use super::sparse::{self, SparseFile};
use super::{TarOptions, TarRoot, TarScope};
use crate::SelectedWalk;
use crate::links::Links;

/// Largest file that a tar can hold in bytes.
const SIZE_MAX: u64 = i64::MAX as u64;

/// An item of the scope.
pub(super) enum TarItem {
    /// An entry, with an earlier name of its inode if there is one.
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
        /// The error of reading its attributes.
        fault: Option<ReadError>,
    },
    /// No entry.
    Fault { path: Bytes, error: ReadError },
}

impl TarItem {
    /// Returns the content to read.
    pub(super) fn content(&self) -> Option<&FileData> {
        match self {
            TarItem::Name { inode, link: None, .. } => match &inode.node {
                Node::File(data) if data.size <= SIZE_MAX => Some(data),
                _ => None,
            },
            _ => None,
        }
    }

    /// Reads the attributes and the holes of the entry.
    pub(super) fn into_request(self, volume: &SharedVolume, asked: &TarOptions) -> Request<Tag> {
        let file = self.content().cloned();
        let (path, inode, link) = match self {
            TarItem::Name { path, inode, link } => (path, inode, link),
            TarItem::Fault { path, error } => {
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

/// Returns the bytes that an entry refers to.
pub fn weight(entry: &Entry) -> usize {
    let target = match &entry.kind {
        Kind::HardLink(target) | Kind::Symlink(target) => target.capacity(),
        _ => 0,
    };
    let xattr = |xattr: &Xattr| size_of::<Xattr>() + xattr.name.capacity() + xattr.value.capacity();
    entry.path.capacity() + target + entry.xattrs.iter().map(xattr).sum::<usize>()
}

/// Returns the kind of an entry; `link` is an earlier name of its inode.
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
    pub(super) fn new(volume: &SharedVolume, asked: &'a TarOptions) -> Items<'a> {
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

    fn found(&mut self, Visit { path, inode }: Visit) -> TarItem {
        let links = self.links.as_mut().filter(|_| can_be_target(&inode.node));
        match links.map_or(Ok(None), |links| links.earlier(&inode, &path)) {
            Ok(link) => TarItem::Name { path, inode: Box::new(inode), link },
            Err(error) => TarItem::Fault { path, error },
        }
    }
}

impl Iterator for Items<'_> {
    type Item = TarItem;

    fn next(&mut self) -> Option<TarItem> {
        loop {
            match self.walk.next()? {
                Ok(visit) if visit.path.is_empty() && !self.root => {}
                Ok(visit) => return Some(self.found(visit)),
                Err((path, error)) => return Some(TarItem::Fault { path, error }),
            }
        }
    }
}

impl Source<'_> {
    /// Returns the next entry, under its name in the tar.
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
            // The root is written under its own name, whatever directory is requested.
            let place = if path.is_empty() { ScopeMatch::Within(0) } else { scope_match(&path, directories) };
            match place {
                ScopeMatch::Beside => walk.prune(),
                ScopeMatch::Leads if !keep && result.is_ok() => {}
                ScopeMatch::Within(cut) if !keep => return Some(visit(result, path[cut..].to_vec())),
                ScopeMatch::Leads | ScopeMatch::Within(_) => return Some(visit(result, path)),
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
enum ScopeMatch {
    /// Neither in a directory nor above one.
    Beside,
    /// Above a directory, or the directory itself.
    Leads,
    /// Below a directory; its name and a slash are this many bytes of the path.
    Within(usize),
}

fn scope_match(path: &[u8], directories: &[Bytes]) -> ScopeMatch {
    let place = |directory: &Bytes| {
        let below = |path: &[u8], top: &[u8]| path.starts_with(top) && path.get(top.len()) == Some(&b'/');
        match directory {
            _ if directory.is_empty() => ScopeMatch::Within(0),
            _ if below(path, directory) => ScopeMatch::Within(directory.len() + 1),
            _ if directory == path || below(directory, path) => ScopeMatch::Leads,
            _ => ScopeMatch::Beside,
        }
    };
    let mut places = directories.iter().map(place).filter(|place| *place != ScopeMatch::Beside);
    let first = places.next().unwrap_or(ScopeMatch::Beside);
    places.find(|place| matches!(place, ScopeMatch::Within(_))).filter(|_| first == ScopeMatch::Leads).unwrap_or(first)
}

/// Whether a hard link can lead to the entry. An entry that a tar cannot hold is left out under each of its names.
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
            ("usr", ScopeMatch::Leads),
            ("usr/lib", ScopeMatch::Leads),
            ("usr/lib/a/b", ScopeMatch::Within(8)),
            ("usr/lib64", ScopeMatch::Beside),
            ("usr/li", ScopeMatch::Beside),
            ("us", ScopeMatch::Beside),
        ] {
            assert_eq!(scope_match(path.as_bytes(), &one), place, "{path}");
        }
        let nested = directories(&["usr/lib/deep", "usr"]);
        assert_eq!(scope_match(b"usr/lib", &nested), ScopeMatch::Within(4));
        assert_eq!(scope_match(b"anything", &directories(&[""])), ScopeMatch::Within(0));
    }
}
