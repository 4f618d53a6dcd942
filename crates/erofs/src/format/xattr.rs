//! Extended attributes.
//!
//! They follow their inode: name filter u32, number of shared attributes u8, 7 zeros, numbers of shared attributes u32 each, then entries. An
//! entry: length of the name u8, prefix u8, length of the value u16, name, value, zeros up to a multiple of 4 bytes. A shared attribute is an
//! entry at its number times 4 bytes from a block of the superblock on. A prefix above 127 is a long prefix: length u16, short prefix u8, infix,
//! zeros up to a multiple of 4 bytes.

use std::borrow::Cow;

use twox_hash::XxHash32;

use super::wire::{half, put};

/// Length of the header in bytes.
pub(crate) const HEADER_BYTES: u64 = 12;
/// Length of an entry without name and value in bytes.
pub(crate) const ENTRY_BYTES: u64 = 4;
/// Set in the number of a long prefix.
const LONG: u8 = 1 << 7;
/// Short prefixes by number. Number 0 is for attributes that are not names of the file system, such as fingerprints.
const PREFIXES: [&[u8]; 7] =
    [b"", b"user.", b"system.posix_acl_access", b"system.posix_acl_default", b"trusted.", b"lustre.", b"security."];

/// Longest name without its prefix in bytes.
const NAME_MOST: usize = 255;
/// Number of the prefix of access lists, which are complete names.
const ACCESS_LIST: u8 = 2;
/// Number of the prefix of default access lists, which are complete names.
const DEFAULT_ACCESS_LIST: u8 = 3;
/// Seed of the hash of names; the number of the prefix is added.
const FILTER_SEED: u32 = 0x25bb_e08f;
/// Most bytes of the attributes of an inode.
pub(crate) const SET_MOST: u64 = HEADER_BYTES + 4 * (u16::MAX as u64 - 1);
/// Most shared attributes of an inode.
pub(crate) const SHARED_MOST: usize = 255;
/// Bytes of the number of a shared attribute.
pub(crate) const SHARED_BYTES: u64 = 4;

/// Returns the number of a name's prefix, then the rest of the name. `None` if no entry can have the name.
pub(crate) fn key_of(name: &[u8]) -> Option<Vec<u8>> {
    let (number, rest) = (1u8..).zip(&PREFIXES[1..]).find_map(|(number, prefix)| {
        let rest = name.strip_prefix(*prefix)?;
        let is_complete = matches!(number, ACCESS_LIST | DEFAULT_ACCESS_LIST);
        (rest.is_empty() == is_complete).then_some((number, rest))
    })?;
    (rest.len() <= NAME_MOST).then(|| [&[number], rest].concat())
}

/// Returns the bytes of an entry with its padding. `key`: of [`key_of`].
pub(crate) fn entry_bytes(key: &[u8], value: &[u8]) -> u64 {
    (ENTRY_BYTES + key.len() as u64 - 1 + value.len() as u64).next_multiple_of(4)
}

/// Appends an entry. `key`: of [`key_of`]; the value has at most 65,535 bytes.
pub(crate) fn put_entry(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    let end = out.len() + entry_bytes(key, value) as usize;
    let (prefix, name) = key.split_first().map_or((0, key), |(prefix, name)| (*prefix, name));
    out.extend_from_slice(&[name.len() as u8, prefix]);
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    out.extend_from_slice(name);
    out.extend_from_slice(value);
    out.resize(end, 0);
}

/// Returns the header of a set of attributes with these keys, of which `shared` are shared.
pub(crate) fn header<'k>(keys: impl Iterator<Item = &'k [u8]>, shared: u8) -> [u8; HEADER_BYTES as usize] {
    let bits = keys.fold(0, |bits, key| {
        let (prefix, name) = key.split_first().map_or((0, key), |(prefix, name)| (*prefix, name));
        let hash = XxHash32::oneshot(FILTER_SEED.wrapping_add(prefix.into()), name);
        bits | 1 << (hash & 31)
    });
    let mut header = [0; HEADER_BYTES as usize];
    put(&mut header, 0, u32::to_le_bytes(!bits));
    header[4] = shared;
    header
}

/// A long prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongPrefix {
    /// Number of its short prefix.
    pub base: u8,
    /// The rest, at most 255 bytes.
    pub infix: Vec<u8>,
}

impl LongPrefix {
    /// Returns a start of names. If it does not start with a short prefix, no attribute of a file system has it.
    pub(crate) fn new(start: &[u8]) -> LongPrefix {
        let found = (1u8..).zip(&PREFIXES[1..]).find_map(|(base, short)| Some((base, start.strip_prefix(*short)?)));
        let (base, infix) = found.unwrap_or((0, start));
        LongPrefix { base, infix: infix.to_vec() }
    }

    /// Appends the prefix, padded.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.infix.len() as u16 + 1).to_le_bytes());
        out.push(self.base);
        out.extend_from_slice(&self.infix);
        out.resize(out.len().next_multiple_of(4), 0);
    }
}

