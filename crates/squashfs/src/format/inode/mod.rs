//! Inodes in the inode table: a basic form, and an extended form for values that do not fit the basic one.
//!
//! SquashFS 4.0, all numbers little-endian. Every inode starts with type u16, permissions u16, index of the owner u16, of the group u16,
//! modification time u32, number u32. The rest depends on the type; see the functions below.

pub(crate) mod decode;
mod old;

use packline_tree::{Device, Meta};

use crate::format::wire::Put;
use crate::{Error, FileLayout};

/// No extended attributes.
pub(crate) const NO_XATTR: u32 = u32::MAX;
/// No fragment block.
pub(crate) const NO_FRAGMENT: u32 = u32::MAX;
/// The number of an extended type less the number of its basic type.
pub(crate) const EXTENDED: u16 = 7;
/// Bytes that the size of a directory counts in addition to its listing: two entries and a byte that are not stored.
pub(crate) const UNSTORED: u32 = 3;
/// Maximum number of index entries of a directory.
pub(crate) const MOST_INDICES: usize = u16::MAX as usize;
/// Longest listing in bytes.
pub(crate) const LONGEST_LISTING: u64 = (u32::MAX - UNSTORED) as u64;

/// Basic type of an inode, also used in listings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Type {
    Directory = 1,
    File = 2,
    Symlink = 3,
    BlockDevice = 4,
    CharDevice = 5,
    Fifo = 6,
    Socket = 7,
}

/// Fields of inodes of all types.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Common {
    pub(crate) meta: Meta,
    /// Index of the owner in the id table.
    pub(crate) uid: u16,
    /// Index of the group in the id table.
    pub(crate) gid: u16,
    pub(crate) number: u32,
    pub(crate) links: u32,
    /// Index in the xattr table, or [`NO_XATTR`].
    pub(crate) xattr: u32,
}

impl Common {
    fn has_xattr(&self) -> bool {
        self.xattr != NO_XATTR
    }

    fn start(&self, out: &mut Vec<u8>, kind: Type, extended: bool) {
        out.put_u16(kind as u16 + if extended { EXTENDED } else { 0 });
        out.put_u16(self.meta.mode & 0o7777);
        out.put_u16(self.uid);
        out.put_u16(self.gid);
        out.put_u32(clamp_time(self.meta.mtime.seconds()));
        out.put_u32(self.number);
    }

    /// Appends the index of extended attributes, the last field of most extended forms.
    fn finish(&self, out: &mut Vec<u8>) {
        if self.has_xattr() {
            out.put_u32(self.xattr);
        }
    }
}

/// Seconds since 1970, clamped to the format's 32 bits.
pub(crate) fn clamp_time(seconds: i64) -> u32 {
    seconds.clamp(0, i64::from(u32::MAX)) as u32
}

/// A regular file without its block sizes, which follow as a u32 each.
///
/// Basic: first block u32, fragment u32, offset u32, size u32. Extended: first block u64, size u64, bytes in holes u64,
/// links u32, fragment u32, offset u32, xattr u32.
pub(crate) fn file(out: &mut Vec<u8>, common: &Common, layout: &FileLayout) {
    let small = layout.size <= u64::from(u32::MAX) && layout.start <= u64::from(u32::MAX);
    let extended = !small || common.links > 1 || common.has_xattr() || layout.sparse > 0;
    common.start(out, Type::File, extended);
    let (fragment, offset) = layout.tail.map_or((NO_FRAGMENT, 0), |tail| (tail.fragment, tail.offset));
    if extended {
        out.put_u64(layout.start);
        out.put_u64(layout.size);
        out.put_u64(layout.sparse);
        out.put_u32(common.links);
        out.put_u32(fragment);
        out.put_u32(offset);
        out.put_u32(common.xattr);
    } else {
        out.put_u32(layout.start as u32);
        out.put_u32(fragment);
        out.put_u32(offset);
        out.put_u32(layout.size as u32);
    }
}

/// A symbolic link: links u32, length u32, target; extended also xattr u32. The kernel follows targets of up to 4095 bytes.
pub(crate) fn symlink(out: &mut Vec<u8>, common: &Common, target: &[u8]) {
    common.start(out, Type::Symlink, common.has_xattr());
    out.put_u32(common.links);
    out.put_u32(target.len() as u32);
    out.extend_from_slice(target);
    common.finish(out);
}

/// A block or character device: links u32, device u32; extended also xattr u32.
pub(crate) fn device(out: &mut Vec<u8>, common: &Common, kind: Type, device: u32) {
    common.start(out, kind, common.has_xattr());
    out.put_u32(common.links);
    out.put_u32(device);
    common.finish(out);
}

