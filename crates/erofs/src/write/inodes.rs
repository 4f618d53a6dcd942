//! The form of each inode, and what follows it.

use packline_blocks::Error;
use packline_runtime::TaskError;
use packline_runtime::escape::Escape;
use packline_tree::{Content as Node, Device, Meta, NO_XATTR, NodeId, Time, Tree};
use packline_volume::NodeType;

use super::contents::Owner;
use super::directory::listing_bytes;
use super::map::{MapMaker, MapPlan, fragment_end};
use super::order::is_directory;
use super::placer::{Extent, SLOT};
use super::xattrs::Xattrs;
use crate::format::inode::{CompactTimes, LARGEST_DEVICE, Layout, RawInode};

/// Plans inodes.
pub(super) struct Inodes<'a> {
    pub(super) tree: &'a Tree,
    /// The attributes, if the image gets any.
    pub(super) xattrs: Option<Xattrs<'a>>,
    pub(super) maps: MapMaker<'a>,
    pub(super) times: CompactTimes,
    /// Bytes of a block.
    pub(super) block: u64,
    /// Whether listings are stored in the packed inode, unless they take no space after their inodes.
    pub(super) packs_listings: bool,
}

/// A planned inode.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// The fields. The start of what has blocks of its own is not known yet.
    pub(super) raw: RawInode,
    /// Set of attributes, or [`NO_XATTR`].
    pub(super) xattr: u32,
    pub(super) body: Body,
    /// Bytes of a block.
    block: u64,
}

/// What an inode has besides fields and attributes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Body {
    Nothing,
    /// The listing of a directory. All but its last block are stored before all inodes.
    Listing,
    /// The listing of a directory, at an offset of the packed inode that is not known yet.
    PackedListing(u64),
    /// The target of a symbolic link, in one part.
    Target,
    Map(MapPlan, Owner),
}

impl Plan {
    /// Returns the bytes of the inode with its attributes.
    pub(super) fn head(&self) -> u64 {
        self.raw.bytes() + self.raw.xattr_bytes
    }

    /// Returns the number of blocks of its own that are part of the metadata.
    pub(super) fn blocks(&self) -> u64 {
        match (self.body, self.raw.layout) {
            (Body::Listing | Body::Target, Layout::Inline) => self.raw.size / self.block,
            (Body::Listing | Body::Target, _) => self.raw.size.div_ceil(self.block),
            (Body::Nothing | Body::PackedListing(_) | Body::Map(..), _) => 0,
        }
    }

    /// Whether a listing after the inode takes no more slots than the map of a packed listing.
    fn is_free(&self) -> bool {
        let map = fragment_end(self.head());
        self.blocks() == 0 && self.extent().bytes.next_multiple_of(SLOT) <= map.next_multiple_of(SLOT)
    }

    pub(super) fn extent(&self) -> Extent {
        let head = self.head();
        match self.body {
            Body::Listing | Body::Target if self.raw.layout == Layout::Inline => {
                let bytes = head + self.raw.size % self.block;
                Extent { bytes, together: bytes }
            }
            Body::Map(map, _) => Extent { bytes: map.end(head), together: map.together(head) },
            Body::PackedListing(_) => Extent { bytes: fragment_end(head), together: 0 },
            _ => Extent { bytes: head, together: 0 },
        }
    }
}

