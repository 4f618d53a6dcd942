//! The superblock: 96 bytes at the start, followed by the compressor's options.

use super::disk::Cursor;

/// Bytes of the superblock.
pub(super) const SIZE: u64 = 96;
/// Start of a missing table.
pub(super) const NO_TABLE: u64 = u64::MAX;

const MAGIC: u32 = 0x7371_7368;
const FLAG_NO_FRAGMENTS: u16 = 0x0010;
const FLAG_EXPORTABLE: u16 = 0x0080;
const FLAG_NO_XATTRS: u16 = 0x0200;
const FLAG_OPTIONS: u16 = 0x0400;

/// The numbers of a superblock; offsets in bytes from the start of the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    pub inodes: u32,
    /// Creation time, seconds since 1970.
    pub created: u32,
    pub block_size: u32,
    pub fragments: u32,
    /// Compressor id, 1 (gzip) to 6 (zstd).
    pub compressor: u16,
    /// Base-2 logarithm of the block size.
    pub block_log: u16,
    pub flags: u16,
    pub ids: u16,
    pub root: u64,
    /// Bytes used, without the padding.
    pub bytes_used: u64,
    /// Start of the id table's index.
    pub id_table: u64,
    /// Start of the xattr table's header, or all ones.
    pub xattr_table: u64,
    pub inode_table: u64,
    pub directory_table: u64,
    /// Start of the fragment table's index, or all ones.
    pub fragment_table: u64,
    /// Start of the export table's index, or all ones.
    pub export_table: u64,
}

impl Superblock {
    /// Reads the superblock; fails if it prevents reading the rest.
    pub(super) fn read(bytes: &[u8]) -> Result<Superblock, String> {
        let mut cursor = Cursor::new(bytes, 0, "superblock");
        let magic = cursor.u32()?;
        let inodes = cursor.u32()?;
        let created = cursor.u32()?;
        let block_size = cursor.u32()?;
        let fragments = cursor.u32()?;
        let compressor = cursor.u16()?;
        let block_log = cursor.u16()?;
        let flags = cursor.u16()?;
        let ids = cursor.u16()?;
        let version = (cursor.u16()?, cursor.u16()?);
        let mut offset = || cursor.u64();
        let root = offset()?;
        let bytes_used = offset()?;
        let id_table = offset()?;
        let xattr_table = offset()?;
        let inode_table = offset()?;
        let directory_table = offset()?;
        let fragment_table = offset()?;
        let export_table = offset()?;
        if magic != MAGIC || version != (4, 0) {
            return Err(format!("magic {magic:#x}, version {version:?} (expected {MAGIC:#x}, 4.0)"));
        }
        if !(4096..=1 << 20).contains(&block_size) || 1u32.checked_shl(block_log.into()) != Some(block_size) {
            return Err(format!("block size {block_size} with logarithm {block_log}"));
        }
        Ok(Superblock {
            inodes,
            created,
            block_size,
            fragments,
            compressor,
            block_log,
            flags,
            ids,
            root,
            bytes_used,
            id_table,
            xattr_table,
            inode_table,
            directory_table,
            fragment_table,
            export_table,
        })
    }

    /// The codec's name.
    pub fn codec(&self) -> Result<&'static str, String> {
        const NAMES: [&str; 6] = ["gzip", "lzma", "lzo", "xz", "lz4", "zstd"];
        let index = usize::from(self.compressor).wrapping_sub(1);
        NAMES.get(index).copied().ok_or_else(|| format!("compressor id {} (expected 1 to 6)", self.compressor))
    }

    /// Whether compressor options follow the superblock.
    pub(super) fn has_options(&self) -> bool {
        self.flags & FLAG_OPTIONS != 0
    }

    /// Checks rules that depend on the superblock and the file's size alone.
    pub(super) fn check(&self, file_size: u64, problems: &mut Vec<String>) {
        let mut rule = |holds: bool, what: String| {
            if !holds {
                problems.push(format!("superblock: {what}"));
            }
        };
        rule(self.inodes > 0, "no inodes".into());
        rule(self.ids > 0, "no ids".into());
        rule(self.bytes_used <= file_size, format!("{} bytes used in a file of {file_size}", self.bytes_used));
        let none = (self.flags & FLAG_NO_FRAGMENTS != 0) && self.fragments > 0;
        rule(!none, format!("{} fragments, and the flag that there are none", self.fragments));
        let exports = (self.flags & FLAG_EXPORTABLE != 0) == (self.export_table != NO_TABLE);
        rule(exports, format!("flags {:#x}, export table at {:#x}", self.flags, self.export_table));
        let xattrs = self.flags & FLAG_NO_XATTRS == 0 || self.xattr_table == NO_TABLE;
        rule(xattrs, format!("flags {:#x}, xattr table at {:#x}", self.flags, self.xattr_table));
    }
}

/// Bytes of a codec's options; lz4 always has them, lzma never.
pub(super) fn options_length(codec: &str) -> Option<usize> {
    match codec {
        "gzip" | "xz" | "lzo" | "lz4" => Some(8),
        "zstd" => Some(4),
        _ => None,
    }
}
