//! Inodes of versions before 4.0, in fields of bits.
//!
//! All begin with type 4 bits, permissions 12, index of the owner 8, index of the group 8, in version 1 with 4 bits for each index. Version 3 adds
//! modification time u32, number u32. The index of the group is that of all bits set for the group with the owner's number. Sizes of blocks follow
//! a file, and entries of an index follow an extended directory, whose type is 8. Type 9 is an extended file of version 3. Version 1 has five
//! types only, three times: 1 to 5, 6 to 10 and 11 to 15 for owners from 0, 16 and 32 on; type 0 is a pipe or a socket.

use packline_tree::{Device, Meta};

use super::decode::{Body, Content, Decoder, Subtree};
use super::{NO_FRAGMENT, NO_XATTR};
use crate::format::directory::old::shown_number;
use crate::read::inode::node_type;
use crate::read::{Inode, InodeRef, Node, NodeType, ReadError};

/// Types of version 1.
const TYPES_OF_1: u16 = 5;
/// Owners of version 1 that one range of types has.
const OWNERS_OF_1: u16 = 16;
const EXTENDED_DIRECTORY: u16 = 8;
const EXTENDED_FILE: u16 = 9;
/// Longest listing in bytes that is sorted when it is read.
const LONGEST_UNSORTED: u32 = (1 << 19) - 1;

/// The common start of an inode.
struct Start {
    kind: NodeType,
    extended: bool,
    mode: u16,
    /// Index of the owner.
    owner: u16,
    /// Index of the group; `None` for the owner's number.
    group: Option<u16>,
    /// Modification time and number, in version 3.
    time_and_number: Option<[u32; 2]>,
}

