//! Names and inodes in flat arrays: 12 bytes for a name, 40 for an inode, and the bytes of names and targets in one arena. A tree
//! of layers needs 4 more bytes for a name.

use packline_runtime::{push_tight, reserve_tight};

use super::error::Fault;
use super::layers::Layers;
use crate::{Device, Kind, Meta, Time};

/// One name in the tree. The first name is the root. Names are never removed, but can be bound to another inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// One inode, shared by its names (hard links).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InodeId(pub u32);

impl NodeId {
    /// The index in an array with one element for each name.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl InodeId {
    /// The index in an array with one element for each inode.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

pub(super) const ROOT: NodeId = NodeId(0);

/// A name: its directory, the position of its bytes (the length byte comes first), and its inode.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub parent: NodeId,
    pub name: u32,
    pub inode: InodeId,
}

/// The type of an inode, which determines the meaning of `data` and `extra`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    /// `data`: the container's payload.
    File,
    /// `data`: the number of its entries.
    Dir,
    /// `data`: the position of the target in the arena; `extra`: its length.
    Symlink,
    /// `data`: the major number; `extra`: the minor number.
    BlockDevice,
    /// `data`: the major number; `extra`: the minor number.
    CharDevice,
    Fifo,
    Socket,
    /// A hard link with an unknown target. `data` and `extra` are as for a symbolic link.
    Pending,
}

/// An inode.
#[derive(Clone, Copy)]
pub(super) struct Inode {
    pub mtime: Time,
    pub uid: u32,
    pub gid: u32,
    pub data: u32,
    pub extra: u32,
    pub xattr: u32,
    pub links: u32,
    pub mode: u16,
    pub kind: Type,
}

const _: () = assert!(size_of::<Node>() == 12 && size_of::<Inode>() == 40);

impl Inode {
    pub fn new(kind: Type, meta: Meta, xattr: u32, data: u32, extra: u32) -> Self {
        let mut inode = Self { mtime: Time::default(), uid: 0, gid: 0, data, extra, xattr, links: 0, mode: 0, kind };
        inode.set_meta(meta);
        inode
    }

    pub fn set_meta(&mut self, meta: Meta) {
        self.mode = meta.mode;
        self.uid = meta.uid;
        self.gid = meta.gid;
        self.mtime = meta.mtime;
    }

    pub fn meta(&self) -> Meta {
        Meta { mode: self.mode, uid: self.uid, gid: self.gid, mtime: self.mtime }
    }

    pub fn device(&self) -> Device {
        Device { major: self.data, minor: self.extra }
    }
}

pub(super) struct Store {
    pub nodes: Vec<Node>,
    pub inodes: Vec<Inode>,
    arena: Vec<u8>,
    /// Present in a tree of layers.
    pub layers: Option<Layers>,
}

impl Store {
    /// A store with the root, a directory with `meta`.
    pub fn new(meta: Meta) -> Self {
        let mut root = Inode::new(Type::Dir, meta, super::NO_XATTR, 0, 0);
        root.links = 1;
        let node = Node { parent: ROOT, name: 0, inode: InodeId(0) };
        Self { nodes: vec![node], inodes: vec![root], arena: vec![0], layers: None }
    }

    pub fn memory(&self) -> usize {
        let layers = self.layers.as_ref().map_or(0, Layers::memory);
        let nodes = self.nodes.capacity() * size_of::<Node>();
        let inodes = self.inodes.capacity() * size_of::<Inode>();
        nodes + inodes + self.arena.capacity() + layers
    }

    pub fn shrink(&mut self) {
        self.nodes.shrink_to_fit();
        self.inodes.shrink_to_fit();
        self.arena.shrink_to_fit();
    }

    pub fn node(&self, node: NodeId) -> Node {
        self.nodes[node.index()]
    }

    pub fn inode(&self, inode: InodeId) -> &Inode {
        &self.inodes[inode.index()]
    }

    pub fn inode_of(&self, node: NodeId) -> &Inode {
        self.inode(self.node(node).inode)
    }

    pub fn inode_of_mut(&mut self, node: NodeId) -> &mut Inode {
        let inode = self.node(node).inode;
        &mut self.inodes[inode.index()]
    }

    pub fn name(&self, node: NodeId) -> &[u8] {
        let start = self.node(node).name as usize;
        &self.arena[start + 1..start + 1 + usize::from(self.arena[start])]
    }