/// A named pipe or a socket: links u32; extended also xattr u32.
pub(crate) fn ipc(out: &mut Vec<u8>, common: &Common, kind: Type) {
    common.start(out, kind, common.has_xattr());
    out.put_u32(common.links);
    common.finish(out);
}

/// Packs a device number as the kernel's `new_encode_dev` does: 12 bits of major in bits 8 to 19, 20 bits of minor around them.
///
/// # Errors
/// [`Error::Limit`] if either part has more bits; `entry` returns the path for the message.
pub(crate) fn encode_device(device: Device, entry: &dyn Fn() -> String) -> Result<u32, Error> {
    let Device { major, minor } = device;
    if major >= 1 << 12 || minor >= 1 << 20 {
        return Err(Error::Limit {
            what: format!("{}: device number {major}:{minor}", entry()),
            expected: "a major number of at most 4095 and a minor number of at most 1048575".into(),
        });
    }
    Ok(device_number(device))
}

/// Returns a device number as stored: minor bits 0 to 7, major, the other minor bits. Bits beyond the limits (12 and 20) overlap.
pub fn device_number(Device { major, minor }: Device) -> u32 {
    major << 8 | minor & 0xff | (minor & !0xff) << 12
}

/// Position of a directory's listing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListingPlace {
    /// Start of its first block, bytes from the start of the directory table.
    pub(crate) block: u32,
    /// Offset in the raw block.
    pub(crate) offset: u16,
    /// Length in bytes; at most [`LONGEST_LISTING`].
    pub(crate) length: u32,
    /// Number of index entries that follow the inode.
    pub(crate) indices: u16,
}

/// Writes a directory without its index, which follows.
///
/// Basic: block u32, links u32, size u16, offset u16, parent's number u32. Extended: links u32, size u32, block u32, parent
/// u32, index entries u16, offset u16, xattr u32.
pub(crate) fn directory(out: &mut Vec<u8>, common: &Common, listing: &ListingPlace, parent: u32) {
    let size = listing.length + UNSTORED;
    let extended = size > u32::from(u16::MAX) || common.has_xattr() || listing.indices > 0;
    common.start(out, Type::Directory, extended);
    if extended {
        out.put_u32(common.links);
        out.put_u32(size);
        out.put_u32(listing.block);
        out.put_u32(parent);
        out.put_u16(listing.indices);
        out.put_u16(listing.offset);
        out.put_u32(common.xattr);
    } else {
        out.put_u32(listing.block);
        out.put_u32(common.links);
        out.put_u16(size as u16);
        out.put_u16(listing.offset);
        out.put_u32(parent);
    }
}

