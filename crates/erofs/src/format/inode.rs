//! Inodes: 32 bytes (compact) or 64 bytes (extended) in slots of 32 bytes.
//!
//! | compact | extended | size | field |
//! |--:|--:|--:|---|
//! | 0 | 0 | 2 | format: bit 0 extended, bits 1 to 3 layout, bit 4 one link (a directory: no entries `.` and `..`) |
//! | 2 | 2 | 2 | size of the extended attributes |
//! | 4 | 4 | 2 | mode |
//! | 6 | 6 | 2 | bits 32 to 47 of the start; a compact inode without bit 4: number of links |
//! | 8 | 8 | 4 or 8 | size |
//! | 12 | 32 | 4 or 8 | time in seconds: after the time of the superblock, or since 1970 |
//! | - | 40 | 4 | nanoseconds |
//! | 16 | 16 | 4 | start: first block, number of compressed blocks, format of chunks, or device |
//! | 20 | 20 | 4 | number for 32-bit programs |
//! | 24 | 24 | 2 or 4 | owner |
//! | 26 | 28 | 2 or 4 | group |
//! | - | 44 | 4 | number of links |
//!
//! Extended attributes follow, then the inline part of the content or the positions of its parts.

use packline_tree::{Device, Meta, Time};
use packline_volume::{NodeType, ReadError};

use super::corrupt;
use super::superblock::{NANOSECONDS, Superblock};
use super::wire::{half, long, put, word};

/// Length of a slot, and of a compact inode, in bytes.
pub(crate) const SLOT_BYTES: usize = 32;
/// Length of an extended inode in bytes.
pub(crate) const EXTENDED_BYTES: usize = 64;
/// The start of flat content that is not stored: all of it is a hole.
pub(crate) const NOT_STORED: u64 = u64::MAX;

/// Bit of the format of an extended inode.
const EXTENDED: u16 = 1;
/// Bit of the format of an inode with one link; for a directory: without the entries `.` and `..`.
const SHORT: u16 = 1 << 4;
/// All bits of the format.
const FORMAT_BITS: u16 = 0x1f;
/// Length of the header of the extended attributes in bytes.
const XATTR_HEADER: u64 = 12;

/// How the content is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// In consecutive blocks.
    Plain,
    /// Compressed, with an index of 8 bytes for each part, or with encoded extents.
    CompressedFull,
    /// In consecutive blocks; the last part follows the inode.
    Inline,
    /// Compressed, with a compact index.
    CompressedCompact,
    /// In chunks of equal size.
    Chunks,
}

impl Layout {
    pub(crate) fn of_number(number: u64) -> Option<Layout> {
        use Layout::{Chunks, CompressedCompact, CompressedFull, Inline, Plain};
        [Plain, CompressedFull, Inline, CompressedCompact, Chunks].get(usize::try_from(number).ok()?).copied()
    }
}

/// The decoded fields of an inode.
#[derive(Debug, Clone)]
pub(crate) struct RawInode {
    pub(crate) meta: Meta,
    pub(crate) kind: NodeType,
    pub(crate) layout: Layout,
    pub(crate) extended: bool,
    pub(crate) links: u32,
    pub(crate) size: u64,
    /// Number of a block, format of chunks, or number of compressed blocks; [`NOT_STORED`] for a hole.
    pub(crate) start: u64,
    pub(crate) device: Device,
    /// Length of the extended attributes in bytes, with their header.
    pub(crate) xattr_bytes: u64,
}

impl RawInode {
    /// Whether an inode that starts with this slot has a second one.
    pub(crate) fn is_extended(slot: &[u8; SLOT_BYTES]) -> bool {
        half(slot, 0) & EXTENDED != 0
    }

