//! The interface of a container.

use std::fmt;
use std::sync::Arc;

use packline_engine::CancelToken;
use packline_tree::Xattr;

use crate::{
    DirEntry, FileData, Inode, Listing, Node, NodeId, NodeType, Pieces, ReadError, SharedPlace, Unit, UnitDecoder,
};

/// An open volume, shared by everything that reads it.
pub type SharedVolume = Arc<dyn Volume>;

/// Can be shared as a volume.
pub trait ToVolume {
    fn to_volume(&self) -> SharedVolume;
}

impl ToVolume for SharedVolume {
    fn to_volume(&self) -> SharedVolume {
        SharedVolume::clone(self)
    }
}

/// Properties of a volume that are known when it is opened.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The codec and its parameters.
    pub codec: String,
    /// Size of most units, in which contents are best read, bytes.
    pub block_size: u32,
    /// Bytes of the largest unit's content.
    pub largest_unit: u32,
    /// Memory in bytes of one decoder, without a stored unit.
    pub decoder: u64,
    /// Size of the image in bytes.
    pub bytes: u64,
    /// Number of inodes.
    pub inodes: u64,
    /// Number of shared units.
    pub shared_units: u64,
    /// Byte of the input at which the image starts.
    pub origin: u64,
    /// Whether times have nanoseconds.
    pub nanoseconds: bool,
}

/// The position of a file's content, as its inode says. It suffices to sort files by position, and to group files in one shared unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentPlace {
    /// Offset in the image of the first unit; `None` if one piece of a shared unit is all of the content.
    pub start: Option<u64>,
    /// Number of own units and of holes of the same size.
    pub blocks: u64,
    /// Start of the last piece, if it is in a shared unit.
    pub tail: Option<SharedPlace>,
}

/// Which bytes of the data area are compared with its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckScope {
    /// All bytes. Bytes that the caller has not read are read at the end.
    Everything,
    /// All bytes, if the caller has read all contents of files; otherwise nothing is compared.
    IfAllWasRead,
}

impl CheckScope {
    /// Returns the scope for a selection of files; `everything` says whether it has all files of the image.
    pub fn of_selection(everything: bool) -> CheckScope {
        if everything { CheckScope::Everything } else { CheckScope::IfAllWasRead }
    }
}

/// Reads inodes in sequence, faster than [`Volume::inode`] if they are neighbours.
pub trait InodeReader: fmt::Debug + Send {
    /// Reads an inode.
    ///
    /// # Errors
    /// Errors of [`Volume::inode`].
    fn inode(&mut self, at: NodeId) -> Result<Inode, ReadError>;
}

/// A read-only file system image, which may be hostile: no allocation, recursion or loop is bounded only by a number in it. Any thread may use
/// the volume.
pub trait Volume: fmt::Debug + Send + Sync {
    fn facts(&self) -> &Facts;

    fn root(&self) -> NodeId;

    /// Reads an inode.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the inode breaks a rule or does not exist, [`ReadError::Input`].
    fn inode(&self, at: NodeId) -> Result<Inode, ReadError>;

    fn inodes(&self) -> Box<dyn InodeReader>;

    /// Returns the offset in bytes of an inode in the image, for messages.
    fn offset_of(&self, at: NodeId) -> u64;

    /// Returns the inode with a number; `None` if the volume has no table of numbers.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if no inode has this number, [`ReadError::Input`].
    fn numbered(&self, number: u64) -> Result<Option<NodeId>, ReadError>;

    /// Whether the volume has a table of numbers.
    fn has_numbers(&self) -> bool;

    /// Returns the entries of a directory.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if `directory` is not a directory. Faults of the listing are returned with its entries.
    fn entries(&self, directory: &Inode) -> Result<Listing, ReadError>;

    /// Returns the entry of a directory by name.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if `directory` is not a directory, or its listing breaks a rule before the name; [`ReadError::Input`].
    fn lookup(&self, directory: &Inode, name: &[u8]) -> Result<Option<DirEntry>, ReadError>;

