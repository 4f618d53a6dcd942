//! Decodes inodes and checks them as far as possible without reading further.
//!
//! SquashFS 4.0; the parent module describes the layout of each form. The decoder accepts what the kernel accepts: any number of links, a tail
//! end of no bytes, any position of an empty listing.

use packline_codec::METADATA_BLOCK_SIZE;
use packline_tree::{Device, Meta};

use crate::TailPlace;
use crate::format::inode::{EXTENDED, NO_FRAGMENT, NO_XATTR, UNSTORED};
use crate::format::layout::ByteOrder;
use crate::format::superblock::Superblock;
use crate::format::tables::decode::Tables;
use crate::read::inode::node_type;
use crate::read::metadata::{Cursor, MetaPlace};
use crate::read::{DirData, FileData, Inode, InodeRef, Node, NodeType, ReadError};

/// Longest target of a symbolic link in bytes.
const LONGEST_TARGET: u32 = 65_535;

/// Tables that inodes are checked against.
#[derive(Clone, Copy)]
pub(crate) struct Rules<'i> {
    pub(crate) superblock: &'i Superblock,
    pub(crate) tables: &'i Tables,
    pub(crate) ids: &'i [u32],
    /// Number of ids that are owners, in versions before 4.0.
    pub(crate) owners: usize,
}

/// The common start of inodes of all types.
struct Head {
    meta: Meta,
    number: u32,
    extended: bool,
}

/// The fields after the head.
pub(super) struct Body {
    pub(super) links: u32,
    pub(super) xattr: u32,
    pub(super) node: Node,
}

/// The content of a regular file, as its inode states it.
pub(super) struct Content {
    pub(super) links: u32,
    pub(super) size: u64,
    pub(super) sparse: u64,
    pub(super) start: u64,
    pub(super) fragment: u32,
    pub(super) offset: u32,
    pub(super) xattr: u32,
}

/// A directory, as its inode states it.
pub(super) struct Subtree {
    pub(super) links: u32,
    /// Length of the listing in bytes.
    pub(super) length: u32,
    /// Start of the listing's metadata block in the directory table.
    pub(super) block: u32,
    pub(super) offset: u16,
    pub(super) parent: u32,
    /// Number of entries of the index.
    pub(super) indices: u16,
    pub(super) xattr: u32,
}

/// Reads the inode at `at` with a cursor of the inode table.
pub(crate) fn decode(rules: &Rules<'_>, cursor: &mut Cursor, at: InodeRef) -> Result<Inode, ReadError> {
    let place = cursor.area().place(at.0);
    if usize::from(place.offset) >= METADATA_BLOCK_SIZE || place.block >= cursor.area().end {
        let what = format!("inode reference to block {}, offset {}", at.0 >> 16, place.offset);
        let length = cursor.area().end - cursor.area().start;
        return Err(ReadError::corrupt(place.block, what, format!("a block before {length}, an offset before 8192")));
    }
    cursor.seek(place);
    let order = cursor.layout().order;
    let decoder = Decoder { rules, order, cursor, at: place };
    if decoder.cursor.layout().is_old() { decoder.old_inode(at) } else { decoder.inode(at) }
}

pub(super) struct Decoder<'d> {
    pub(super) rules: &'d Rules<'d>,
    order: ByteOrder,
    pub(super) cursor: &'d mut Cursor,
    at: MetaPlace,
}

