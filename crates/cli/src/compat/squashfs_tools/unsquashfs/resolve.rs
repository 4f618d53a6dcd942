//! Resolves pathnames of the command line in the image, through wildcards and symbolic links, to exact paths.

use std::collections::VecDeque;

use packline::requests::SquashFsImage;
use packline_squashfs::read::{InodeRef, Node, NodeType, ReadError};

use crate::compat::squashfs_tools::name_pattern::{Language, NamePattern};
use crate::ui::escape::escaped;
use crate::ui::failure::Failure;

/// The maximum number of symbolic links on one path, as in squashfs-tools.
const LINKS_MOST: usize = 256;

/// Resolves pathnames in one image.
pub struct Resolver<'r> {
    pub image: &'r SquashFsImage,
    pub language: Language,
    /// Whether a symbolic link at the end of a pathname is followed.
    pub follow_last: bool,
}

/// An entry that a pathname leads to.
pub struct ResolvedEntry {
    /// The canonical path; empty for the root.
    pub path: Vec<u8>,
    pub kind: NodeType,
    /// The symbolic links on the way, and the directories that `..` left, the latter with `/.` at the end.
    pub via: Vec<Vec<u8>>,
}

/// The entries that a pathname leads to, and messages about the parts that do not exist.
#[derive(Default)]
pub struct Resolved {
    pub entries: Vec<ResolvedEntry>,
    pub faults: Vec<String>,
    /// Whether `..` left the image.
    pub leaves_image: bool,
}

/// A component of a pathname.
enum Component {
    Here,
    Parent,
    Name { pattern: NamePattern, text: Vec<u8> },
}

/// A directory on the way, and the number of components that led to it.
#[derive(Clone)]
struct Position {
    path: Vec<u8>,
    /// The root, the directories on the way, and this one.
    inodes: Vec<InodeRef>,
    /// The pathname as typed, with matches instead of patterns, for messages.
    typed: Vec<u8>,
    via: Vec<Vec<u8>>,
    done: usize,
}

