//! PAX extended headers: `LENGTH KEY=VALUE\n` records that replace or extend header fields.
//!
//! Format: POSIX.1-2017 `pax`, "pax Extended Header". The vendors' keys are from the GNU tar manual, star(5) and tar(5).

use packline_tree::{Bytes, Time, Xattr};

use super::escape;
use super::number;
use super::sparse::{Map, Segment};

/// Values of records. Later records replace earlier ones.
#[derive(Debug, Default, Clone)]
pub(super) struct Pax {
    pub path: Option<Bytes>,
    pub link: Option<Bytes>,
    pub size: Option<u64>,
    pub uid: Option<u64>,
    pub gid: Option<u64>,
    pub mtime: Option<Time>,
    /// Size of star's sparse file including holes.
    pub real_size: Option<u64>,
    pub user: Option<Bytes>,
    pub group: Option<Bytes>,
    pub major: Option<u64>,
    pub minor: Option<u64>,
    /// In the order of the records. Names may repeat.
    pub xattrs: Vec<Xattr>,
    /// The SELinux context of GNU tar's `--selinux`.
    pub selinux: Option<Bytes>,
    /// Whether there is a POSIX or NFSv4 ACL that says more than the permissions. It is not read.
    pub has_acl: bool,
    pub sparse: Sparse,
    /// Set for a part of a multi-volume archive that starts in the middle of a file.
    pub volume_offset: Option<u64>,
}

/// The `GNU.sparse.` records.
#[derive(Debug, Default, Clone)]
pub(super) struct Sparse {
    pub name: Option<Bytes>,
    pub major: Option<u64>,
    pub minor: Option<u64>,
    /// Size including holes: `size` in 0.0 and 0.1, `realsize` in 1.0.
    pub size: Option<u64>,
    /// The map in 0.0 and 0.1.
    pub map: Map,
    offset: Option<u64>,
}

/// An invalid record: its offset, the fault, and the expected value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RecordFault {
    /// Offset from the start of the records in bytes.
    pub at: usize,
    pub what: String,
    pub expected: String,
}

/// An invalid record whose fault loses no content, and what the reader does instead of failing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mended {
    pub fault: RecordFault,
    pub instead: String,
}

/// The fault of a value, and the expected value.
type ValueFault = (String, String);

impl Pax {
    /// Applies all records of one header. A global header (`global`) describes no file, so its sparse records are ignored.
    /// Returns the invalid times: if an invalid time begins with a number, this number is used; any other is ignored if
    /// `lenient`.
    pub fn apply(&mut self, records: &[u8], global: bool, lenient: bool) -> Result<Vec<Mended>, RecordFault> {
        let mut at = 0;
        let mut mended = Vec::new();
        while at < records.len() {
            let record = split_record(&records[at..]).map_err(|(what, expected)| RecordFault {
                at,
                what,
                expected: expected.into(),
            })?;
            let describes = !global || !record.key.starts_with(b"GNU.sparse.");
            let set = if describes { self.set(record.key, record.value) } else { Ok(()) };
            match set.map_err(|(what, expected)| RecordFault { at, what, expected }) {
                Err(fault) if record.key == b"mtime" => mended.push(self.mend_time(record.value, fault, lenient)?),
                set => set?,
            }
            at += record.length;
        }
        Ok(mended)
    }

    /// Uses the number at the start of an invalid time.
    fn mend_time(&mut self, value: &[u8], fault: RecordFault, lenient: bool) -> Result<Mended, RecordFault> {
        match number::leading_time(value) {
            Some(time) => {
                self.mtime = Some(time);
                Ok(Mended { fault, instead: format!("the time is set to {time}") })
            }
            None if lenient => Ok(Mended { fault, instead: "the record is ignored".to_string() }),
            None => Err(fault),
        }
    }

    /// Sorts the attributes by name and keeps the last attribute of each name.
    pub fn settle_xattrs(&mut self) {
        if self.xattrs.len() > 1 {
            self.xattrs.reverse();
            self.xattrs.sort_by(|one, other| one.name.cmp(&other.name));
            self.xattrs.dedup_by(|earlier, last| earlier.name == last.name);
        }
    }

    /// Total bytes of the attributes.
    pub fn xattr_bytes(&self) -> u64 {
        self.xattrs.iter().map(|xattr| (xattr.name.len() + xattr.value.len()) as u64).sum()
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), ValueFault> {
        match key {
            b"path" => self.path = text(value),
            b"linkpath" => self.link = text(value),
            b"size" => self.size = decimal(key, value)?,
            b"uid" => self.uid = decimal(key, value)?,
            b"gid" => self.gid = decimal(key, value)?,
            b"mtime" => self.mtime = time(value)?,
            b"uname" => self.user = text(value),
            b"gname" => self.group = text(value),
            b"SCHILY.realsize" => self.real_size = decimal(key, value)?,
            b"SCHILY.devmajor" => self.major = decimal(key, value)?,
            b"SCHILY.devminor" => self.minor = decimal(key, value)?,
            b"RHT.security.selinux" => self.selinux = text(value),
            b"GNU.volume.offset" => self.volume_offset = decimal(key, value)?,
            _ => self.set_prefixed(key, value)?,
        }
        Ok(())
    }