/// Returns the key of a name for its entry: with the first long prefix that the name has, or else `key`. `key`: of [`key_of`].
pub(crate) fn shortened<'k>(key: &'k [u8], long: &[LongPrefix]) -> Cow<'k, [u8]> {
    let (prefix, name) = key.split_first().map_or((0, key), |(prefix, name)| (*prefix, name));
    let rest_after = |long: &LongPrefix| {
        let rest = name.strip_prefix(long.infix.as_slice()).filter(|_| long.base == prefix && !long.infix.is_empty());
        rest.filter(|rest| !rest.is_empty())
    };
    let found = (LONG..=u8::MAX).zip(long).find_map(|(number, long)| Some((number, rest_after(long)?)));
    found.map_or(Cow::Borrowed(key), |(number, rest)| Cow::Owned([&[number], rest].concat()))
}

/// Start of a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NamePrefix {
    /// The name is not a name of the file system. It starts with the infix of a long prefix, if it has one.
    Internal(Vec<u8>),
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
            Some(_) if base == 0 => NamePrefix::Internal(infix.to_vec()),
            Some(short) => NamePrefix::Name([*short, infix].concat()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_their_prefix() {
        assert_eq!(key_of(b"user.a"), Some(b"\x01a".to_vec()));
        assert_eq!(key_of(b"security.ima"), Some(b"\x06ima".to_vec()));
        assert_eq!(key_of(b"system.posix_acl_access"), Some(b"\x02".to_vec()));
        assert_eq!(key_of(b"system.posix_acl_default"), Some(b"\x03".to_vec()));
        let longest = [&b"trusted."[..], &[b'n'; 255]].concat();
        assert_eq!(key_of(&longest).map(|key| key.len()), Some(256));
        for name in
            [&b"user."[..], b"user", b"", b"system.x", b"system.posix_acl_access2", &[&longest[..], b"n"].concat()]
        {
            assert_eq!(key_of(name), None, "{}", name.escape_ascii());
        }
    }

    #[test]
    fn decodes_what_it_encodes() {
        for (name, value) in [(&b"user.a"[..], &b"bc"[..]), (b"system.posix_acl_access", b""), (b"security.abcd", b"1")]
        {
            let key = key_of(name).unwrap();
            let mut out = vec![7];
            put_entry(&mut out, &key, value);
            let header = EntryHeader::decode(*out[1..].first_chunk().unwrap());
            assert_eq!(header.bytes(), entry_bytes(&key, value));
            assert_eq!(out.len() as u64 - 1, header.bytes());
            let NamePrefix::Name(prefix) = header.prefix(&[]) else { panic!("no name") };
            let (rest, found) = out[5..].split_at(header.name.into());
            assert_eq!([&prefix, rest].concat(), name);
            assert_eq!(&found[..header.value.into()], value);
        }
    }

    #[test]
    fn filters_have_zeros_for_names() {
        // The hash of the kernel for "user." and an empty name with the seed is that of xxhash for no bytes.
        let filter = |names: &[&[u8]]| {
            let keys: Vec<_> = names.iter().map(|name| key_of(name).unwrap()).collect();
            let header = header(keys.iter().map(Vec::as_slice), 3);
            assert_eq!(header[4..], [3, 0, 0, 0, 0, 0, 0, 0]);
            u32::from_le_bytes(*header.first_chunk().unwrap())
        };
        assert_eq!(filter(&[]), u32::MAX);
        let one = filter(&[b"user.a"]);
        let other = filter(&[b"trusted.b"]);
        assert_eq!((one.count_zeros(), other.count_zeros()), (1, 1));
        assert_eq!(filter(&[b"user.a", b"trusted.b"]), one & other);
    }

    #[test]
    fn long_prefixes_make_names_shorter() {
        let starts: [&[u8]; 4] = [b"user.", b"trusted.overlay.", b"trusted.", b"unknown."];
        let long = starts.map(LongPrefix::new);
        assert_eq!(long.each_ref().map(|long| long.base), [1, 4, 4, 0]);
        for (name, expected) in [
            (&b"trusted.overlay.opaque"[..], &b"\x81opaque"[..]),
            (b"trusted.overlay.", b"\x04overlay."),
            (b"user.overlay.a", b"\x01overlay.a"),
            (b"trusted.over", b"\x04over"),
            (b"system.posix_acl_access", b"\x02"),
        ] {
            let key = key_of(name).unwrap();
            let short = shortened(&key, &long);
            assert_eq!(&short[..], expected, "{}", name.escape_ascii());
            let NamePrefix::Name(prefix) = EntryHeader { name: 0, prefix: short[0], value: 0 }.prefix(&long) else {
                panic!("no name")
            };
            assert_eq!([&prefix, &short[1..]].concat(), name);
        }
        let mut table = Vec::new();
        long[..2].iter().for_each(|long| long.encode(&mut table));
        assert_eq!(table, b"\x01\0\x01\0\x09\0\x04overlay.\0");
    }

    #[test]
    fn joins_short_and_long_prefixes() {
        let long = [LongPrefix { base: 4, infix: b"overlay.".to_vec() }, LongPrefix { base: 0, infix: b"x".to_vec() }];
        let prefix = |number| EntryHeader { name: 1, prefix: number, value: 0 }.prefix(&long);
        assert_eq!(prefix(1), NamePrefix::Name(b"user.".to_vec()));
        assert_eq!(prefix(0x80), NamePrefix::Name(b"trusted.overlay.".to_vec()));
        assert_eq!(prefix(0x81), NamePrefix::Internal(b"x".to_vec()));
        assert_eq!(prefix(0), NamePrefix::Internal(Vec::new()));
        assert_eq!(prefix(7), NamePrefix::Unknown);
        assert_eq!(prefix(0x82), NamePrefix::Unknown);
    }
}
