//! Walks two trees in parallel, without recursion.

use std::collections::BTreeSet;

use packline_runtime::escape::Escape;
use packline_runtime::{FormatFault, Unsupported};
use packline_tree::Bytes;
use packline_tree::path::MAX_PATH;
use packline_volume::{MOST_DIRECTORIES, NodeId, NodeType, ReadError};

use super::DiffOrder;
use super::side::{Children, Handle, Node, Side};
use crate::{Error, OpenedImage};

/// A name that at least one tree has.
pub(super) struct Pair {
    pub(super) path: Bytes,
    pub(super) old: Option<Node>,
    pub(super) new: Option<Node>,
}

/// Which names of a directory are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    All,
    /// Names that one side lacks.
    Missing,
    /// Names that both sides have.
    Common,
}

/// A directory on one side.
struct OpenDirectory {
    node: Node,
    children: Children,
    /// The next name.
    next: Option<(Bytes, Handle)>,
}

/// A directory above the current entry.
struct Frame {
    /// Length of the directory's path.
    length: usize,
    pass: Pass,
    old: Option<OpenDirectory>,
    new: Option<OpenDirectory>,
}

pub(super) struct Merge {
    old: Side,
    new: Side,
    order: DiffOrder,
    path: Bytes,
    stack: Vec<Frame>,
    /// Directories entered on each side. A directory that is entered again is a loop.
    seen: [BTreeSet<NodeId>; 2],
    begun: bool,
}

impl Merge {
    pub(super) fn new(old: &Side, new: &Side, order: DiffOrder) -> Merge {
        let old = old.clone();
        let new = new.clone();
        Merge { old, new, order, path: Bytes::new(), stack: Vec::new(), seen: Default::default(), begun: false }
    }

    /// Returns the next name. If it is a directory on both sides, or on its only side, the walk enters it next.
    pub(super) fn next_pair(&mut self) -> Result<Option<Pair>, Error> {
        if !self.begun {
            self.begun = true;
            let old = self.old.root()?;
            let new = self.new.root()?;
            return self.give(Some(old), Some(new)).map(Some);
        }
        while let Some(frame) = self.stack.last_mut() {
            self.path.truncate(frame.length);
            let Some((name, old, new)) = frame.take(&self.old, &self.new, &self.path)? else {
                self.finish_frame()?;
                continue;
            };
            if !frame.pass.takes(old.is_some(), new.is_some()) {
                continue;
            }
            self.push_name(&name)?;
            let old = old.map(|handle| self.old.node(&self.path, &handle)).transpose()?;
            let new = new.map(|handle| self.new.node(&self.path, &handle)).transpose()?;
            return self.give(old, new).map(Some);
        }
        Ok(None)
    }

    fn give(&mut self, old: Option<Node>, new: Option<Node>) -> Result<Pair, Error> {
        let is_directory = |node: &Option<Node>| node.as_ref().is_none_or(|node| node.kind == NodeType::Directory);
        if is_directory(&old) && is_directory(&new) {
            self.enter(old.clone(), new.clone())?;
        }
        Ok(Pair { path: self.path.clone(), old, new })
    }

    fn enter(&mut self, old: Option<Node>, new: Option<Node>) -> Result<(), Error> {
        let pass = match self.order {
            DiffOrder::MissingFirst if old.is_some() && new.is_some() => Pass::Missing,
            _ => Pass::All,
        };
        note_entered(&self.old, &mut self.seen[0], &self.path, old.as_ref())?;
        note_entered(&self.new, &mut self.seen[1], &self.path, new.as_ref())?;
        let old = old.map(|node| OpenDirectory::open(&self.old, &self.path, node)).transpose()?;
        let new = new.map(|node| OpenDirectory::open(&self.new, &self.path, node)).transpose()?;
        self.stack.push(Frame { length: self.path.len(), pass, old, new });
        Ok(())
    }

