//! One member of the archive: combines the header, long names and PAX records into an entry.

use packline_runtime::escape::Escape;
use packline_tree::path::{self, PathFault};
use packline_tree::{Bytes, Device, Entry, Error, Kind, Meta, Time, Xattr};

use super::fault::ErrorPosition;
use super::header::Header;
use super::number;
use super::pax::Pax;

/// All data of one member, before validation.
pub(super) struct Member<'a> {
    /// The member's own header.
    pub header: &'a Header,
    pub pax: Pax,
    /// The raw name, for messages and for the path.
    pub name: Bytes,
    /// The name from a GNU `K` record.
    pub long_link: Option<Bytes>,
    pub input: &'a str,
    /// Offset of the header in bytes.
    pub offset: u64,
}

/// The name: from a PAX sparse record, a PAX path record, a GNU `L` record, or the header, in this order.
pub(super) fn choose_name(header: &Header, pax: &mut Pax, long: Option<Bytes>) -> Bytes {
    pax.sparse.name.take().or_else(|| pax.path.take()).or(long).unwrap_or_else(|| header.name())
}

impl Member<'_> {
    /// The entry: a regular file if `size` is given; if not, of the header's type.
    pub fn into_entry(mut self, file: Option<u64>) -> Result<Entry, Error> {
        let path = self.path()?;
        let kind = match file {
            Some(size) => Kind::File { size },
            None => self.kind()?,
        };
        if path.is_empty() && kind != Kind::Dir {
            return Err(self.malformed("the root of the tree is not a directory", "type 5 for ./"));
        }
        let meta = self.meta()?;
        Ok(Entry { path, kind, meta, xattrs: xattrs(&mut self.pax) })
    }

    /// The stored size, from the PAX record or the header.
    pub fn stored_size(&self) -> Result<u64, Error> {
        match self.pax.size {
            Some(size) => Ok(size),
            None => self.size_field(self.header.slice(124, 12)),
        }
    }

    /// The header's size field, in any form, for a type without content.
    pub fn loose_size(&self) -> u64 {
        let field = number::field(self.header.slice(124, 12)).and_then(|size| u64::try_from(size).ok());
        self.pax.size.or(field).unwrap_or(0)
    }

    fn size_field(&self, field: &[u8]) -> Result<u64, Error> {
        let size = self.number("size", field)?;
        u64::try_from(size).map_err(|_| self.malformed(format!("size {size}"), "a size that is not negative"))
    }

    /// True if the name ends in a slash but the type is a regular file: this was the form of directories before ustar.
    pub fn is_old_directory(&self) -> bool {
        self.name.ends_with(b"/")
    }

    pub fn malformed(&self, what: impl Into<String>, expected: impl Into<String>) -> Error {
        ErrorPosition { input: self.input, entry: &self.name, offset: self.offset }.malformed(what, expected)
    }

    fn path(&self) -> Result<Bytes, Error> {
        path::canonical(&self.name).map_err(|fault| self.malformed(fault.to_string(), fault.expected()))
    }

    fn kind(&mut self) -> Result<Kind, Error> {
        Ok(match self.header.kind() {
            b'1' => Kind::HardLink(self.link_to()?),
            b'2' => Kind::Symlink(self.target()?),
            b'3' => Kind::CharDevice(self.device()?),
            b'4' => Kind::BlockDevice(self.device()?),
            b'6' => Kind::Fifo,
            _ => Kind::Dir,
        })
    }

    fn raw_link(&mut self) -> Bytes {
        self.pax.link.take().or_else(|| self.long_link.take()).unwrap_or_else(|| self.header.link())
    }

    fn link_to(&mut self) -> Result<Bytes, Error> {
        let raw = self.raw_link();
        let error = |fault: PathFault| {
            let what = format!("hard link to '{}': {fault}", raw[..raw.len().min(256)].escaped());
            self.malformed(what, fault.expected())
        };
        path::canonical(&raw).map_err(error)
    }

    fn target(&mut self) -> Result<Bytes, Error> {
        let target = self.raw_link();
        let wrong = |what: String| Err(self.malformed(what, "a target of 1 to 65535 bytes without NUL"));
        match target.len() {
            0 => wrong("symbolic link to nothing".into()),
            length if length > path::MAX_TARGET => wrong(format!("symbolic link to a target of {length} bytes")),
            _ if target.contains(&0) => wrong("symbolic link to a target with a NUL byte".into()),
            _ => Ok(target),
        }
    }

    fn device(&self) -> Result<Device, Error> {
        let major = self.device_part("device major number", self.pax.major, 329)?;
        let minor = self.device_part("device minor number", self.pax.minor, 337)?;
        Ok(Device { major, minor })
    }

    fn device_part(&self, what: &str, record: Option<u64>, at: usize) -> Result<u32, Error> {
        self.narrow(what, record, self.header.slice(at, 8))
    }

    fn meta(&self) -> Result<Meta, Error> {
        let mode = self.number("mode", self.header.slice(100, 8))? & 0o7777;
        let mtime = match self.pax.mtime {
            Some(mtime) => mtime,
            None => Time::from_seconds(self.number("mtime", self.header.slice(136, 12))?),
        };
        Ok(Meta {
            mode: mode as u16,
            uid: self.narrow("uid", self.pax.uid, self.header.slice(108, 8))?,
            gid: self.narrow("gid", self.pax.gid, self.header.slice(116, 8))?,
            mtime,
        })
    }

    /// A number of 32 bits, from its PAX record or its field.
    fn narrow(&self, what: &str, record: Option<u64>, field: &[u8]) -> Result<u32, Error> {
        let value = match record {
            Some(value) => value as i64,
            None => self.number(what, field)?,
        };
        u32::try_from(value).map_err(|_| self.malformed(format!("{what} {value}"), "0 to 4294967295"))
    }

    fn number(&self, what: &str, field: &[u8]) -> Result<i64, Error> {
        let unusable = || {
            let what = format!("{what} field '{}' is not a number", field.escape_ascii());
            self.malformed(what, "octal digits, or base-256 within 64 bits")
        };
        number::field(field).ok_or_else(unusable)
    }
}

/// The attributes, each name once. The SELinux context of `--selinux` is text; the kernel's attribute has a NUL at the end. If
/// that attribute was recorded too, it has priority.
fn xattrs(pax: &mut Pax) -> Vec<Xattr> {
    if let Some(mut value) = pax.selinux.take() {
        value.push(0);
        pax.xattrs.insert(0, Xattr { name: b"security.selinux".to_vec(), value });
    }
    pax.settle_xattrs();
    std::mem::take(&mut pax.xattrs)
}
