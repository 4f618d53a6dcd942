//! The entry of a header and a name.

use packline_runtime::escape::Escape;
use packline_tree::path::{self, MAX_TARGET};
use packline_tree::{Bytes, Entry, Kind, Meta, Time};

use super::header::Header;

/// The fault of an entry, and the expected value.
pub(super) type Wrong = (String, &'static str);

/// The bits of a mode that are the type, and the permissions.
const TYPE: u32 = 0o170_000;
const PERMISSIONS: u32 = 0o7777;
const SYMLINK: u32 = 0o120_000;

impl Header {
    /// Whether the content is the target of a symbolic link.
    pub fn is_symlink(&self) -> bool {
        self.mode & TYPE == SYMLINK
    }

    /// The entry. `target` is that of a symbolic link.
    pub fn entry(&self, name: &[u8], target: Bytes) -> Result<Entry, Wrong> {
        let path = path::canonical(name).map_err(|fault| (fault.to_string(), fault.expected()))?;
        let kind = match self.mode & TYPE {
            0o100_000 => Kind::File { size: self.size },
            0o040_000 => Kind::Dir,
            SYMLINK => Kind::Symlink(target),
            0o060_000 => Kind::BlockDevice(self.device),
            0o020_000 => Kind::CharDevice(self.device),
            0o010_000 => Kind::Fifo,
            0o140_000 => Kind::Socket,
            _ => return Err((format!("mode {:o} has no known file type", self.mode), "a file type of POSIX")),
        };
        if path.is_empty() && kind != Kind::Dir {
            return Err(("the root of the tree is not a directory".into(), "a directory for ."));
        }
        let mode = (self.mode & PERMISSIONS) as u16;
        let mtime = Time::from_seconds(self.mtime as i64);
        let meta = Meta { mode, uid: self.uid, gid: self.gid, mtime };
        Ok(Entry { path, kind, meta, xattrs: Vec::new() })
    }

    /// Checks the size of a symbolic link.
    pub fn check_target_size(&self) -> Result<(), Wrong> {
        match self.size {
            0 => Err(("symbolic link to nothing".into(), TARGET)),
            size if size > MAX_TARGET as u64 => Err((format!("symbolic link to a target of {size} bytes"), TARGET)),
            _ => Ok(()),
        }
    }
}

const TARGET: &str = "a target of 1 to 65535 bytes without NUL";

/// The target of a symbolic link. Some programs store a NUL at its end.
pub(super) fn target(mut stored: Bytes) -> Result<Bytes, Wrong> {
    if stored.last() == Some(&0) {
        stored.pop();
    }
    match memchr::memchr(0, &stored) {
        None if !stored.is_empty() => Ok(stored),
        None => Err(("symbolic link to nothing".into(), TARGET)),
        Some(_) => {
            let shown = stored[..stored.len().min(64)].escaped();
            Err((format!("symbolic link to a target with a NUL byte: {shown}"), TARGET))
        }
    }
}

/// The name, without the NUL that ends it.
pub(super) fn name(stored: &[u8]) -> Result<&[u8], Wrong> {
    let unended = || ("a name without a NUL byte at its end".to_string(), "a name, which a NUL byte ends");
    stored.strip_suffix(b"\0").ok_or_else(unended)
}
