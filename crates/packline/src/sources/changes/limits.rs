//! Limits of the attributes of an entry, by file system.

use std::ops::RangeInclusive;

/// The attributes and times that a file system stores.
#[derive(Debug, Clone)]
pub(crate) struct EntryLimits {
    /// Whether an extended attribute of this name is stored.
    pub(crate) stores_xattr: fn(&[u8]) -> bool,
    /// The names of attributes that are stored.
    pub(crate) xattrs: &'static str,
    /// Longest name of an attribute after its prefix, in bytes.
    pub(crate) name_most: u32,
    /// Modification times that are stored, in seconds since 1970.
    pub(crate) times: RangeInclusive<i64>,
    /// Whether fractions of a second are stored.
    pub(crate) fractions: bool,
}

/// Numbers of entries whose modification times an image stores changed. Further names of a hard-linked file are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedTimes {
    /// Times before or after the range of the file system, which become the nearest one in it.
    pub clamped: u64,
    /// Times without their fraction of a second, which the file system does not store.
    pub truncated: u64,
}

impl EntryLimits {
    pub(crate) const SQUASHFS: EntryLimits = EntryLimits {
        stores_xattr: packline_squashfs::XattrTable::is_supported,
        xattrs: "user., trusted. and security.",
        name_most: 65535,
        times: 0..=u32::MAX as i64,
        fractions: false,
    };

    pub(crate) const TAR: EntryLimits = EntryLimits {
        stores_xattr: packline_archives::tar::is_xattr_name,
        xattrs: "attributes with a name that is not empty and has no NUL byte",
        name_most: u32::MAX,
        times: i64::MIN..=i64::MAX,
        fractions: true,
    };

    pub(crate) const EROFS: EntryLimits = EntryLimits {
        stores_xattr: packline_erofs::XattrTable::is_supported,
        xattrs: "user., trusted., security., lustre. and POSIX ACLs",
        name_most: 255,
        times: i64::MIN..=i64::MAX,
        fractions: true,
    };
}
