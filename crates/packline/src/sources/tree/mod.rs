//! A tree that a program builds: directories, links, devices, and files from memory, from this machine or from any reader.

mod content;
mod plan;
mod source;

use std::collections::BTreeMap;
use std::fmt;

pub use content::Content;
use packline_runtime::escape::Escape;
use packline_tree::path::{PathFault, canonical};
use packline_tree::{Bytes, Kind, Meta, Time, Xattr};
pub(super) use plan::{NAME, TreePlan};

use crate::error::Error;

/// A tree that a program builds, as a source of a pack.
///
/// Entries are added in any order, and the output does not depend on that order. Directories above an entry need not be added: a missing one
/// belongs to root, with the mode 755 and the time 0. A later entry at the same path replaces the earlier one.
///
/// A path is relative to the root of the image: `etc/motd` and `/etc/motd` are the same entry. `/` is the root.
///
/// Contents are read when the tree is packed, once, in the order of the output. Nothing is held in memory except the bytes that the program
/// gives and one content of unknown size ([`Content::reader`]).
///
/// ```
/// use packline::{Content, Packer, Time, Tree};
///
/// # fn main() -> Result<(), packline::Error> {
/// # let top = tempfile::tempdir().unwrap();
/// # std::env::set_current_dir(top.path()).unwrap();
/// # std::fs::write("app", "binary").unwrap();
/// let mut tree = Tree::new();
/// tree.file("usr/bin/app", Content::path("app"))?.mode(0o755);
/// tree.file("etc/motd", "Welcome\n")?.time(Time::new(1_700_000_000, 500_000_000));
/// tree.symlink("bin", "usr/bin")?;
/// tree.hard_link("usr/bin/app-2", "usr/bin/app")?;
/// tree.directory("home/user")?.owner(1000, 1000).xattr("user.note", "made by a program");
/// Packer::new(tree).write_to("root.sqfs")?;
/// # Ok(())
/// # }
/// ```
///
/// [`Source::with`](crate::Source::with) lays a tree over another source. Then a file with a name such as `.wh.motd` is a whiteout, which hides
/// `motd` of the sources below.
#[derive(Debug, Default)]
pub struct Tree {
    /// By path, with NUL in place of each slash: this order has each directory before its entries, and names sorted by their bytes.
    nodes: BTreeMap<Bytes, Node>,
}

/// An entry, and its content.
#[derive(Debug)]
struct Node {
    kind: NodeKind,
    meta: Meta,
    xattrs: Vec<Xattr>,
}

enum NodeKind {
    File(Content),
    /// Anything except a file.
    Other(Kind),
}

impl fmt::Debug for NodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeKind::File(content) => content.fmt(f),
            NodeKind::Other(kind) => kind.fmt(f),
        }
    }
}

impl Tree {
    /// A tree without entries. It is packed as an empty root.
    pub fn new() -> Tree {
        Tree::default()
    }

