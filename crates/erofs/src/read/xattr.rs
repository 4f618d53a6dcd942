//! Extended attributes: those after their inode, then shared ones.

use std::sync::Arc;

use packline_tree::Xattr;
use packline_volume::ReadError;

use super::contents::{Content, Contents};
use super::data::DataPlace;
use super::inode::PlacedInode;
use super::span::Cursor;
use crate::format::superblock::{Superblock, compat};
use crate::format::xattr::{ENTRY_BYTES, EntryHeader, HEADER_BYTES, LongPrefix, NamePrefix};
use crate::format::{METABOX, corrupt};

/// Limit in bytes of the names and values of one set. Shared attributes may be the same ones 255 times.
const MOST_BYTES: u64 = 16 << 20;
/// Bytes charged for an attribute in addition to its own, so that a set of many small attributes is bounded, too.
const OVERHEAD: u64 = 64;

/// Reads the long prefixes of attribute names, at most 128 of 255 bytes.
///
/// # Errors
/// [`ReadError::Corrupt`] if a prefix is too long, or not in the image.
pub(super) fn long_prefixes(
    superblock: &Superblock,
    contents: &Arc<Contents>,
    packed: Option<DataPlace>,
) -> Result<Vec<LongPrefix>, ReadError> {
    let start = superblock.xattr_prefix_start;
    let plain = superblock.has_compatible(compat::PLAIN_XATTR_PREFIXES);
    let mut cursor = match packed {
        _ if !plain && superblock.metabox.is_some() => contents.store().cursor(METABOX | start),
        Some(packed) if !plain => Content::cursor(contents, packed, start),
        _ => contents.store().cursor(start),
    };
    let mut prefixes = Vec::new();
    for number in 0..superblock.xattr_prefixes {
        let at = cursor.at();
        let length = cursor.read_u16()?;
        if !(1..=256).contains(&length) {
            let what = format!("long prefix {number} of attribute names with {length} bytes");
            return Err(corrupt(at, what, "1 to 256"));
        }
        let [base] = cursor.array()?;
        let mut infix = Vec::new();
        cursor.read_to(u64::from(length) - 1, &mut infix)?;
        prefixes.push(LongPrefix { base, infix });
        cursor.seek(cursor.at().next_multiple_of(4));
    }
    Ok(prefixes)
}

/// Reads the attributes of inodes.
pub(crate) struct Xattrs<'x> {
    pub(super) superblock: &'x Superblock,
    pub(super) contents: &'x Arc<Contents>,
    pub(super) prefixes: &'x [LongPrefix],
}

/// The position of an attribute.
#[derive(Debug, Clone, Copy)]
pub(crate) struct XattrPlace {
    /// Address of the entry.
    pub(crate) at: u64,
    pub(crate) header: EntryHeader,
    /// Whether other inodes may have the attribute, too.
    pub(crate) is_shared: bool,
}

impl XattrPlace {
    /// Returns the address of the name.
    pub(crate) fn name(&self) -> u64 {
        self.at + ENTRY_BYTES
    }
}