    /// Ends a directory: starts its second pass, over the names that both sides have, or leaves it.
    fn finish_frame(&mut self) -> Result<(), Error> {
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        if let (Pass::Missing, Some(old), Some(new)) = (frame.pass, frame.old, frame.new) {
            let old = Some(OpenDirectory::open(&self.old, &self.path, old.node)?);
            let new = Some(OpenDirectory::open(&self.new, &self.path, new.node)?);
            self.stack.push(Frame { length: frame.length, pass: Pass::Common, old, new });
        }
        Ok(())
    }

    fn push_name(&mut self, name: &[u8]) -> Result<(), Error> {
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
        if self.path.len() <= MAX_PATH {
            return Ok(());
        }
        let what = format!("{}: {}...: a path of {} bytes", self.display_path(), self.beginning(), self.path.len());
        Err(Error::Request { what, expected: format!("paths of at most {MAX_PATH} bytes") })
    }

    /// Returns the trees' names for messages.
    fn display_path(&self) -> String {
        let name = |side: &Side| match side {
            Side::Image(image) => image.display_path.escaped(),
            Side::Directory(path) => path.escaped(),
        };
        format!("{} and {}", name(&self.old), name(&self.new))
    }

    /// Returns the start of a path that is too long for a message.
    fn beginning(&self) -> String {
        self.path[..255].escaped()
    }
}

impl Pass {
    fn takes(self, old: bool, new: bool) -> bool {
        match self {
            Pass::All => true,
            Pass::Missing => old != new,
            Pass::Common => old && new,
        }
    }
}

impl OpenDirectory {
    fn open(side: &Side, path: &[u8], node: Node) -> Result<OpenDirectory, Error> {
        let mut children = side.children(path, &node)?;
        let next = side.next_child(path, &mut children)?;
        Ok(OpenDirectory { node, children, next })
    }

    fn take(&mut self, side: &Side, path: &[u8]) -> Result<Option<(Bytes, Handle)>, Error> {
        let following = side.next_child(path, &mut self.children)?;
        Ok(std::mem::replace(&mut self.next, following))
    }
}

impl Frame {
    /// Takes the least remaining name, with its entry on each side.
    #[allow(clippy::type_complexity, reason = "a name and two places")]
    fn take(
        &mut self,
        old: &Side,
        new: &Side,
        path: &[u8],
    ) -> Result<Option<(Bytes, Option<Handle>, Option<Handle>)>, Error> {
        let name = |listed: &Option<OpenDirectory>| {
            let next = listed.as_ref().and_then(|listed| listed.next.as_ref());
            next.map(|(name, _)| name.clone())
        };
        let names = [name(&self.old), name(&self.new)];
        let Some(least) = names.iter().flatten().min().cloned() else { return Ok(None) };
        let place = |listed: &mut Option<OpenDirectory>, side: &Side, name: &Option<Bytes>| match listed {
            Some(listed) if name.as_ref() == Some(&least) => {
                Ok::<_, Error>(listed.take(side, path)?.map(|(_, handle)| handle))
            }
            _ => Ok(None),
        };
        let handles = (place(&mut self.old, old, &names[0])?, place(&mut self.new, new, &names[1])?);
        Ok(Some((least, handles.0, handles.1)))
    }
}

/// Returns an error for a directory that was entered before: no sound image has one, and a loop would never end.
fn note_entered(side: &Side, seen: &mut BTreeSet<NodeId>, path: &[u8], node: Option<&Node>) -> Result<(), Error> {
    match (side, node.and_then(|node| node.inode.as_ref())) {
        (Side::Image(image), Some(inode)) if !seen.insert(inode.at) => Err(found_again(image, path, inode.at)),
        (Side::Image(image), _) if seen.len() > MOST_DIRECTORIES => {
            let what = format!("an image of more than {MOST_DIRECTORIES} directories");
            let expected = format!("{MOST_DIRECTORIES} at most");
            Err(image.fault_at(path, ReadError::Unsupported(Unsupported { what, expected })))
        }
        _ => Ok(()),
    }
}

fn found_again(image: &OpenedImage, path: &[u8], at: NodeId) -> Error {
    let offset = image.volume.offset_of(at);
    let what = "the directory was found before under another path".to_string();
    image.fault_at(
        path,
        ReadError::Corrupt(FormatFault { offset, what, expected: "one path for each directory".to_string() }),
    )
}
