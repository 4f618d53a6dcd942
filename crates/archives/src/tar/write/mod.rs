//! Formats the headers of tars, without any output.
//!
//! The format is POSIX ustar (POSIX.1-2017 `pax`, "ustar Interchange Format"). An extended header precedes an entry only if ustar
//! is too small for it: long names and targets, large numbers, times before 1970, fractions of a second, extended attributes
//! (`SCHILY.xattr.`, with names escaped as in GNU tar), holes (GNU sparse format 1.0, GNU tar manual, "PAX Format, Version 1.0").
//! Names are bytes, but records must be UTF-8: a long name that is not UTF-8 is written as GNU tar's `L` or `K` entry, which every
//! reader reads as bytes. Owners are numbers. The names of users and groups are empty, because an image has none.

mod header;
mod records;
mod sparse;

use packline_tree::{Bytes, Device, Entry, Kind, Meta, Xattr};

use super::header::BLOCK;
use header::Header;
use records::Records;
pub use sparse::{MapSegment, MapShape};

/// Archives end at a multiple of this number of bytes: 20 blocks, as every archiver writes and some tape readers require.
pub const RECORD_BYTES: u64 = 10_240;
/// Largest number of 7 octal digits: owners, groups, device numbers.
const SEVEN_DIGITS: u64 = 0o777_7777;
/// Largest number of 11 octal digits: sizes and times.
const ELEVEN_DIGITS: u64 = 0o777_7777_7777;
/// The name of extended headers, which readers with support for them ignore.
const RECORDS_NAME: &[u8] = b"././@PaxHeader";
/// The name of GNU tar's entries for long names.
const LONG_NAME: &[u8] = b"././@LongLink";
/// Directory of sparse files if a reader without sparse support extracts them.
const SPARSE_DIRECTORY: &[u8] = b"GNUSparseFile.0/";

/// Why an entry, or a part of it, cannot be stored in a tar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unstorable {
    /// A socket. Tars have no type for sockets.
    #[error("a tar cannot hold a socket")]
    Socket,
    /// The file exceeds the largest size that readers support.
    #[error("a tar cannot hold a file of {0} bytes (expected at most 9223372036854775807)")]
    Size(u64),
    /// An attribute's name is empty or contains a NUL byte. No file system accepts such names.
    #[error("a tar cannot hold an extended attribute called '{}' (expected a nonempty name without NUL)", .0.escape_ascii())]
    Xattr(Bytes),
}

/// Formats headers, and keeps their buffers.
#[derive(Debug)]
pub struct TarWriter {
    prefix: Bytes,
    name: Bytes,
    records: Records,
    /// Entries for long names that are not UTF-8.
    longs: Bytes,
}

impl TarWriter {
    /// A writer that adds `prefix` (empty, or ending in a slash) before every path and before every target of a hard link.
    /// Without a prefix the root is `./`.
    pub fn new(prefix: impl Into<Bytes>) -> TarWriter {
        TarWriter { prefix: prefix.into(), name: Bytes::new(), records: Records::default(), longs: Bytes::new() }
    }

    /// Appends the header of an entry to `out`. The content of a file must follow, with the entry's size, and then [`padding`].
    ///
    /// # Errors
    /// [`Unstorable`]. `out` is then unchanged.
    pub fn entry(&mut self, out: &mut Vec<u8>, entry: &Entry) -> Result<(), Unstorable> {
        let size = match entry.kind {
            Kind::File { size } => size,
            _ => 0,
        };
        let kind = type_of(&entry.kind)?;
        self.begin(entry)?;
        let mut header = Header::new(kind);
        self.place(&mut header);
        self.target(&mut header, &entry.kind);
        self.size(&mut header, size)?;
        self.finish(out, header, entry)
    }

    /// Appends the header of a file with holes. [`MapShape::stored_bytes`] bytes must follow: the map (made by [`MapShape`]) and
    /// the content of its segments; and then [`padding`].
    ///
    /// # Errors
    /// [`Unstorable`]. `out` is then unchanged.
    pub fn sparse_file(
        &mut self,
        out: &mut Vec<u8>,
        entry: &Entry,
        size: u64,
        shape: &MapShape,
    ) -> Result<(), Unstorable> {
        check_size(size)?;
        self.begin(entry)?;
        let mut header = Header::new(b'0');
        self.sparse_place(&mut header, size);
        self.size(&mut header, shape.stored_bytes())?;
        self.finish(out, header, entry)
    }

    /// The name in the archive.
    fn begin(&mut self, entry: &Entry) -> Result<(), Unstorable> {
        check_xattrs(&entry.xattrs)?;
        self.records.clear();
        self.longs.clear();
        self.name.clear();
        self.name.extend_from_slice(&self.prefix);
        self.name.extend_from_slice(&entry.path);
        if self.name.is_empty() {
            self.name.push(b'.');
        }
        if entry.kind == Kind::Dir && !self.name.ends_with(b"/") {
            self.name.push(b'/');
        }
        Ok(())
    }

    fn place(&mut self, header: &mut Header) {
        if !header.place(&self.name) {
            header.cut_place(&self.name);
            match std::str::from_utf8(&self.name) {
                Ok(_) => self.records.push(b"path", &self.name),
                Err(_) => put_long(&mut self.longs, b'L', &self.name),
            }
        }
    }