impl Xattrs<'_> {
    /// Reads the attributes of an inode.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the set breaks a rule or takes more than 16 MiB, [`ReadError::Input`].
    pub(crate) fn read(&self, inode: &PlacedInode) -> Result<Vec<Xattr>, ReadError> {
        self.read_kept(inode, Kept::Names)
    }

    /// Reads the fingerprint of an inode: the value of the attribute whose name is a long prefix. `None` if there is no such attribute.
    ///
    /// # Errors
    /// Errors of [`Xattrs::read`].
    pub(super) fn fingerprint(&self, inode: &PlacedInode) -> Result<Option<Vec<u8>>, ReadError> {
        let number = self.superblock.fingerprint_prefix.map(usize::from);
        let Some(prefix) = number.and_then(|number| self.prefixes.get(number)) else { return Ok(None) };
        let internal = self.read_kept(inode, Kept::Internal)?;
        Ok(internal.into_iter().find(|xattr| xattr.name == prefix.infix).map(|xattr| xattr.value))
    }

    fn read_kept(&self, inode: &PlacedInode, kept: Kept) -> Result<Vec<Xattr>, ReadError> {
        let mut set = Set { xattrs: Vec::new(), left: MOST_BYTES, prefixes: self.prefixes, kept };
        let mut cursor = self.contents.store().cursor(inode.xattrs());
        for place in self.places(inode)? {
            set.add(&mut cursor, place)?;
        }
        Ok(set.xattrs)
    }

    /// Returns the positions of the attributes of an inode: those after the inode, then shared ones.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the attributes do not fit into the space of the inode, [`ReadError::Input`].
    pub(crate) fn places(&self, inode: &PlacedInode) -> Result<Vec<XattrPlace>, ReadError> {
        let start = inode.xattrs();
        let end = start + inode.raw.xattr_bytes;
        if start == end {
            return Ok(Vec::new());
        }
        let mut cursor = self.contents.store().cursor(start);
        let header: [u8; HEADER_BYTES as usize] = cursor.array()?;
        let shared_count = header[4];
        let entries = start + HEADER_BYTES + 4 * u64::from(shared_count);
        if inode.raw.xattr_bytes == HEADER_BYTES || entries > end {
            let what = format!("extended attributes of {} bytes, {shared_count} shared", inode.raw.xattr_bytes);
            return Err(corrupt(start, what, "a header and at least one attribute"));
        }
        let mut shared = Vec::new();
        for _ in 0..shared_count {
            shared.push(self.shared(cursor.read_u32()?));
        }
        let mut places = Vec::new();
        // The bytes after the last entry may be fewer than a header.
        while cursor.at() + ENTRY_BYTES <= end {
            let at = cursor.at();
            let header = EntryHeader::decode(cursor.array()?);
            let bytes = header.bytes();
            if bytes > end - at {
                let what = format!("extended attribute of {bytes} bytes");
                return Err(corrupt(at, what, format!("at most {}, which its inode has", end - at)));
            }
            cursor.seek(at + bytes);
            places.push(XattrPlace { at, header, is_shared: false });
        }
        for at in shared {
            cursor.seek(at);
            let header = EntryHeader::decode(cursor.array()?);
            places.push(XattrPlace { at, header, is_shared: true });
        }
        Ok(places)
    }

    /// Returns the address of a shared attribute.
    fn shared(&self, number: u32) -> u64 {
        let start = u64::from(self.superblock.xattr_block) << self.superblock.block_bits;
        let in_metabox = self.superblock.has_compatible(compat::SHARED_XATTRS_IN_METABOX);
        let area = if in_metabox { METABOX } else { 0 };
        area | (start + 4 * u64::from(number))
    }
}

/// The attributes that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// Those that the kernel lists.
    Names,
    /// Those that it does not list.
    Internal,
}

/// The attributes so far.
struct Set<'s> {
    kept: Kept,
    xattrs: Vec<Xattr>,
    /// Bytes left of the limit.
    left: u64,
    prefixes: &'s [LongPrefix],
}

impl Set<'_> {
    /// Reads an attribute.
    fn add(&mut self, cursor: &mut Cursor, place: XattrPlace) -> Result<(), ReadError> {
        let XattrPlace { at, header, .. } = place;
        let mut name = match header.prefix(self.prefixes) {
            NamePrefix::Name(prefix) if self.kept == Kept::Names => prefix,
            NamePrefix::Internal(prefix) if self.kept == Kept::Internal => prefix,
            NamePrefix::Name(_) | NamePrefix::Internal(_) => return Ok(()),
            NamePrefix::Unknown => {
                let what = format!("extended attribute with prefix {}", header.prefix);
                let expected = format!("0 to 6, or 128 and the number of one of {} long prefixes", self.prefixes.len());
                return Err(corrupt(at, what, expected));
            }
        };
        cursor.seek(place.name());
        cursor.read_to(header.name.into(), &mut name)?;
        if name.is_empty() || memchr::memchr(0, &name).is_some() {
            let what = format!("extended attribute \"{}\"", name.escape_ascii());
            return Err(corrupt(at, what, "a name without NUL"));
        }
        let charged = name.len() as u64 + u64::from(header.value) + OVERHEAD;
        self.left = self.left.checked_sub(charged).ok_or_else(|| {
            let what = format!("set of extended attributes with more than {} bytes", MOST_BYTES - self.left);
            corrupt(at, what, "at most 16 MiB in total")
        })?;
        let mut value = Vec::new();
        cursor.read_to(header.value.into(), &mut value)?;
        self.xattrs.push(Xattr { name, value });
        Ok(())
    }
}