    /// Returns the length of the inode in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        (if self.extended { EXTENDED_BYTES } else { SLOT_BYTES }) as u64
    }

    /// Decodes the inode at an address.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the inode breaks a rule.
    pub(crate) fn decode(
        superblock: &Superblock,
        address: u64,
        bytes: &[u8; EXTENDED_BYTES],
    ) -> Result<RawInode, ReadError> {
        let format = half(bytes, 0);
        let fault = |what: String, expected: &str| Err(corrupt(address, what, expected));
        if format & !FORMAT_BITS != 0 {
            return fault(format!("inode of format {format:#x}"), "bits 0 to 4");
        }
        let Some(layout) = Layout::of_number(u64::from(format >> 1 & 7)) else {
            return fault(format!("inode of layout {}", format >> 1 & 7), "0 to 4");
        };
        let mode = half(bytes, 4);
        let Some(kind) = kind_of_mode(mode) else {
            return fault(format!("inode of mode {mode:#o}"), "the mode of a file type");
        };
        let extended = format & EXTENDED != 0;
        let one_link = format & SHORT != 0 && kind != NodeType::Directory;
        let fields = if extended { Fields::extended(bytes) } else { Fields::compact(bytes, superblock, one_link) };
        if i64::try_from(fields.size).is_err() {
            return fault(format!("inode of {} bytes", fields.size), "at most 8 EiB - 1");
        }
        if fields.nanoseconds >= NANOSECONDS {
            return fault(format!("inode with {} nanoseconds", fields.nanoseconds), "less than a second");
        }
        let mtime = Time::new(fields.seconds, fields.nanoseconds);
        let is_hole = layout == Layout::Plain && fields.start | !fields.start_mask == u64::MAX;
        let xattr_count = u64::from(half(bytes, 2));
        Ok(RawInode {
            meta: Meta { mode: mode & 0o7777, uid: fields.uid, gid: fields.gid, mtime },
            kind,
            layout,
            extended,
            links: fields.links,
            size: fields.size,
            start: if is_hole { NOT_STORED } else { fields.start },
            device: device(word(bytes, 16)),
            xattr_bytes: if xattr_count == 0 { 0 } else { XATTR_HEADER + 4 * (xattr_count - 1) },
        })
    }
}

/// The largest numbers of a device.
pub(crate) const LARGEST_DEVICE: Device = Device { major: 0xfff, minor: 0xf_ffff };

/// What a compact inode can have, by the superblock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompactTimes {
    /// Time of the superblock.
    pub(crate) epoch: i64,
    /// Nanoseconds of the superblock.
    pub(crate) nanoseconds: u32,
    /// Whether a compact inode adds its own time.
    pub(crate) wide: bool,
}

impl RawInode {
    /// Whether all fields fit into a compact inode.
    pub(crate) fn fits_compact(&self, times: CompactTimes) -> bool {
        let later = self.meta.mtime.seconds().checked_sub(times.epoch);
        let most = if times.wide { i64::from(u32::MAX) } else { 0 };
        let short = |number: u32| u16::try_from(number).is_ok();
        later.is_some_and(|later| (0..=most).contains(&later))
            && self.meta.mtime.nanoseconds() == times.nanoseconds
            && self.size <= u32::MAX.into()
            && self.start <= u32::MAX.into()
            && [self.links, self.meta.uid, self.meta.gid].into_iter().all(short)
    }