impl Decoder<'_> {
    fn inode(mut self, at: InodeRef) -> Result<Inode, ReadError> {
        let kind = self.cursor.read_u16()?;
        let extended = kind > EXTENDED;
        let Some(basic) = node_type(if extended { kind - EXTENDED } else { kind }) else {
            return Err(self.fault(format!("inode of type {kind}"), "1 to 14"));
        };
        let head = self.head(extended)?;
        let body = match basic {
            NodeType::Directory => self.directory(extended)?,
            NodeType::File => self.file(extended)?,
            NodeType::Symlink => self.symlink(extended)?,
            NodeType::BlockDevice | NodeType::CharDevice => self.device(basic, extended)?,
            NodeType::Fifo => self.ipc(Node::Fifo, extended)?,
            NodeType::Socket => self.ipc(Node::Socket, extended)?,
        };
        let Head { meta, number, extended } = head;
        let xattr = self.xattr(body.xattr)?;
        Ok(Inode { at, meta, number, links: body.links, xattr, extended, node: body.node })
    }

    /// Permissions u16, owner u16, group u16, time u32, number u32; the type has been read.
    fn head(&mut self, extended: bool) -> Result<Head, ReadError> {
        let bytes: [u8; 14] = self.cursor.array()?;
        let [mode, uid, gid] = [0, 2, 4].map(|at| self.order.half([bytes[at], bytes[at + 1]]));
        let [mtime, number] = words(self.order, &bytes[6..]);
        self.check_number(number)?;
        let [uid, gid] = [self.id(uid)?, self.id(gid)?];
        let meta = Meta::new(mode & 0o7777, uid, gid, i64::from(mtime));
        Ok(Head { meta, number, extended })
    }

    pub(super) fn check_number(&self, number: u32) -> Result<(), ReadError> {
        let most = self.rules.superblock.inodes;
        if (1..=most).contains(&number) {
            return Ok(());
        }
        Err(self.fault(format!("inode number {number}"), &format!("1 to {most}")))
    }

    fn id(&self, index: u16) -> Result<u32, ReadError> {
        let ids = self.rules.ids;
        let found = ids.get(usize::from(index)).copied();
        found.ok_or_else(|| {
            self.fault(format!("index {index} of an owner or group"), &format!("less than {}", ids.len()))
        })
    }

    fn xattr(&self, index: u32) -> Result<Option<u32>, ReadError> {
        if index == NO_XATTR {
            return Ok(None);
        }
        let sets = self.rules.tables.xattrs.as_ref();
        match sets {
            // The kernel, too, ignores an index if the image has no table.
            None => Ok(None),
            Some(tables) if u64::from(index) < tables.sets.count => Ok(Some(index)),
            Some(tables) => {
                let expected = format!("less than {}", tables.sets.count);
                Err(self.fault(format!("index {index} of extended attributes"), &expected))
            }
        }
    }

    fn directory(&mut self, extended: bool) -> Result<Body, ReadError> {
        let order = self.order;
        let (links, size, block, parent, indices, offset, xattr);
        if extended {
            let bytes: [u8; 24] = self.cursor.array()?;
            [links, size, block, parent] = words(order, &bytes);
            [indices, offset] = [16, 18].map(|at| order.half([bytes[at], bytes[at + 1]]));
            [xattr] = words(order, &bytes[20..]);
        } else {
            let bytes: [u8; 16] = self.cursor.array()?;
            [block, links] = words(order, &bytes);
            size = order.half([bytes[8], bytes[9]]).into();
            offset = order.half([bytes[10], bytes[11]]);
            [parent] = words(order, &bytes[12..]);
            indices = 0;
            xattr = NO_XATTR;
        }
        let length = self.listing_length(size)?;
        self.subtree(Subtree { links, length, block, offset, parent, indices, xattr })
    }

    /// Returns the length of the listing of a directory of a size.
    pub(super) fn listing_length(&self, size: u32) -> Result<u32, ReadError> {
        let length = size.checked_sub(UNSTORED);
        length.ok_or_else(|| self.fault(format!("directory of size {size}"), "3 at least"))
    }

    /// Checks a directory. The cursor is at its index.
    pub(super) fn subtree(&self, stated: Subtree) -> Result<Body, ReadError> {
        let Subtree { links, length, block, offset, parent, indices, xattr } = stated;
        let area = &self.rules.tables.directories;
        let listing = MetaPlace { block: area.start + u64::from(block), offset };
        if length > 0 && (listing.block >= area.end || usize::from(offset) >= METADATA_BLOCK_SIZE) {
            let expected = format!("a block before {}, an offset before 8192", area.end - area.start);
            return Err(self.fault(format!("listing in block {block} at offset {offset}"), &expected));
        }
        let index = self.cursor.place();
        Ok(Body { links, xattr, node: Node::Directory(DirData { length, parent, indices, listing, index }) })
    }

    fn file(&mut self, extended: bool) -> Result<Body, ReadError> {
        let order = self.order;
        if extended {
            let bytes: [u8; 40] = self.cursor.array()?;
            let [start, size, sparse] = [0, 8, 16].map(|at| long(order, &bytes[at..]));
            let [links, fragment, offset, xattr] = words(order, &bytes[24..]);
            return self.content(Content { links, size, sparse, start, fragment, offset, xattr });
        }
        let bytes: [u8; 16] = self.cursor.array()?;
        let [start, fragment, offset, size] = words(order, &bytes);
        let [start, size] = [start, size].map(u64::from);
        self.content(Content { links: 1, size, sparse: 0, start, fragment, offset, xattr: NO_XATTR })
    }

    /// Checks the content of a file. The cursor is at its size words.
    pub(super) fn content(&self, stated: Content) -> Result<Body, ReadError> {
        let Content { links, size, sparse, start, fragment, offset, xattr } = stated;
        let tail = self.tail(size, fragment, offset)?;
        let block_size = u64::from(self.rules.superblock.block_size);
        let blocks = if fragment == NO_FRAGMENT { size.div_ceil(block_size) } else { size / block_size };
        self.check_extent(size, start, blocks)?;
        let words = self.cursor.place();
        Ok(Body { links, xattr, node: Node::File(FileData { size, sparse, start, blocks, tail, words }) })
    }

    /// The position of the tail end; `None` if it is empty.
    fn tail(&self, size: u64, fragment: u32, offset: u32) -> Result<Option<TailPlace>, ReadError> {
        let Superblock { block_size, fragments, .. } = *self.rules.superblock;
        if fragment == NO_FRAGMENT {
            return Ok(None);
        }
        if fragment >= fragments {
            return Err(self.fault(format!("tail end in fragment block {fragment}"), &format!("less than {fragments}")));
        }
        let length = size % u64::from(block_size);
        if u64::from(offset) + length > u64::from(block_size) {
            let what = format!("tail end of {length} bytes at {offset} of a fragment block");
            return Err(self.fault(what, &format!("an end at {block_size} at most")));
        }
        Ok((length > 0).then_some(TailPlace { fragment, offset }))
    }

    /// Checks that the size words fit into the inode table, at any compression ratio, and the blocks into the image.
    fn check_extent(&self, size: u64, start: u64, blocks: u64) -> Result<(), ReadError> {
        let space = self.cursor.space() / self.cursor.layout().word_bytes();
        if i64::try_from(size).is_err() || blocks > space {
            let expected = format!("at most {space} blocks, which fit into the inode table");
            return Err(self.fault(format!("file of {size} bytes, {blocks} blocks"), &expected));
        }
        let end = self.rules.superblock.bytes_used;
        if blocks > 0 && start > end {
            return Err(self.fault(format!("file whose blocks start at {start}"), &format!("at most {end}")));
        }
        Ok(())
    }

    fn symlink(&mut self, extended: bool) -> Result<Body, ReadError> {
        let [links, length] = words(self.order, &self.cursor.array::<8>()?);
        let target = self.target(length)?;
        Ok(Body { links, xattr: self.last_xattr(extended)?, node: Node::Symlink(target) })
    }

    /// Reads the target of a symbolic link.
    pub(super) fn target(&mut self, length: u32) -> Result<Vec<u8>, ReadError> {
        if !(1..=LONGEST_TARGET).contains(&length) {
            return Err(self.fault(format!("symbolic link of {length} bytes"), "1 to 65535"));
        }
        let mut target = Vec::with_capacity(length as usize);
        self.cursor.read_to(u64::from(length), &mut target)?;
        if memchr::memchr(0, &target).is_some() {
            return Err(self.fault("symbolic link with a NUL byte in its target".into(), "a target without NUL"));
        }
        Ok(target)
    }

    fn device(&mut self, kind: NodeType, extended: bool) -> Result<Body, ReadError> {
        let [links, word] = words(self.order, &self.cursor.array::<8>()?);
        let device = Device { major: word >> 8 & 0xfff, minor: word & 0xff | word >> 12 & 0xf_ff00 };
        let node = match kind {
            NodeType::BlockDevice => Node::BlockDevice(device),
            _ => Node::CharDevice(device),
        };
        Ok(Body { links, xattr: self.last_xattr(extended)?, node })
    }

    fn ipc(&mut self, node: Node, extended: bool) -> Result<Body, ReadError> {
        let links = self.cursor.read_u32()?;
        Ok(Body { links, xattr: self.last_xattr(extended)?, node })
    }

    fn last_xattr(&mut self, extended: bool) -> Result<u32, ReadError> {
        if extended { self.cursor.read_u32() } else { Ok(NO_XATTR) }
    }

    pub(super) fn fault(&self, what: String, expected: &str) -> ReadError {
        let what = format!("{what} in the inode at offset {} of the metadata block", self.at.offset);
        ReadError::corrupt(self.at.block, what, expected)
    }
}

/// Returns the first `N` numbers of four bytes.
fn words<const N: usize>(order: ByteOrder, bytes: &[u8]) -> [u32; N] {
    std::array::from_fn(|word| {
        let at = word * 4;
        order.word([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    })
}

fn long(order: ByteOrder, bytes: &[u8]) -> u64 {
    let [first, second] = words(order, bytes).map(u64::from);
    match order {
        ByteOrder::Little => first | second << 32,
        ByteOrder::Big => first << 32 | second,
    }
}