    fn sparse_place(&mut self, header: &mut Header, size: u64) {
        let last = self.name.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        header.cut_place(&[SPARSE_DIRECTORY, &self.name[last..]].concat());
        self.records.push(b"GNU.sparse.major", b"1");
        self.records.push(b"GNU.sparse.minor", b"0");
        self.records.name(b"GNU.sparse.name", &self.name);
        self.records.number(b"GNU.sparse.realsize", size);
    }

    fn target(&mut self, header: &mut Header, kind: &Kind) {
        let target = match kind {
            Kind::Symlink(target) => std::borrow::Cow::from(target),
            Kind::HardLink(target) => [&self.prefix[..], target].concat().into(),
            Kind::BlockDevice(device) | Kind::CharDevice(device) => return self.device(header, *device),
            _ => return,
        };
        if !header.link(&target) {
            match std::str::from_utf8(&target) {
                Ok(_) => self.records.push(b"linkpath", &target),
                Err(_) => put_long(&mut self.longs, b'K', &target),
            }
        }
    }

    fn device(&mut self, header: &mut Header, device: Device) {
        let major = u64::from(device.major);
        let minor = u64::from(device.minor);
        header.device(self.small(b"SCHILY.devmajor", major), self.small(b"SCHILY.devminor", minor));
    }

    fn size(&mut self, header: &mut Header, size: u64) -> Result<(), Unstorable> {
        check_size(size)?;
        if size > ELEVEN_DIGITS {
            self.records.number(b"size", size);
        } else {
            header.size(size);
        }
        Ok(())
    }

    /// A number of at most 7 octal digits. A larger number goes into a record, and the header has 0.
    fn small(&mut self, key: &[u8], number: u64) -> u64 {
        if number > SEVEN_DIGITS {
            self.records.number(key, number);
            return 0;
        }
        number
    }

    fn meta(&mut self, header: &mut Header, meta: &Meta) {
        let uid = self.small(b"uid", meta.uid.into());
        let gid = self.small(b"gid", meta.gid.into());
        header.owner(meta.mode, uid, gid);
        let seconds = u64::try_from(meta.mtime.seconds()).ok().filter(|&seconds| seconds <= ELEVEN_DIGITS);
        header.mtime(seconds.unwrap_or(0));
        if seconds.is_none() || meta.mtime.nanoseconds() > 0 {
            self.records.push(b"mtime", meta.mtime.to_string().as_bytes());
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>, mut header: Header, entry: &Entry) -> Result<(), Unstorable> {
        self.meta(&mut header, &entry.meta);
        if !matches!(entry.kind, Kind::HardLink(_)) {
            entry.xattrs.iter().for_each(|xattr| self.records.xattr(xattr));
        }
        out.extend_from_slice(&self.longs);
        if !self.records.is_empty() {
            self.extended(out);
        }
        header.append_to(out);
        Ok(())
    }

    fn extended(&mut self, out: &mut Vec<u8>) {
        let length = self.records.length();
        let mut header = Header::new(b'x');
        header.place(RECORDS_NAME);
        header.owner(0o644, 0, 0);
        header.size(length);
        header.append_to(out);
        self.records.append_to(out);
        out.resize(out.len() + padding(length), 0);
    }
}

/// An entry of GNU tar with the name (`L`) or the target (`K`) of the next entry, ended by a NUL (GNU tar manual, "Basic Tar
/// Format").
fn put_long(out: &mut Vec<u8>, kind: u8, name: &[u8]) {
    let length = name.len() as u64 + 1;
    let mut header = Header::new(kind);
    header.place(LONG_NAME);
    header.size(length);
    header.append_to(out);
    out.extend_from_slice(name);
    out.resize(out.len() + 1 + padding(length), 0);
}

fn type_of(kind: &Kind) -> Result<u8, Unstorable> {
    Ok(match kind {
        Kind::File { .. } => b'0',
        Kind::HardLink(_) => b'1',
        Kind::Symlink(_) => b'2',
        Kind::CharDevice(_) => b'3',
        Kind::BlockDevice(_) => b'4',
        Kind::Dir => b'5',
        Kind::Fifo => b'6',
        Kind::Socket => return Err(Unstorable::Socket),
    })
}

fn check_size(size: u64) -> Result<(), Unstorable> {
    if size > i64::MAX as u64 { Err(Unstorable::Size(size)) } else { Ok(()) }
}

fn check_xattrs(xattrs: &[Xattr]) -> Result<(), Unstorable> {
    let unusable = |xattr: &&Xattr| !is_xattr_name(&xattr.name);
    xattrs.iter().find(unusable).map_or(Ok(()), |xattr| Err(Unstorable::Xattr(xattr.name.clone())))
}

/// Whether an attribute of this name can be stored.
pub fn is_xattr_name(name: &[u8]) -> bool {
    !name.is_empty() && !name.contains(&0)
}

/// Zeros after `size` bytes of content, 0 to 511.
pub fn padding(size: u64) -> usize {
    (size.wrapping_neg() % BLOCK as u64) as usize
}

/// Zeros that end an archive of `length` bytes (a multiple of 512): at least two blocks, up to a multiple of [`RECORD_BYTES`].
pub fn end_of_archive(length: u64) -> usize {
    let least = 2 * BLOCK as u64;
    (least + (RECORD_BYTES - (length + least) % RECORD_BYTES) % RECORD_BYTES) as usize
}

#[cfg(test)]
mod tests;