    /// Encodes the inode; [`RawInode::bytes`] bytes are in use. `number` is the number for 32-bit programs. Without `extended`, all fields must
    /// fit. The attributes must have a size of 0 or of 16 to 262,148, a multiple of 4.
    pub(crate) fn encode(&self, epoch: i64, number: u32) -> [u8; EXTENDED_BYTES] {
        let mut bytes = [0; EXTENDED_BYTES];
        let layout = (self.layout as u16) << 1;
        put(&mut bytes, 0, (layout | if self.extended { EXTENDED } else { 0 }).to_le_bytes());
        let xattr_count = self.xattr_bytes.checked_sub(XATTR_HEADER).map_or(0, |more| more / 4 + 1);
        put(&mut bytes, 2, (xattr_count as u16).to_le_bytes());
        put(&mut bytes, 4, (self.meta.mode | mode_of_kind(self.kind)).to_le_bytes());
        let is_device = matches!(self.kind, NodeType::BlockDevice | NodeType::CharDevice);
        let start = if is_device { number_of(self.device).into() } else { self.start };
        put(&mut bytes, 16, (start as u32).to_le_bytes());
        put(&mut bytes, 20, number.to_le_bytes());
        if self.extended {
            put(&mut bytes, 6, ((start >> 32) as u16).to_le_bytes());
            put(&mut bytes, 8, self.size.to_le_bytes());
            put(&mut bytes, 24, self.meta.uid.to_le_bytes());
            put(&mut bytes, 28, self.meta.gid.to_le_bytes());
            put(&mut bytes, 32, self.meta.mtime.seconds().to_le_bytes());
            put(&mut bytes, 40, self.meta.mtime.nanoseconds().to_le_bytes());
            put(&mut bytes, 44, self.links.to_le_bytes());
        } else {
            put(&mut bytes, 6, (self.links as u16).to_le_bytes());
            put(&mut bytes, 8, (self.size as u32).to_le_bytes());
            put(&mut bytes, 12, (self.meta.mtime.seconds().wrapping_sub(epoch) as u32).to_le_bytes());
            put(&mut bytes, 24, (self.meta.uid as u16).to_le_bytes());
            put(&mut bytes, 26, (self.meta.gid as u16).to_le_bytes());
        }
        bytes
    }
}

/// Fields whose positions depend on the form.
struct Fields {
    links: u32,
    size: u64,
    start: u64,
    start_mask: u64,
    uid: u32,
    gid: u32,
    seconds: i64,
    nanoseconds: u32,
}

impl Fields {
    fn compact(bytes: &[u8], superblock: &Superblock, one_link: bool) -> Fields {
        let low = u64::from(word(bytes, 16));
        let shared = half(bytes, 6);
        Fields {
            links: if one_link { 1 } else { shared.into() },
            size: word(bytes, 8).into(),
            start: if one_link { low | u64::from(shared) << 32 } else { low },
            start_mask: if one_link { (1 << 48) - 1 } else { u32::MAX.into() },
            uid: half(bytes, 24).into(),
            gid: half(bytes, 26).into(),
            seconds: superblock.epoch.saturating_add(word(bytes, 12).into()),
            nanoseconds: superblock.nanoseconds,
        }
    }

    fn extended(bytes: &[u8]) -> Fields {
        Fields {
            links: word(bytes, 44),
            size: long(bytes, 8),
            start: u64::from(word(bytes, 16)) | u64::from(half(bytes, 6)) << 32,
            start_mask: (1 << 48) - 1,
            uid: word(bytes, 24),
            gid: word(bytes, 28),
            seconds: long(bytes, 32) as i64,
            nanoseconds: word(bytes, 40),
        }
    }
}

fn kind_of_mode(mode: u16) -> Option<NodeType> {
    match mode & 0o17_0000 {
        0o01_0000 => Some(NodeType::Fifo),
        0o02_0000 => Some(NodeType::CharDevice),
        0o04_0000 => Some(NodeType::Directory),
        0o06_0000 => Some(NodeType::BlockDevice),
        0o10_0000 => Some(NodeType::File),
        0o12_0000 => Some(NodeType::Symlink),
        0o14_0000 => Some(NodeType::Socket),
        _ => None,
    }
}

fn mode_of_kind(kind: NodeType) -> u16 {
    match kind {
        NodeType::Fifo => 0o01_0000,
        NodeType::CharDevice => 0o02_0000,
        NodeType::Directory => 0o04_0000,
        NodeType::BlockDevice => 0o06_0000,
        NodeType::File => 0o10_0000,
        NodeType::Symlink => 0o12_0000,
        NodeType::Socket => 0o14_0000,
    }
}