impl Resolver<'_> {
    pub fn resolve(&self, pathname: &[u8]) -> Result<Resolved, Failure> {
        let mut resolved = Resolved::default();
        let components = match self.components(pathname) {
            Ok(components) => components,
            Err(fault) => {
                resolved.faults.push(format!("invalid regex {} because {fault}", escaped(pathname)));
                return Ok(resolved);
            }
        };
        let root = self.image.image.root();
        let start = Position { path: Vec::new(), inodes: vec![root], typed: Vec::new(), via: Vec::new(), done: 0 };
        let mut waiting = vec![start];
        while let Some(position) = waiting.pop() {
            let path = position.path.clone();
            let next = self.step(position, &components, &mut resolved);
            // The first match is resolved first.
            waiting.extend(next.map_err(|cause| self.image.fault_at(&path, cause))?.into_iter().rev());
        }
        Ok(resolved)
    }

    fn components(&self, pathname: &[u8]) -> Result<Vec<Component>, String> {
        let names = pathname.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        let component = |name: &[u8]| {
            Ok(match name {
                b"." => Component::Here,
                b".." => Component::Parent,
                _ => Component::Name { pattern: NamePattern::new(name, self.language)?, text: name.to_vec() },
            })
        };
        names.map(component).collect()
    }

    /// Resolves the next component. Returns the directories that match.
    fn step(
        &self,
        mut position: Position,
        components: &[Component],
        resolved: &mut Resolved,
    ) -> Result<Vec<Position>, ReadError> {
        let Some(component) = components.get(position.done) else {
            resolved.entries.push(position.resolved_entry(NodeType::Directory));
            return Ok(Vec::new());
        };
        position.done += 1;
        match component {
            Component::Here => {
                position.typed.extend_from_slice(b"/.");
                Ok(vec![position])
            }
            Component::Parent => {
                position.typed.extend_from_slice(b"/..");
                if position.leave() {
                    return Ok(vec![position]);
                }
                resolved.leaves_image = true;
                Ok(Vec::new())
            }
            Component::Name { pattern, text } => {
                let last = position.done == components.len();
                let mut next = Vec::new();
                let mut matched = false;
                for entry in self.image.image.entries(&self.image.image.inode(position.here())?)? {
                    let entry = entry?;
                    if pattern.matches(&entry.name) {
                        matched = true;
                        next.extend(self.enter(&position, &entry.name, (entry.inode, entry.kind), last, resolved)?);
                    }
                }
                if !matched {
                    resolved.faults.push(format!("no matches for {}/{}", escaped(&position.typed), escaped(text)));
                }
                Ok(next)
            }
        }
    }

    /// Visits an entry that matches. Returns it if it is a directory with further components to resolve.
    fn enter(
        &self,
        position: &Position,
        name: &[u8],
        (inode, kind): (InodeRef, NodeType),
        last: bool,
        resolved: &mut Resolved,
    ) -> Result<Option<Position>, ReadError> {
        let mut reached = position.clone();
        reached.typed.push(b'/');
        reached.typed.extend_from_slice(name);
        let mut kind = kind;
        if kind == NodeType::Symlink && (!last || self.follow_last) {
            reached.via.push(joined(&reached.path, name));
            let target = match self.image.image.inode(inode)?.node {
                Node::Symlink(target) => target,
                _ => Vec::new(),
            };
            match self.follow(&mut reached, &target)? {
                Some(end) => kind = end,
                None => {
                    let what = format!("{} failed to resolve symbolic link", escaped(&reached.typed));
                    resolved.faults.push(what);
                    return Ok(None);
                }
            }
            if !last && kind != NodeType::Directory {
                let what = format!("{} symbolic link does not resolve to a directory", escaped(&reached.typed));
                resolved.faults.push(what);
                return Ok(None);
            }
        } else {
            reached.go(name, inode);
        }
        match (last, kind) {
            (true, _) => resolved.entries.push(reached.resolved_entry(kind)),
            (false, NodeType::Directory) => return Ok(Some(reached)),
            (false, _) => resolved.faults.push(format!("{} is not a directory", escaped(&reached.typed))),
        }
        Ok(None)
    }

    /// Follows the target of a symbolic link. Returns the type of the entry there, or `None` if the target is not in the image. An
    /// absolute target refers to the machine, and so is not in the image.
    fn follow(&self, position: &mut Position, target: &[u8]) -> Result<Option<NodeType>, ReadError> {
        let split = |target: &[u8]| -> Vec<Vec<u8>> {
            let names = target.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
            names.map(<[u8]>::to_vec).collect()
        };
        if target.starts_with(b"/") {
            return Ok(None);
        }
        let mut rest = VecDeque::from(split(target));
        let mut kind = NodeType::Directory;
        let mut links = 1;
        while let Some(name) = rest.pop_front() {
            if kind != NodeType::Directory {
                return Ok(None);
            }
            if name == b".." {
                if !position.leave() {
                    return Ok(None);
                }
                continue;
            }
            let here = self.image.image.inode(position.here())?;
            let Some(entry) = self.image.image.lookup(&here, &name)? else { return Ok(None) };
            if entry.kind != NodeType::Symlink {
                position.go(&name, entry.inode);
                kind = entry.kind;
                continue;
            }
            let Node::Symlink(target) = self.image.image.entry_inode(&entry)?.node else { return Ok(None) };
            if links >= LINKS_MOST || target.starts_with(b"/") {
                return Ok(None);
            }
            links += 1;
            position.via.push(joined(&position.path, &name));
            split(&target).into_iter().rev().for_each(|name| rest.push_front(name));
        }
        Ok(Some(kind))
    }
}

impl Position {
    fn here(&self) -> InodeRef {
        self.inodes.last().copied().unwrap_or(InodeRef(0))
    }

    fn go(&mut self, name: &[u8], inode: InodeRef) {
        self.path = joined(&self.path, name);
        self.inodes.push(inode);
    }

    /// Moves to the parent directory. Returns false at the root.
    fn leave(&mut self) -> bool {
        if self.inodes.len() < 2 {
            return false;
        }
        self.inodes.pop();
        self.via.push(joined(&self.path, b"."));
        let slash = self.path.iter().rposition(|byte| *byte == b'/');
        self.path.truncate(slash.unwrap_or(0));
        true
    }

    fn resolved_entry(self, kind: NodeType) -> ResolvedEntry {
        ResolvedEntry { path: self.path, kind, via: self.via }
    }
}

fn joined(path: &[u8], name: &[u8]) -> Vec<u8> {
    if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() }
}