    /// The target of a symbolic or pending link.
    pub fn target(&self, inode: &Inode) -> &[u8] {
        &self.arena[inode.data as usize..][..inode.extra as usize]
    }

    /// The canonical path, from the names of all parents.
    pub fn path(&self, node: NodeId) -> Vec<u8> {
        let mut names = Vec::new();
        let mut at = node;
        while at != ROOT {
            names.push(self.name(at));
            at = self.node(at).parent;
        }
        names.reverse();
        names.join(&b'/')
    }

    /// Adds a name of 1..=255 bytes for `inode`, and counts it in its directory.
    pub fn push_node(&mut self, parent: NodeId, name: &[u8], inode: InodeId) -> Result<NodeId, Fault> {
        let id = NodeId(index(self.nodes.len())?);
        let start = self.push_bytes(&[name.len() as u8], name)?;
        push_tight(&mut self.nodes, Node { parent, name: start, inode });
        if let Some(layers) = &mut self.layers {
            layers.push(&self.nodes, parent);
        }
        self.inodes[inode.index()].links += 1;
        self.inode_of_mut(parent).data += 1;
        Ok(id)
    }

    /// Records that a name belongs to the current layer.
    pub fn touch(&mut self, node: NodeId) {
        if let Some(layers) = &mut self.layers {
            layers.touch(&self.nodes, node);
        }
    }

    /// Records that a walk goes from a directory to a directory in it.
    pub fn enter(&mut self, parent: NodeId, directory: NodeId) {
        if let Some(layers) = &mut self.layers {
            layers.enter(parent, directory);
        }
    }

    /// Whether a name in an entered directory is visible in all layers.
    pub fn shows(&self, parent: NodeId, node: NodeId) -> bool {
        self.layers.as_ref().is_none_or(|layers| layers.shows(parent, node))
    }

    /// Adds an inode without names.
    pub fn push_inode(&mut self, inode: Inode) -> Result<InodeId, Fault> {
        let id = InodeId(index(self.inodes.len())?);
        push_tight(&mut self.inodes, inode);
        Ok(id)
    }

    /// Binds a name to another inode.
    pub fn rebind(&mut self, node: NodeId, inode: InodeId) {
        self.inode_of_mut(node).links -= 1;
        self.nodes[node.index()].inode = inode;
        self.inodes[inode.index()].links += 1;
    }

    /// The inode of an entry that is not a hard link. `payload` is for files.
    pub fn make(&mut self, kind: &Kind, meta: Meta, payload: u32, xattr: u32) -> Result<Inode, Fault> {
        let (kind, data, extra) = match kind {
            Kind::File { .. } => (Type::File, payload, 0),
            Kind::Dir => (Type::Dir, 0, 0),
            Kind::Symlink(target) => (Type::Symlink, self.push_bytes(&[], target)?, target.len() as u32),
            Kind::HardLink(target) => return self.make_pending(target),
            Kind::BlockDevice(device) => (Type::BlockDevice, device.major, device.minor),
            Kind::CharDevice(device) => (Type::CharDevice, device.major, device.minor),
            Kind::Fifo => (Type::Fifo, 0, 0),
            Kind::Socket => (Type::Socket, 0, 0),
        };
        Ok(Inode::new(kind, meta, xattr, data, extra))
    }

    /// A hard link to a missing target. Its attributes are zero and used by the resolver.
    fn make_pending(&mut self, target: &[u8]) -> Result<Inode, Fault> {
        Ok(Inode::new(
            Type::Pending,
            Meta::default(),
            super::NO_XATTR,
            self.push_bytes(&[], target)?,
            target.len() as u32,
        ))
    }

    fn push_bytes(&mut self, head: &[u8], bytes: &[u8]) -> Result<u32, Fault> {
        let start = index(self.arena.len())?;
        index(self.arena.len() + head.len() + bytes.len())?;
        reserve_tight(&mut self.arena, head.len() + bytes.len());
        self.arena.extend_from_slice(head);
        self.arena.extend_from_slice(bytes);
        Ok(start)
    }
}

/// The largest number is reserved as a mark.
fn index(number: usize) -> Result<u32, Fault> {
    u32::try_from(number).ok().filter(|&number| number < u32::MAX).ok_or(Fault::TooMany)
}