fn number_of(device: Device) -> u32 {
    device.minor & 0xff | device.major << 8 | (device.minor & !0xff) << 12
}

fn device(number: u32) -> Device {
    Device { major: number >> 8 & 0xfff, minor: number & 0xff | number >> 12 & 0xf_ff00 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::superblock::{SUPERBLOCK_MOST, incompat};

    fn superblock(epoch: i64) -> Superblock {
        let mut bytes = [0; SUPERBLOCK_MOST];
        bytes[..4].copy_from_slice(&super::super::superblock::MAGIC_BYTES);
        bytes[12] = 12;
        bytes[80] = incompat::WIDE as u8;
        Superblock { epoch, ..Superblock::decode(&bytes).unwrap() }
    }

    fn inode(kind: NodeType) -> RawInode {
        let meta = Meta { mode: 0o4751, uid: 65_535, gid: 3, mtime: Time::from_seconds(1_700_000_000) };
        let device = if matches!(kind, NodeType::BlockDevice | NodeType::CharDevice) {
            LARGEST_DEVICE
        } else {
            Device { major: 0, minor: 0 }
        };
        RawInode {
            meta,
            kind,
            layout: Layout::Inline,
            extended: false,
            links: 2,
            size: 5_000_000,
            start: 0x1234_5678,
            device,
            xattr_bytes: 16,
        }
    }

    #[test]
    fn decodes_what_it_encodes() {
        use NodeType::{BlockDevice, CharDevice, Directory, Fifo, File, Socket, Symlink};
        for kind in [Directory, File, Symlink, BlockDevice, CharDevice, Fifo, Socket] {
            for extended in [false, true] {
                let mut inode = RawInode { extended, ..inode(kind) };
                if extended {
                    inode.meta.uid = u32::MAX;
                    inode.meta.mtime = Time::new(-5, 5);
                    inode.size = 1 << 40;
                    inode.links = 1 << 20;
                    inode.start = 0x1234_5678_9abc;
                    inode.xattr_bytes = 262_148;
                }
                let bytes = inode.encode(1_600_000_000, 77);
                let found = RawInode::decode(&superblock(1_600_000_000), 0, &bytes).unwrap();
                // The start of a device is its number.
                inode.start = if inode.device.major > 0 { u32::MAX.into() } else { inode.start };
                inode.device = device(inode.start as u32);
                assert_eq!(format!("{found:?}"), format!("{inode:?}"));
            }
        }
    }

    #[test]
    fn compact_inodes_have_small_numbers_and_near_times() {
        let times = CompactTimes { epoch: 1_600_000_000, nanoseconds: 0, wide: true };
        let sound = inode(NodeType::File);
        assert!(sound.fits_compact(times));
        assert!(!sound.fits_compact(CompactTimes { wide: false, ..times }));
        assert!(sound.fits_compact(CompactTimes { wide: false, epoch: 1_700_000_000, ..times }));
        assert!(!sound.fits_compact(CompactTimes { epoch: 1_700_000_001, ..times }));
        assert!(!sound.fits_compact(CompactTimes { epoch: 1_700_000_000 - (1 << 32), ..times }));
        assert!(!sound.fits_compact(CompactTimes { nanoseconds: 1, ..times }));
        for change in [
            (|inode| inode.links = 65_536) as fn(&mut RawInode),
            |inode| inode.meta.uid = 65_536,
            |inode| inode.meta.gid = 65_536,
            |inode| inode.size = 1 << 32,
            |inode| inode.start = 1 << 32,
            |inode| inode.meta.mtime = Time::from_seconds(i64::MIN),
        ] {
            let mut inode = inode(NodeType::File);
            change(&mut inode);
            assert!(!inode.fits_compact(times), "{inode:?}");
        }
    }
}