/// Writes one entry of a directory's index: offset in the listing u32, block u32, length of the name less one u32, name.
pub(crate) fn index_entry(out: &mut Vec<u8>, offset: u32, block: u32, name: &[u8]) {
    out.put_u32(offset);
    out.put_u32(block);
    out.put_u32(name.len() as u32 - 1);
    out.extend_from_slice(name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TailPlace;

    const META: Meta = Meta::new(0o100_644, 0, 0, 0x0102_0304);
    const COMMON: Common = Common { meta: META, uid: 1, gid: 2, number: 3, links: 1, xattr: NO_XATTR };
    const LAYOUT: FileLayout = FileLayout { size: 5, sparse: 0, start: 96, first_block: 0, blocks: 0, tail: None };

    fn start(kind: u8) -> Vec<u8> {
        vec![kind, 0, 0xa4, 0x01, 1, 0, 2, 0, 4, 3, 2, 1, 3, 0, 0, 0]
    }

    fn made(make: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        make(&mut out);
        out
    }

    #[test]
    fn a_basic_file() {
        let tail = Some(TailPlace { fragment: 7, offset: 9 });
        let bytes = made(|out| file(out, &COMMON, &FileLayout { tail, ..LAYOUT }));
        assert_eq!(bytes, [start(2), b"\x60\0\0\0\x07\0\0\0\x09\0\0\0\x05\0\0\0".to_vec()].concat());
        let bytes = made(|out| file(out, &COMMON, &LAYOUT));
        assert_eq!(&bytes[16..], b"\x60\0\0\0\xff\xff\xff\xff\0\0\0\0\x05\0\0\0");
    }

    #[test]
    fn an_extended_file() {
        let common = Common { links: 4, xattr: 6, ..COMMON };
        let bytes = made(|out| file(out, &common, &FileLayout { sparse: 8, ..LAYOUT }));
        let numbers =
            b"\x60\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x04\0\0\0\xff\xff\xff\xff\0\0\0\0\x06\0\0\0";
        assert_eq!(bytes, [start(9), numbers.to_vec()].concat());
    }

    #[test]
    fn a_file_is_extended_only_where_it_must_be() {
        let kind = |common: &Common, layout: &FileLayout| made(|out| file(out, common, layout))[0];
        let most = u64::from(u32::MAX);
        assert_eq!(kind(&COMMON, &FileLayout { size: most, start: most, ..LAYOUT }), 2);
        assert_eq!(kind(&COMMON, &FileLayout { size: most + 1, ..LAYOUT }), 9);
        assert_eq!(kind(&COMMON, &FileLayout { start: most + 1, ..LAYOUT }), 9);
        assert_eq!(kind(&COMMON, &FileLayout { sparse: 1, ..LAYOUT }), 9);
        assert_eq!(kind(&Common { links: 2, ..COMMON }, &LAYOUT), 9);
        assert_eq!(kind(&Common { xattr: 0, ..COMMON }, &LAYOUT), 9);
    }

    #[test]
    fn links_devices_and_pipes() {
        let xattr = Common { links: 2, xattr: 5, ..COMMON };
        let expected = [start(3), b"\x01\0\0\0\x02\0\0\0to".to_vec()].concat();
        assert_eq!(made(|out| symlink(out, &COMMON, b"to")), expected);
        let expected = [start(10), b"\x02\0\0\0\x02\0\0\0to\x05\0\0\0".to_vec()].concat();
        assert_eq!(made(|out| symlink(out, &xattr, b"to")), expected);
        let expected = [start(4), b"\x01\0\0\0\x34\x12\0\0".to_vec()].concat();
        assert_eq!(made(|out| device(out, &COMMON, Type::BlockDevice, 0x1234)), expected);
        let expected = [start(12), b"\x02\0\0\0\x34\x12\0\0\x05\0\0\0".to_vec()].concat();
        assert_eq!(made(|out| device(out, &xattr, Type::CharDevice, 0x1234)), expected);
        assert_eq!(made(|out| ipc(out, &COMMON, Type::Fifo)), [start(6), b"\x01\0\0\0".to_vec()].concat());
        let expected = [start(14), b"\x02\0\0\0\x05\0\0\0".to_vec()].concat();
        assert_eq!(made(|out| ipc(out, &xattr, Type::Socket)), expected);
    }

    #[test]
    fn directories() {
        let place = ListingPlace { block: 0x11, offset: 0x22, length: 30, indices: 0 };
        let basic = b"\x11\0\0\0\x01\0\0\0\x21\0\x22\0\x09\0\0\0";
        assert_eq!(made(|out| directory(out, &COMMON, &place, 9)), [start(1), basic.to_vec()].concat());
        let extended = b"\x01\0\0\0\x21\0\0\0\x11\0\0\0\x09\0\0\0\x02\0\x22\0\xff\xff\xff\xff";
        let place = ListingPlace { indices: 2, ..place };
        assert_eq!(made(|out| directory(out, &COMMON, &place, 9)), [start(8), extended.to_vec()].concat());
        let kind = |length| made(|out| directory(out, &COMMON, &ListingPlace { length, indices: 0, ..place }, 9))[0];
        assert_eq!([kind(65_532), kind(65_533)], [1, 8]);
        let entry = made(|out| index_entry(out, 0x100, 0x200, b"name"));
        assert_eq!(entry, b"\0\x01\0\0\0\x02\0\0\x03\0\0\0name");
    }

    #[test]
    fn device_numbers_are_packed_as_the_kernel_does() {
        let encode = |major, minor| encode_device(Device { major, minor }, &|| "dev/x".into());
        assert_eq!(encode(8, 1).unwrap(), 0x801);
        assert_eq!(encode(0x123, 0x45678).unwrap(), 0x4561_2378);
        assert_eq!(encode(4095, 0xf_ffff).unwrap(), u32::MAX);
        for (major, minor) in [(4096, 0), (0, 1 << 20)] {
            let message = encode(major, minor).unwrap_err().to_string();
            assert!(message.contains("dev/x") && message.contains(&format!("{major}:{minor}")), "{message}");
        }
    }

    #[test]
    fn times_are_clamped_to_32_bits() {
        let ends = [i64::MIN, -1, 0, 1, (1 << 32) - 1, 1 << 32, i64::MAX];
        assert_eq!(ends.map(clamp_time), [0, 0, 0, 1, u32::MAX, u32::MAX, u32::MAX]);
    }
}
