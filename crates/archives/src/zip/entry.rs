//! An entry of the central directory.

use packline_tree::path::canonical;
use packline_tree::{Bytes, Entry, Error, Kind, Meta};

use super::content::Method;
use super::extra::{WIDE, dos_time, field, owners, time};
use super::{ZipFile, names, u16_at, u32_at, u64_at};

/// Bytes of a header in the central directory without its name, extra fields and comment.
pub(super) const HEADER: usize = 46;
pub(super) const MAGIC: &[u8] = b"PK\x01\x02";
/// Bytes of a local header without its name and extra fields.
pub(super) const LOCAL: usize = 30;

/// The flags of encrypted contents, strong encryption and encrypted headers.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
/// Attributes of MS-DOS.
const READ_ONLY: u32 = 1;
const DIRECTORY: u32 = 1 << 4;

/// The kind of system that made an entry, which decides what its attributes mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Host {
    Unix,
    Windows,
    Other,
}

impl Host {
    fn of(number: u8) -> Host {
        match number {
            // Unix, macOS.
            3 | 19 => Host::Unix,
            // MS-DOS, NTFS, VFAT.
            0 | 10 | 14 => Host::Windows,
            _ => Host::Other,
        }
    }
}

/// The kind of an entry. The target of a symbolic link is its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemberKind {
    File,
    Dir,
    Symlink,
    Fifo,
    Socket,
    /// A device, whose numbers are not stored.
    Device,
}

/// An entry of the central directory.
pub(super) struct Member {
    /// The name before a slash at its start is removed.
    pub raw: Bytes,
    pub path: Bytes,
    pub kind: MemberKind,
    pub meta: Meta,
    pub content: Location,
}

/// Where a content is, and what it must be.
#[derive(Debug, Clone)]
pub(super) struct Location {
    /// The name as it is stored, which the local header repeats.
    pub name: Bytes,
    /// Offset of the local header.
    pub local: u64,
    pub method: Method,
    pub flags: u16,
    pub crc: u32,
    /// Bytes in the archive.
    pub stored: u64,
    /// Bytes of the content.
    pub size: u64,
}

impl Location {
    /// Offset of the end of the content if the local header has no extra fields: it does not end before.
    pub fn least_end(&self) -> u64 {
        (self.local.saturating_add((LOCAL + self.name.len()) as u64)).saturating_add(self.stored)
    }
}

impl Member {
    /// Reads the header at offset `at` of the archive, with its name and its extra fields.
    ///
    /// # Errors
    /// [`Error::Malformed`] for an entry that is not valid or cannot be read.
    pub fn parse(header: &[u8], at: u64, file: &ZipFile) -> Result<Member, Error> {
        let (name, rest) = header[HEADER..].split_at(u16_at(header, 28).into());
        let extra = &rest[..u16_at(header, 30).into()];
        let fault = |what: String, expected: &str| file.malformed(name, at, what, expected);
        let flags = u16_at(header, 8);
        if flags & ENCRYPTED != 0 {
            return Err(fault("encrypted content".into(), "an archive that is not encrypted"));
        }
        let number = u16_at(header, 10);
        let method = Method::of(number, flags).map_err(|what| fault(what, Method::KNOWN))?;
        let [size, stored, local] = sizes(header, extra).ok_or_else(|| {
            fault("an extra field of 64 bits is missing or too short".into(), "the numbers that the header refers to")
        })?;
        let host = Host::of(header[5]);
        let raw = names::path(name, flags, host, extra);
        let path = canonical(&raw).map_err(|wrong| fault(wrong.to_string(), wrong.expected()))?;
        let attributes = u32_at(header, 38);
        let kind = kind(&raw, host, attributes);
        if path.is_empty() && kind != MemberKind::Dir {
            return Err(fault("the root of the tree is not a directory".into(), "./ for a directory"));
        }
        if size > 0 && !matches!(kind, MemberKind::File | MemberKind::Symlink) {
            return Err(fault(format!("{size} bytes of content of an entry that is not a file"), "no content"));
        }
        let owners = owners(extra).map_err(|()| fault("an owner of more than 32 bits".into(), "0 to 4294967295"))?;
        let (uid, gid) = owners.unwrap_or_default();
        let mtime = time(extra).unwrap_or_else(|| dos_time(u16_at(header, 14), u16_at(header, 12)));
        let meta = Meta { mode: mode(kind, host, attributes), uid, gid, mtime };
        let crc = u32_at(header, 16);
        let content = Location { name: name.to_vec(), local, method, flags, crc, stored, size };
        Ok(Member { raw, path, kind, meta, content })
    }

    /// The entry; `target` is that of a symbolic link. `None` for a device.
    pub fn entry(&self, target: Bytes) -> Option<Entry> {
        let kind = match self.kind {
            MemberKind::File => Kind::File { size: self.content.size },
            MemberKind::Dir => Kind::Dir,
            MemberKind::Symlink => Kind::Symlink(target),
            MemberKind::Fifo => Kind::Fifo,
            MemberKind::Socket => Kind::Socket,
            MemberKind::Device => return None,
        };
        Some(Entry { path: self.path.clone(), kind, meta: self.meta, xattrs: Vec::new() })
    }
}

/// The size, the stored size, and the offset of the local header. An extra field has those that need 64 bits. `None` if it does not.
fn sizes(header: &[u8], extra: &[u8]) -> Option<[u64; 3]> {
    let mut wide = field(extra, WIDE).unwrap_or_default();
    let mut number = |at: usize| {
        let short = u32_at(header, at);
        if short != u32::MAX {
            return Some(short.into());
        }
        let (first, rest) = wide.split_at_checked(8)?;
        wide = rest;
        Some(u64_at(first, 0))
    };
    Some([number(24)?, number(20)?, number(42)?])
}

fn kind(path: &[u8], host: Host, attributes: u32) -> MemberKind {
    if path.ends_with(b"/") {
        return MemberKind::Dir;
    }
    match (host, attributes >> 28) {
        (Host::Unix, 0o01) => MemberKind::Fifo,
        (Host::Unix, 0o02 | 0o06) => MemberKind::Device,
        (Host::Unix, 0o04) => MemberKind::Dir,
        (Host::Unix, 0o12) => MemberKind::Symlink,
        (Host::Unix, 0o14) => MemberKind::Socket,
        (Host::Unix, _) => MemberKind::File,
        _ if attributes & DIRECTORY != 0 => MemberKind::Dir,
        _ => MemberKind::File,
    }
}

/// Permissions: of Unix if there are any, or usual ones.
fn mode(kind: MemberKind, host: Host, attributes: u32) -> u16 {
    let stored = (attributes >> 16) as u16;
    match (host, kind) {
        (Host::Unix, _) if stored != 0 => stored & 0o7777,
        (_, MemberKind::Dir) => 0o755,
        _ if attributes & READ_ONLY != 0 => 0o444,
        _ => 0o644,
    }
}