    /// Adds a regular file, with the mode 644.
    ///
    /// # Errors
    /// [`Error::Request`] for a path that is empty, leads outside, is too long or contains NUL, for a directory with entries at the path, and for
    /// a path below an entry that is not a directory.
    pub fn file(&mut self, path: impl AsRef<[u8]>, content: impl Into<Content>) -> Result<TreeEntry<'_>, Error> {
        self.put(path.as_ref(), NodeKind::File(content.into()), 0o644)
    }

    /// Adds a directory, with the mode 755, or sets the attributes of the directory at the path.
    ///
    /// # Errors
    /// As [`Tree::file`].
    pub fn directory(&mut self, path: impl AsRef<[u8]>) -> Result<TreeEntry<'_>, Error> {
        self.put(path.as_ref(), NodeKind::Other(Kind::Dir), 0o755)
    }

    /// Adds a symbolic link, whose target is stored unchanged.
    ///
    /// # Errors
    /// As [`Tree::file`]; [`Error::Request`] also for an empty target, and for one with more than 65,535 bytes or with NUL.
    pub fn symlink(&mut self, path: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Result<TreeEntry<'_>, Error> {
        let kind = Kind::Symlink(target.as_ref().to_vec());
        self.put(path.as_ref(), NodeKind::Other(kind), 0o777)
    }

    /// Adds another name for the file, link or device at the path `target`, which may be added later, or be in a source below the tree. The names
    /// share all attributes, so those of this entry are ignored.
    ///
    /// # Errors
    /// As [`Tree::file`], for both paths. A target that does not exist is an error of the pack.
    pub fn hard_link(&mut self, path: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Result<TreeEntry<'_>, Error> {
        let kind = Kind::HardLink(target.as_ref().to_vec());
        self.put(path.as_ref(), NodeKind::Other(kind), 0)
    }

    /// Adds a device, a named pipe or a socket, with the mode 644; or any other entry by its kind. A [`Kind::File`] must be empty.
    ///
    /// # Errors
    /// As [`Tree::file`], [`Tree::symlink`] and [`Tree::hard_link`]; [`Error::Request`] also for a file that is not empty.
    pub fn special(&mut self, path: impl AsRef<[u8]>, kind: Kind) -> Result<TreeEntry<'_>, Error> {
        match kind {
            Kind::File { size: 0 } => self.file(path, Vec::new()),
            Kind::File { size } => {
                let what = format!("a file of {size} bytes without a content");
                Err(refused(path.as_ref(), &what, "an empty file"))
            }
            Kind::Dir => self.directory(path),
            Kind::Symlink(target) => self.symlink(path, target),
            Kind::HardLink(target) => self.hard_link(path, target),
            kind => self.put(path.as_ref(), NodeKind::Other(kind), 0o644),
        }
    }

    /// The entry at a path, to change its attributes. The attributes of a hard link are ignored.
    ///
    /// # Errors
    /// [`Error::Request`] if no entry was added at the path.
    pub fn entry(&mut self, path: impl AsRef<[u8]>) -> Result<TreeEntry<'_>, Error> {
        let path = path.as_ref();
        let node = self.nodes.get_mut(&key_of(path)?);
        node.map(TreeEntry).ok_or_else(|| refused(path, "there is no entry at this path", "the path of an entry"))
    }

    /// Whether the tree has no entries.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn put(&mut self, path: &[u8], mut kind: NodeKind, mode: u16) -> Result<TreeEntry<'_>, Error> {
        let key = key_of(path)?;
        match &mut kind {
            NodeKind::Other(Kind::HardLink(target)) => *target = canonical_of(target)?,
            NodeKind::Other(Kind::Symlink(target)) => check_target(path, target)?,
            _ => {}
        }
        self.check_above(path, &key)?;
        if !matches!(kind, NodeKind::Other(Kind::Dir)) {
            self.check_below(path, &key)?;
        }
        let node = Node { kind, meta: Meta::new(mode, 0, 0, 0), xattrs: Vec::new() };
        // `insert` returns no reference to the new value.
        self.nodes.remove(&key);
        Ok(TreeEntry(self.nodes.entry(key).or_insert(node)))
    }

    /// Rejects a path below an entry that is not a directory.
    fn check_above(&self, path: &[u8], key: &[u8]) -> Result<(), Error> {
        let ends = key.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(end, _)| end);
        for end in ends {
            let above = self.nodes.get(&key[..end]);
            if above.is_some_and(|node| !matches!(node.kind, NodeKind::Other(Kind::Dir))) {
                return Err(refused(path, "an entry above it is not a directory", "a path below directories"));
            }
        }
        Ok(())
    }

    /// Rejects an entry that is not a directory at a path that has entries below it.
    fn check_below(&self, path: &[u8], key: &[u8]) -> Result<(), Error> {
        let below = if key.is_empty() { Bytes::new() } else { [key, b"\0"].concat() };
        let next = self.nodes.range(below.clone()..).next();
        if key.is_empty() || next.is_some_and(|(other, _)| other.starts_with(&below)) {
            return Err(refused(path, "there is a directory at this path", "the path of a file"));
        }
        Ok(())
    }
}