    fn set_prefixed(&mut self, key: &[u8], value: &[u8]) -> Result<(), ValueFault> {
        if let Some(name) = key.strip_prefix(b"SCHILY.xattr.") {
            self.push_xattr(escape::schily_name(name), value.to_vec())
        } else if let Some(name) = key.strip_prefix(b"LIBARCHIVE.xattr.") {
            let plain = escape::base64(value)
                .ok_or_else(|| (format!("value of {} is not base64", show(key)), "base64 text".to_owned()))?;
            self.push_xattr(escape::url_name(name), plain)
        } else if let Some(name) = key.strip_prefix(b"GNU.sparse.") {
            self.sparse.set(name, value)
        } else {
            self.has_acl |= key.strip_prefix(b"SCHILY.acl.").is_some_and(|form| is_more_than_mode(form, value));
            // Ignored: comment, hdrcharset (bytes stay bytes), atime, ctime, SCHILY.dev, SCHILY.ino and others.
            Ok(())
        }
    }

    fn push_xattr(&mut self, name: Bytes, value: Bytes) -> Result<(), ValueFault> {
        if name.is_empty() || name.contains(&0) {
            return Err((format!("attribute name '{}'", show(&name)), "a nonempty name without NUL".into()));
        }
        self.xattrs.push(Xattr { name, value });
        Ok(())
    }
}

impl Sparse {
    fn set(&mut self, name: &[u8], value: &[u8]) -> Result<(), ValueFault> {
        match name {
            b"name" => self.name = text(value),
            b"major" => self.major = decimal(b"GNU.sparse.major", value)?,
            b"minor" => self.minor = decimal(b"GNU.sparse.minor", value)?,
            b"size" | b"realsize" => self.size = decimal(b"GNU.sparse.size", value)?,
            b"numblocks" => self.map = Map::default(),
            b"offset" => self.offset = decimal(b"GNU.sparse.offset", value)?,
            b"numbytes" => self.push_length(value)?,
            b"map" => self.read_map(value)?,
            _ => {}
        }
        Ok(())
    }

    fn push_length(&mut self, value: &[u8]) -> Result<(), ValueFault> {
        let length = decimal(b"GNU.sparse.numbytes", value)?;
        let (Some(offset), Some(length)) = (self.offset.take(), length) else {
            return Err((
                "GNU.sparse.numbytes without GNU.sparse.offset".into(),
                "the offset before the length".into(),
            ));
        };
        self.map.push(Segment { offset, length })
    }

    fn read_map(&mut self, value: &[u8]) -> Result<(), ValueFault> {
        self.map = Map::default();
        let mut numbers = value.split(|&byte| byte == b',').filter(|_| !value.is_empty());
        while let Some(offset) = numbers.next() {
            let length = numbers.next().unwrap_or_default();
            let (Some(offset), Some(length)) = (number::decimal(offset), number::decimal(length)) else {
                return Err(("GNU.sparse.map is not a list of pairs".into(), "OFFSET,LENGTH,... in decimal".into()));
            };
            self.map.push(Segment { offset, length })?;
        }
        Ok(())
    }
}

/// One record: its complete length, its key and its value.
struct Record<'a> {
    length: usize,
    key: &'a [u8],
    value: &'a [u8],
}

fn split_record(bytes: &[u8]) -> Result<Record<'_>, (String, &'static str)> {
    let expected = "LENGTH KEY=VALUE and a newline";
    let digits = bytes.iter().take(20).position(|byte| !byte.is_ascii_digit()).unwrap_or(0);
    let length = number::decimal(&bytes[..digits]).filter(|_| bytes[digits] == b' ');
    let Some(length) = length else {
        return Err(("extended header record without a length".into(), expected));
    };
    if length > bytes.len() as u64 || length as usize <= digits + 1 {
        let what = format!("extended header record of {length} bytes where {} are left", bytes.len());
        return Err((what, "a length that ends within the header"));
    }
    let length = length as usize;
    let Some(body) = bytes[digits + 1..length].strip_suffix(b"\n") else {
        return Err((format!("extended header record of {length} bytes does not end in a newline"), expected));
    };
    let Some(equals) = memchr::memchr(b'=', body).filter(|&at| at > 0) else {
        return Err(("extended header record without KEY=".into(), expected));
    };
    Ok(Record { length, key: &body[..equals], value: &body[equals + 1..] })
}

/// Whether an ACL, as text, says more than the permissions of a file. An access ACL without named users and groups does not.
fn is_more_than_mode(form: &[u8], acl: &[u8]) -> bool {
    let of_mode: [&[u8]; 3] = [b"user::", b"group::", b"other::"];
    let mut entries = acl.split(|byte| b",\n".contains(byte)).map(<[u8]>::trim_ascii).filter(|entry| !entry.is_empty());
    entries.any(|entry| form != b"access" || !of_mode.iter().any(|start| entry.starts_with(start)))
}

/// An empty value cancels an earlier record or a global header (POSIX).
fn text(value: &[u8]) -> Option<Bytes> {
    (!value.is_empty()).then(|| value.to_vec())
}

fn decimal(key: &[u8], value: &[u8]) -> Result<Option<u64>, ValueFault> {
    if value.is_empty() {
        return Ok(None);
    }
    let unusable = || (format!("{} is '{}'", show(key), show(value)), "a decimal number below 2^63".to_owned());
    number::decimal(value).map(Some).ok_or_else(unusable)
}

fn time(value: &[u8]) -> Result<Option<Time>, ValueFault> {
    if value.is_empty() {
        return Ok(None);
    }
    let unusable = || (format!("mtime is '{}'", show(value)), "seconds, with or without a fraction".to_owned());
    number::time(value).map(Some).ok_or_else(unusable)
}

/// The start of a key or value, for a one-line message.
fn show(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(64)];
    let more = if head.len() < bytes.len() { "..." } else { "" };
    format!("{}{more}", head.escape_ascii())
}

#[cfg(test)]
#[path = "pax_tests.rs"]
mod tests;