    /// Returns the extended attributes of an inode, with full names, in the order of the image.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the set breaks a rule or takes more than 16 MiB, [`ReadError::Input`].
    fn xattrs(&self, inode: &Inode) -> Result<Vec<Xattr>, ReadError>;

    fn content_place(&self, file: &FileData) -> ContentPlace;

    /// Calls `note` with the key of the unit of each shared piece of a file, in order.
    fn shared_keys(&self, file: &FileData, note: &mut dyn FnMut(u32)) {
        self.content_place(file).tail.iter().for_each(|tail| note(tail.unit));
    }

    /// Returns the pieces of a file, from the one with byte `from` on, or from an earlier one.
    fn pieces(&self, file: &FileData, from: u64) -> Box<dyn Pieces>;

    /// Returns a shared unit by its key.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if no shared unit has this key, or it is not within the image; [`ReadError::Input`].
    fn shared_unit(&self, key: u32) -> Result<Unit, ReadError>;

    /// Returns the fault of a shared unit of `found` bytes that ends before a piece of `length` bytes.
    fn shared_fault(&self, unit: Unit, place: SharedPlace, length: usize, found: usize) -> ReadError;

    /// Returns a decoder, for one thread.
    ///
    /// # Errors
    /// [`ReadError::Unsupported`] for lack of memory.
    fn decoder(&self) -> Result<Box<dyn UnitDecoder>, ReadError>;

    /// Tells the input that the stored bytes of a unit are read soon: see [`Input::will_read`](packline_runtime::Input::will_read).
    fn will_read(&self, unit: Unit);

    /// Fills `out` with stored bytes from `offset` of the image.
    ///
    /// # Errors
    /// [`ReadError::Input`].
    fn stored(&self, offset: u64, out: &mut [u8]) -> Result<(), ReadError>;

    /// Returns the same volume, for [`Volume::compare_data`] after its contents have been read.
    fn checked(&self, scope: CheckScope) -> SharedVolume;

    /// Compares the data with the image's checksum of all data, which finds damage that no decoder notices. Compares nothing without a checksum,
    /// or if this is not a volume of [`Volume::checked`].
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the data has another checksum, [`ReadError::Input`], [`ReadError::Work`].
    fn compare_data(&self, cancel: &CancelToken) -> Result<(), ReadError>;

    /// Returns the inode of a directory entry.
    ///
    /// # Errors
    /// Errors of [`Volume::inode`]; [`ReadError::Corrupt`] if the inode's type differs from the entry's.
    fn entry_inode(&self, entry: &DirEntry) -> Result<Inode, ReadError> {
        let found = self.inode(entry.inode)?;
        if found.node_type() == entry.kind {
            return Ok(found);
        }
        Err(type_fault(self.offset_of(found.at), found.number, found.node_type(), entry.kind))
    }

    /// Returns the inode at a canonical path (the empty path is the root); symbolic links are not followed. `None` if it does not exist.
    ///
    /// # Errors
    /// Errors of [`Volume::lookup`] and [`Volume::inode`].
    fn resolve(&self, path: &[u8]) -> Result<Option<Inode>, ReadError> {
        let mut inode = self.inode(self.root())?;
        for name in path.split(|byte| *byte == b'/').filter(|_| !path.is_empty()) {
            if !matches!(inode.node, Node::Directory(_)) {
                return Ok(None);
            }
            let Some(entry) = self.lookup(&inode, name)? else { return Ok(None) };
            inode = self.entry_inode(&entry)?;
        }
        Ok(Some(inode))
    }
}

/// The fault of an inode whose type differs from the one in its directory entry.
pub fn type_fault(offset: u64, number: u64, kind: NodeType, listed: NodeType) -> ReadError {
    ReadError::corrupt(offset, format!("inode {number}, a {kind}, listed as a {listed}"), "the same type in both")
}