/// An entry of a [`Tree`], to set its attributes. Without a setting it belongs to root, with the time 0.
#[derive(Debug)]
pub struct TreeEntry<'t>(&'t mut Node);

impl TreeEntry<'_> {
    /// Sets permissions, set-uid, set-gid and sticky: the lower 12 bits of `mode`, which may be an `st_mode`.
    pub fn mode(self, mode: u32) -> Self {
        self.0.meta.mode = (mode & 0o7777) as u16;
        self
    }

    /// Sets the owner and the group.
    pub fn owner(self, uid: u32, gid: u32) -> Self {
        self.0.meta.uid = uid;
        self.0.meta.gid = gid;
        self
    }

    /// Sets the modification time. A SquashFS image stores whole seconds, an EROFS image nanoseconds.
    pub fn time(self, time: Time) -> Self {
        self.0.meta.mtime = time;
        self
    }

    /// Sets mode, owner and time.
    pub fn meta(self, meta: Meta) -> Self {
        self.0.meta = Meta { mode: meta.mode & 0o7777, ..meta };
        self
    }

    /// Sets an extended attribute, by its full name with the prefix (`user.note`). An attribute of the same name is replaced.
    pub fn xattr(self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.0.xattrs.retain(|xattr| xattr.name != name.as_ref());
        self.0.xattrs.push(Xattr { name: name.as_ref().to_vec(), value: value.as_ref().to_vec() });
        self
    }
}

/// The key of a path.
fn key_of(path: &[u8]) -> Result<Bytes, Error> {
    let mut key = canonical_of(path)?;
    key.iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = 0);
    Ok(key)
}

fn path_of(mut key: Bytes) -> Bytes {
    key.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b'/');
    key
}

fn canonical_of(path: &[u8]) -> Result<Bytes, Error> {
    canonical(path).map_err(|fault: PathFault| refused(path, &fault.to_string(), fault.expected()))
}

fn check_target(path: &[u8], target: &[u8]) -> Result<(), Error> {
    let most = packline_tree::path::MAX_TARGET;
    if target.is_empty() || target.len() > most || target.contains(&0) {
        let what = format!("a symbolic link with a target of {} bytes", target.len());
        return Err(refused(path, &what, "1 to 65535 bytes without NUL"));
    }
    Ok(())
}

fn refused(path: &[u8], what: &str, expected: &str) -> Error {
    Error::Request { what: format!("{}: {what}", path.escaped()), expected: expected.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_directories_before_their_entries() {
        let mut paths = ["a.b", "a", "a/b", "b", "a/b/c", "a!"].map(|path| key_of(path.as_bytes()).unwrap());
        paths.sort();
        let sorted = paths.map(|key| String::from_utf8(path_of(key)).unwrap());
        assert_eq!(sorted, ["a", "a/b", "a/b/c", "a!", "a.b", "b"]);
    }

    #[test]
    fn rejects_entries_that_no_tree_can_have() {
        let mut tree = Tree::new();
        tree.file("a/b", "1").unwrap();
        tree.file("ab", "1").unwrap();
        for (refused, words) in [
            (tree.file("a", "2").err(), "there is a directory"),
            (tree.file("a/b/c", "2").err(), "is not a directory"),
            (tree.directory("ab/c").err(), "is not a directory"),
            (tree.file("/", "2").err(), "there is a directory"),
            (tree.file("", "2").err(), "empty"),
            (tree.file("x/../y", "2").err(), "'..'"),
            (tree.hard_link("x", "../y").err(), "'..'"),
            (tree.symlink("x", "").err(), "0 bytes"),
            (tree.special("x", Kind::File { size: 1 }).err(), "without a content"),
        ] {
            let message = refused.unwrap().to_string();
            assert!(message.contains(words), "{message}");
        }
        assert!(tree.entry("none").is_err());
        tree.entry("/a/b/").unwrap().mode(0o600);
        assert_eq!(tree.nodes[&b"a\0b"[..]].meta.mode, 0o600);
        tree.directory("a").unwrap().mode(0o700);
        tree.symlink("a/b", "c").unwrap();
        assert_eq!(tree.nodes.len(), 3);
    }
}