impl Decoder<'_> {
    /// Reads the inode at the cursor.
    pub(super) fn old_inode(mut self, at: InodeRef) -> Result<Inode, ReadError> {
        let start = if self.major() == 1 { self.start_of_1()? } else { self.start()? };
        // Version 2 stores the time of files and directories only.
        let mut time = start.time_and_number.map_or(self.rules.superblock.created, |[time, _]| time);
        let body = match start.kind {
            NodeType::Directory => self.old_directory(start.extended, &mut time)?,
            NodeType::File => self.old_file(start.extended, &mut time)?,
            NodeType::Symlink => {
                let (links, length) = self.links_and_half()?;
                Body { links, xattr: NO_XATTR, node: Node::Symlink(self.target(length.into())?) }
            }
            NodeType::BlockDevice | NodeType::CharDevice => {
                let (links, number) = self.links_and_half()?;
                let device = Device { major: (number >> 8).into(), minor: (number & 0xff).into() };
                let is_block = start.kind == NodeType::BlockDevice;
                let node = if is_block { Node::BlockDevice(device) } else { Node::CharDevice(device) };
                Body { links, xattr: NO_XATTR, node }
            }
            NodeType::Fifo => Body { links: self.links()?, xattr: NO_XATTR, node: Node::Fifo },
            NodeType::Socket => Body { links: self.links()?, xattr: NO_XATTR, node: Node::Socket },
        };
        let [uid, gid] = self.owner_and_group(start.owner, start.group)?;
        let meta = Meta::new(start.mode, uid, gid, i64::from(time));
        let number = start.time_and_number.map_or(shown_number((at.0 >> 16) as u32, at.0 as u16), |[_, number]| number);
        let Body { links, node, .. } = body;
        Ok(Inode { at, meta, number, links, xattr: None, extended: start.extended, node })
    }

    fn major(&self) -> u16 {
        self.cursor.layout().major
    }

    fn start(&mut self) -> Result<Start, ReadError> {
        let mut fields = self.cursor.fields::<4>()?;
        let [number, mode, owner, group] = [fields.half(4), fields.half(12), fields.half(8), fields.half(8)];
        let most = if self.major() == 3 { EXTENDED_FILE } else { EXTENDED_DIRECTORY };
        let kind = match number {
            EXTENDED_DIRECTORY => Some(NodeType::Directory),
            EXTENDED_FILE if most == EXTENDED_FILE => Some(NodeType::File),
            _ => node_type(number),
        };
        let kind = kind.ok_or_else(|| self.fault(format!("inode of type {number}"), &format!("1 to {most}")))?;
        let time_and_number = if self.major() == 3 {
            let [time, number] = [self.cursor.read_u32()?, self.cursor.read_u32()?];
            self.check_number(number)?;
            Some([time, number])
        } else {
            None
        };
        let group = (group != 0xff).then_some(group);
        Ok(Start { kind, extended: number >= EXTENDED_DIRECTORY, mode, owner, group, time_and_number })
    }

    fn start_of_1(&mut self) -> Result<Start, ReadError> {
        let mut fields = self.cursor.fields::<3>()?;
        let [number, mode, owner, group] = [fields.half(4), fields.half(12), fields.half(4), fields.half(4)];
        let group = (group != 0xf).then_some(group);
        let (kind, range) = match number.checked_sub(1) {
            Some(number) => (node_type(number % TYPES_OF_1 + 1).unwrap_or(NodeType::Directory), number / TYPES_OF_1),
            None => {
                let mut fields = self.cursor.fields::<1>()?;
                let [kind, range] = [fields.half(4), fields.half(4)];
                // As other readers: what is not a socket is a pipe.
                (if kind == 7 { NodeType::Socket } else { NodeType::Fifo }, range)
            }
        };
        let owner = range * OWNERS_OF_1 + owner;
        Ok(Start { kind, extended: false, mode, owner, group, time_and_number: None })
    }

    fn owner_and_group(&self, owner: u16, group: Option<u16>) -> Result<[u32; 2], ReadError> {
        let (owners, groups) = self.rules.ids.split_at_checked(self.rules.owners).unwrap_or_default();
        let find = |what: &str, ids: &[u32], index: u16| {
            let found = ids.get(usize::from(index)).copied();
            found.ok_or_else(|| self.fault(format!("index {index} of {what}"), &format!("less than {}", ids.len())))
        };
        let uid = find("an owner", owners, owner)?;
        let gid = group.map_or(Ok(uid), |group| find("a group", groups, group))?;
        Ok([uid, gid])
    }

    /// Number of names, which version 3 stores.
    fn links(&mut self) -> Result<u32, ReadError> {
        if self.major() == 3 { self.cursor.read_u32() } else { Ok(1) }
    }

    fn links_and_half(&mut self) -> Result<(u32, u16), ReadError> {
        Ok((self.links()?, self.cursor.read_u16()?))
    }

    /// Version 3: names u32, size 19 or 27 bits, offset 13, block u32, entries of an index u16 if extended, parent u32. Before: size, offset, time
    /// u32, block 24 bits, entries of an index u16 if extended. Only the size of version 3 has three bytes that are not stored.
    fn old_directory(&mut self, extended: bool, time: &mut u32) -> Result<Body, ReadError> {
        let links = self.links()?;
        let (size, offset) = if extended {
            let mut fields = self.cursor.fields::<5>()?;
            (fields.word(27), fields.half(13))
        } else {
            let mut fields = self.cursor.fields::<4>()?;
            (fields.word(19), fields.half(13))
        };
        let is_3 = self.major() == 3;
        if !is_3 {
            *time = self.cursor.read_u32()?;
        }
        let block = if is_3 { self.cursor.read_u32()? } else { self.cursor.fields::<3>()?.word(24) };
        let indices = if extended { self.cursor.read_u16()? } else { 0 };
        let parent = if is_3 { self.cursor.read_u32()? } else { 0 };
        let length = if is_3 { self.listing_length(size)? } else { size };
        if self.cursor.layout().has_unsorted_listings() && length > LONGEST_UNSORTED {
            return Err(self.fault(format!("directory of {length} bytes"), &format!("{LONGEST_UNSORTED} at most")));
        }
        self.subtree(Subtree { links, length, block, offset, parent, indices, xattr: NO_XATTR })
    }

    /// Version 3: names u32 if extended, start u64, fragment u32, offset u32, size u32, or u64 if extended. Version 2: time u32, start u32, fragment
    /// u32, offset u32, size u32. Version 1: time u32, start u32, size u32.
    fn old_file(&mut self, extended: bool, time: &mut u32) -> Result<Body, ReadError> {
        let is_3 = self.major() == 3;
        let links = if extended { self.cursor.read_u32()? } else { 1 };
        if !is_3 {
            *time = self.cursor.read_u32()?;
        }
        let start = if is_3 { self.cursor.read_u64()? } else { self.cursor.read_u32()?.into() };
        let (fragment, offset) =
            if self.major() == 1 { (NO_FRAGMENT, 0) } else { (self.cursor.read_u32()?, self.cursor.read_u32()?) };
        let size = if extended { self.cursor.read_u64()? } else { self.cursor.read_u32()?.into() };
        self.content(Content { links, size, sparse: 0, start, fragment, offset, xattr: NO_XATTR })
    }
}
