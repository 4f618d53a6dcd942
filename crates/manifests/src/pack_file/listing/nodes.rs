//! The entries of a listing by path, the rules for adding an entry, and hard links, which may lead to other hard links.

use super::{Listing, TextLine};
use packline_tree::text::quote;
use packline_tree::{Bytes, Entry, Error, HostFile, Kind, Meta};
use std::collections::BTreeMap;

/// The permissions of every symbolic link.
const SYMLINK_MODE: u16 = 0o777;

#[derive(Debug)]
pub(super) struct Node {
    pub kind: Kind,
    pub meta: Meta,
    /// The local file with the content. A regular file without one is empty.
    pub host: Option<HostFile>,
    /// The number of the line; 0 if the entry has no line.
    pub line: u64,
    /// A directory without a line of its own.
    pub implied: bool,
}

impl Node {
    pub fn new(kind: Kind) -> Node {
        let meta = Meta::default();
        Node { kind, meta, host: None, line: 0, implied: false }
    }

    pub fn is_dir(&self) -> bool {
        self.kind == Kind::Dir
    }

    pub fn into_entry(self, path: Bytes) -> (Entry, Option<HostFile>) {
        let mut meta = self.meta;
        if matches!(self.kind, Kind::Symlink(_)) {
            meta.mode = SYMLINK_MODE;
        }
        (Entry { path, kind: self.kind, meta, xattrs: Vec::new() }, self.host)
    }
}

/// Why an entry cannot be added.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// An entry has the path already. The number is its line, or 0.
    Taken(u64),
    /// The entry at this path above is not a directory.
    NotDirectory(Bytes),
}

impl Fault {
    pub fn at(self, place: TextLine<'_>, path: &[u8]) -> Error {
        let path = quote(path);
        let (what, expected) = match self {
            Fault::Taken(0) => (format!("{path} already exists"), "each path once"),
            Fault::Taken(line) => (format!("{path} was already added by line {line}"), "each path once"),
            Fault::NotDirectory(above) => {
                (format!("{path} is below {}, which is not a directory", quote(&above)), "a directory")
            }
        };
        place.error(what, expected)
    }
}

/// Entries by path.
///
/// A key is a path with a NUL byte for each slash. Names have no NUL, and NUL sorts before all other bytes. The order of keys is therefore
/// that of a walk that visits names in order and each directory before its entries.
#[derive(Debug)]
pub(super) struct Nodes {
    by_key: BTreeMap<Bytes, Node>,
    defaults: Meta,
}

impl Nodes {
    /// Only the root, as an implied directory.
    pub fn new(defaults: Meta) -> Nodes {
        let root = implied(defaults);
        Nodes { by_key: BTreeMap::from([(Bytes::new(), root)]), defaults }
    }

    pub fn get(&self, path: &[u8]) -> Option<&Node> {
        self.by_key.get(&key(path))
    }

    pub fn get_mut(&mut self, path: &[u8]) -> Option<&mut Node> {
        self.by_key.get_mut(&key(path))
    }

    pub fn is_dir(&self, path: &[u8]) -> bool {
        self.get(path).is_some_and(Node::is_dir)
    }

    /// Adds an entry and its missing parent directories.
    pub fn add(&mut self, path: &[u8], node: Node) -> Result<(), Fault> {
        if let Some(parent) = parent(path) {
            self.imply(parent)?;
        }
        match self.by_key.get_mut(&key(path)) {
            None => {
                self.by_key.insert(key(path), node);
                Ok(())
            }
            Some(old) if old.implied && node.is_dir() => {
                *old = node;
                Ok(())
            }
            Some(old) => Err(Fault::Taken(old.line)),
        }
    }

    /// Adds a directory if it is missing.
    pub fn imply(&mut self, path: &[u8]) -> Result<(), Fault> {
        if self.is_dir(path) {
            return Ok(());
        }
        let ends = memchr::memchr_iter(b'/', path).chain([path.len()]);
        for end in ends {
            let defaults = self.defaults;
            let node = self.by_key.entry(key(&path[..end])).or_insert_with(|| implied(defaults));
            if !node.is_dir() {
                return Err(Fault::NotDirectory(path[..end].to_vec()));
            }
        }
        Ok(())
    }

    /// Every entry with its path, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Bytes, &Node)> {
        self.by_key.iter().map(|(key, node)| (path(key.clone()), node))
    }

    /// Every entry with its path, in order.
    pub fn into_iter(self) -> impl Iterator<Item = (Bytes, Node)> {
        self.by_key.into_iter().map(|(key, node)| (path(key), node))
    }
}

fn implied(defaults: Meta) -> Node {
    Node { meta: defaults, implied: true, ..Node::new(Kind::Dir) }
}

/// The path of the parent directory; `None` for the root.
pub(super) fn parent(path: &[u8]) -> Option<&[u8]> {
    if path.is_empty() {
        return None;
    }
    Some(memchr::memrchr(b'/', path).map_or(b"", |slash| &path[..slash]))
}

fn key(path: &[u8]) -> Bytes {
    path.iter().map(|&byte| if byte == b'/' { 0 } else { byte }).collect()
}

fn path(mut key: Bytes) -> Bytes {
    for byte in &mut key {
        if *byte == 0 {
            *byte = b'/';
        }
    }
    key
}

impl Listing {
    /// Replaces the target of each hard link with the path of an entry that is not a hard link.
    ///
    /// All links of a chain are redirected to its end at the same time, so that each link is followed at most a few times, however long the
    /// chains are.
    pub(super) fn resolve_links(&mut self) -> Result<(), Error> {
        let is_link =
            |(path, node): (Bytes, &Node)| matches!(node.kind, Kind::HardLink(_)).then_some((path, node.line));
        let links: Vec<(Bytes, u64)> = self.nodes.iter().filter_map(is_link).collect();
        let limit = links.len();
        for (path, line) in links {
            let wrong = |(what, expected)| self.place(line).error(format!("{} {what}", quote(&path)), expected);
            let chain = follow(&self.nodes, &path, limit).map_err(wrong)?;
            self.redirect(chain);
        }
        Ok(())
    }

    /// Redirects all links of a chain to its end.
    fn redirect(&mut self, mut chain: Vec<Bytes>) {
        let Some(end) = chain.pop() else { return };
        for path in chain {
            if let Some(node) = self.nodes.get_mut(&path) {
                node.kind = Kind::HardLink(end.clone());
            }
        }
    }
}

/// The paths from a link to an entry that is not a hard link, including both. More than `limit` links are a cycle.
fn follow(nodes: &Nodes, path: &[u8], limit: usize) -> Result<Vec<Bytes>, (String, &'static str)> {
    let mut chain = vec![path.to_vec()];
    while let Some(at) = chain.last().filter(|_| chain.len() <= limit + 1) {
        match nodes.get(at).map(|node| &node.kind) {
            Some(Kind::HardLink(target)) => chain.push(target.clone()),
            Some(Kind::Dir) => {
                return Err((format!("is a hard link to the directory {}", quote(at)), "anything but a directory"));
            }
            Some(_) => return Ok(chain),
            None => {
                return Err((format!("is a hard link to {}, which does not exist", quote(at)), "the path of an entry"));
            }
        }
    }
    Err(("is a hard link that leads back to itself".to_owned(), "the path of an entry"))
}