impl Inodes<'_> {
    /// Plans the inode of a name.
    ///
    /// # Errors
    /// [`Error::Limit`] for a device number that the format has no space for; [`Error::Work`] if the tree refers to a missing file or set.
    pub(super) fn plan(&self, node: NodeId) -> Result<Plan, Error> {
        let tree = self.tree;
        let inode = tree.inode(node);
        let mut raw = raw(tree.meta(inode), kind_of(tree, node), tree.links(inode));
        let body = match tree.content(inode) {
            Node::File(payload) => {
                let owner = Owner::File(payload);
                let map = self.maps.plan(owner).map_err(|error| named(error, tree, node))?;
                Body::Map(map, owner)
            }
            Node::Dir => {
                raw.links = directory_links(tree, node);
                raw.size = listing_bytes(tree, node, self.block);
                Body::Listing
            }
            Node::Symlink(target) => {
                raw.size = target.len() as u64;
                Body::Target
            }
            Node::BlockDevice(device) | Node::CharDevice(device) => {
                raw.device = checked(device, tree, node)?;
                Body::Nothing
            }
            Node::Fifo | Node::Socket => Body::Nothing,
        };
        let xattr = self.xattr(node)?;
        let plan = self.completed(Plan { raw, xattr, body, block: self.block });
        match plan.extent() {
            Extent { together, .. } if together > self.block => {
                let path = display_path(tree, node);
                Err(Error::internal(format!("{path}: an inode of {together} bytes with the end of its content")))
            }
            _ => Ok(plan),
        }
    }

    /// Plans the packed inode.
    pub(super) fn plan_packed(&self) -> Result<Plan, Error> {
        let meta = Meta { mode: 0o600, uid: 0, gid: 0, mtime: Time::new(self.times.epoch, self.times.nanoseconds) };
        let body = Body::Map(self.maps.plan(Owner::Packed)?, Owner::Packed);
        let raw = raw(meta, NodeType::File, 1);
        Ok(self.completed(Plan { raw, xattr: NO_XATTR, body, block: self.block }))
    }

    /// Chooses the form and the layout.
    fn completed(&self, mut plan: Plan) -> Plan {
        if let Body::Map(map, _) = plan.body {
            plan.raw.size = map.size;
            plan.raw.start = map.start();
            plan.raw.layout = map.layout();
        }
        if let (Some(xattrs), false) = (&self.xattrs, plan.xattr == NO_XATTR) {
            plan.raw.xattr_bytes = xattrs.bytes(plan.xattr);
        }
        plan.raw.extended = !plan.raw.fits_compact(self.times);
        let inline = plan.raw.size % self.block;
        let has_inline = match plan.body {
            Body::Listing => true,
            Body::Target => plan.raw.size < self.block,
            Body::Nothing | Body::PackedListing(_) | Body::Map(..) => false,
        };
        if has_inline && inline > 0 && plan.head() + inline <= self.block {
            plan.raw.layout = Layout::Inline;
        }
        if self.packs_listings && matches!(plan.body, Body::Listing) && !plan.is_free() {
            plan.body = Body::PackedListing(0);
            plan.raw.layout = Layout::CompressedFull;
        }
        plan
    }

    fn xattr(&self, node: NodeId) -> Result<u32, Error> {
        let Some(xattrs) = &self.xattrs else { return Ok(NO_XATTR) };
        match self.tree.xattr(self.tree.inode(node)) {
            set if set == NO_XATTR || xattrs.has(set) => Ok(set),
            set => Err(Error::internal(format!("{} has attribute set {set}", display_path(self.tree, node)))),
        }
    }
}

/// Returns an inode without content.
fn raw(meta: Meta, kind: NodeType, links: u32) -> RawInode {
    RawInode {
        meta,
        kind,
        layout: Layout::Plain,
        extended: false,
        links,
        size: 0,
        start: 0,
        device: Device { major: 0, minor: 0 },
        xattr_bytes: 0,
    }
}

fn directory_links(tree: &Tree, node: NodeId) -> u32 {
    let directories = tree.children(node).iter().filter(|child| is_directory(tree, **child)).count();
    u32::try_from(directories + 2).unwrap_or(1)
}

pub(super) fn kind_of(tree: &Tree, node: NodeId) -> NodeType {
    match tree.content(tree.inode(node)) {
        Node::File(_) => NodeType::File,
        Node::Dir => NodeType::Directory,
        Node::Symlink(_) => NodeType::Symlink,
        Node::BlockDevice(_) => NodeType::BlockDevice,
        Node::CharDevice(_) => NodeType::CharDevice,
        Node::Fifo => NodeType::Fifo,
        Node::Socket => NodeType::Socket,
    }
}

fn checked(device: Device, tree: &Tree, node: NodeId) -> Result<Device, Error> {
    let Device { major, minor } = device;
    if major <= LARGEST_DEVICE.major && minor <= LARGEST_DEVICE.minor {
        return Ok(device);
    }
    let Device { major: most_major, minor: most_minor } = LARGEST_DEVICE;
    let what = format!("{}: device {major}:{minor}", display_path(tree, node));
    Err(Error::Limit { what, expected: format!("at most {most_major}:{most_minor}") })
}

/// Adds the path of an entry to an error about its content.
fn named(error: Error, tree: &Tree, node: NodeId) -> Error {
    match error {
        Error::Work(packline_runtime::WorkFault::Internal(what)) => {
            Error::internal(format!("{}: {what}", display_path(tree, node)))
        }
        Error::Limit { what, expected } => {
            Error::Limit { what: format!("{}: {what}", display_path(tree, node)), expected }
        }
        other => other,
    }
}

fn display_path(tree: &Tree, node: NodeId) -> String {
    let path = tree.path(node);
    if path.is_empty() { "the root directory".into() } else { path.escaped() }
}
