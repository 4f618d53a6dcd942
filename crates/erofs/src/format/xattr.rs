//! Extended attributes.
//!
//! They follow their inode: name filter u32, number of shared attributes u8, 7 zeros, numbers of shared attributes u32 each, then entries. An
//! entry: length of the name u8, prefix u8, length of the value u16, name, value, zeros up to a multiple of 4 bytes. A shared attribute is an
//! entry at its number times 4 bytes from a block of the superblock on. A prefix above 127 is a long prefix: length u16, short prefix u8, infix,
//! zeros up to a multiple of 4 bytes.

use super::wire::half;

/// Length of the header in bytes.
pub(crate) const HEADER_BYTES: u64 = 12;
/// Length of an entry without name and value in bytes.
pub(crate) const ENTRY_BYTES: u64 = 4;
/// Set in the number of a long prefix.
const LONG: u8 = 1 << 7;
/// Short prefixes by number. Number 0 is for attributes that are not names of the file system, such as fingerprints.
const PREFIXES: [&[u8]; 7] =
    [b"", b"user.", b"system.posix_acl_access", b"system.posix_acl_default", b"trusted.", b"lustre.", b"security."];

/// A long prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongPrefix {
    /// Number of its short prefix.
    pub base: u8,
    /// The rest, at most 255 bytes.
    pub infix: Vec<u8>,
}

/// Start of a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NamePrefix {
    /// The name is not a name of the file system.
    Internal,
    Name(Vec<u8>),
    /// No such prefix.
    Unknown,
}

/// An entry without name and value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryHeader {
    pub(crate) name: u8,
    pub(crate) prefix: u8,
    pub(crate) value: u16,
}

impl EntryHeader {
    pub(crate) fn decode(bytes: [u8; 4]) -> EntryHeader {
        EntryHeader { name: bytes[0], prefix: bytes[1], value: half(&bytes, 2) }
    }

    /// Returns the length of the entry in bytes without its padding.
    pub(crate) fn used(&self) -> u64 {
        ENTRY_BYTES + u64::from(self.name) + u64::from(self.value)
    }

    /// Returns the length of the entry in bytes with its padding.
    pub(crate) fn bytes(&self) -> u64 {
        self.used().next_multiple_of(4)
    }

    /// Whether the name has a long prefix.
    pub(crate) fn is_long(&self) -> bool {
        self.prefix & LONG != 0
    }

    /// Returns the number of the short prefix, and the rest of a long prefix. `None` if there is no such long prefix.
    pub(crate) fn base<'l>(&self, long: &'l [LongPrefix]) -> Option<(u8, &'l [u8])> {
        if !self.is_long() {
            return Some((self.prefix, &[]));
        }
        long.get(usize::from(self.prefix & !LONG)).map(|prefix| (prefix.base, prefix.infix.as_slice()))
    }

    pub(crate) fn prefix(&self, long: &[LongPrefix]) -> NamePrefix {
        let Some((base, infix)) = self.base(long) else { return NamePrefix::Unknown };
        match PREFIXES.get(usize::from(base)) {
            None => NamePrefix::Unknown,
            Some(_) if base == 0 => NamePrefix::Internal,
            Some(short) => NamePrefix::Name([*short, infix].concat()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_short_and_long_prefixes() {
        let long = [LongPrefix { base: 4, infix: b"overlay.".to_vec() }, LongPrefix { base: 0, infix: Vec::new() }];
        let prefix = |number| EntryHeader { name: 1, prefix: number, value: 0 }.prefix(&long);
        assert_eq!(prefix(1), NamePrefix::Name(b"user.".to_vec()));
        assert_eq!(prefix(0x80), NamePrefix::Name(b"trusted.overlay.".to_vec()));
        assert_eq!(prefix(0x81), NamePrefix::Internal);
        assert_eq!(prefix(0), NamePrefix::Internal);
        assert_eq!(prefix(7), NamePrefix::Unknown);
        assert_eq!(prefix(0x82), NamePrefix::Unknown);
    }
}
