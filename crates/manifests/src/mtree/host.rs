//! The file of the host that belongs to an entry. It has the content, and the attributes that the manifest does not have.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use packline_tree::text::{TextLine, quote};
use packline_tree::{Bytes, Device, Error};

use super::keywords::{Keywords, Type};

pub(super) struct HostEntry {
    pub path: PathBuf,
    pub found: Option<Metadata>,
}

impl HostEntry {
    /// Looks for the file of an entry, if the entry needs one.
    pub fn find(place: TextLine<'_>, base: &Path, path: &[u8], keywords: &Keywords) -> Result<HostEntry, Error> {
        let below = keywords.contents.as_deref().unwrap_or(path);
        let path = if below.is_empty() { base.join(".") } else { base.join(OsStr::from_bytes(below)) };
        if is_complete(keywords) {
            return Ok(HostEntry { path, found: None });
        }
        // The path of a content may be a link to it.
        let follow = keywords.kind == Some(Type::File);
        match if follow { fs::metadata(&path) } else { fs::symlink_metadata(&path) } {
            Ok(found) => Ok(HostEntry { path, found: Some(found) }),
            Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(HostEntry { path, found: None })
            }
            Err(cause) => Err(refused(place, &path, &cause.to_string(), "a file that can be read")),
        }
    }

    /// The type of the file, if it exists.
    pub fn kind(&self) -> Option<Type> {
        let kind = self.found.as_ref()?.file_type();
        Some(if kind.is_dir() {
            Type::Dir
        } else if kind.is_symlink() {
            Type::Link
        } else if kind.is_block_device() {
            Type::Block
        } else if kind.is_char_device() {
            Type::Char
        } else if kind.is_fifo() {
            Type::Fifo
        } else if kind.is_socket() {
            Type::Socket
        } else {
            Type::File
        })
    }

    /// The attributes of the file, if it has this type.
    pub fn attributes_of(&self, kind: Type) -> Option<&Metadata> {
        self.found.as_ref().filter(|_| self.kind() == Some(kind))
    }

    /// The size of a regular file's content.
    pub fn size(&self, place: TextLine<'_>, keywords: &Keywords) -> Result<u64, Error> {
        let found = match self.attributes_of(Type::File) {
            Some(found) => found.len(),
            // An empty entry needs no file.
            None if keywords.size == Some(0) && self.found.is_none() => return Ok(0),
            None if self.found.is_some() => {
                return Err(refused(
                    place,
                    &self.path,
                    "is not a regular file",
                    "a regular file, for the content of type=file",
                ));
            }
            None => return Err(self.missing(place, "contents= and the path of a file, or size=0")),
        };
        match keywords.size.filter(|&size| size != found) {
            Some(size) => {
                let what = format!("has {found} bytes, but size={size} is given");
                Err(refused(place, &self.path, &what, "a content of this size"))
            }
            None => Ok(found),
        }
    }

    /// The target of a symbolic link of the host.
    pub fn target(&self, place: TextLine<'_>) -> Result<Bytes, Error> {
        match self.attributes_of(Type::Link) {
            Some(_) => {
                let unreadable = |cause: io::Error| refused(place, &self.path, &cause.to_string(), "a symbolic link");
                let target = fs::read_link(&self.path).map_err(unreadable)?;
                Ok(target.as_os_str().as_bytes().to_vec())
            }
            None => Err(place.error("type=link without a target", "link= and the target")),
        }
    }

    /// The number of a device of the host.
    pub fn device(&self, place: TextLine<'_>, kind: Type) -> Result<Device, Error> {
        let missing = || place.error("a device without a number", "device=FORMAT,MAJOR,MINOR");
        let number = self.attributes_of(kind).map(MetadataExt::rdev).ok_or_else(missing)?;
        Ok(Device { major: rustix::fs::major(number), minor: rustix::fs::minor(number) })
    }

    /// The error if a required file is missing.
    pub fn missing(&self, place: TextLine<'_>, expected: &str) -> Error {
        refused(place, &self.path, "does not exist", expected)
    }
}

/// Whether the manifest has all attributes, so that the entry needs no file.
fn is_complete(keywords: &Keywords) -> bool {
    let Keywords { kind, mode, uid, gid, time, link, device, nlink, unchanged, .. } = keywords;
    let has_attributes = match kind {
        Some(Type::File) | None => false,
        Some(Type::Link) => link.is_some(),
        Some(Type::Block | Type::Char) => device.is_some(),
        Some(Type::Dir | Type::Fifo | Type::Socket) => true,
    };
    // The inode number of the file shows which names belong to the same file.
    let linked = nlink.is_some_and(|names| names > 1) && *kind != Some(Type::Dir);
    has_attributes && !linked && !unchanged && mode.is_some() && uid.id().and(gid.id()).is_some() && time.is_some()
}

fn refused(place: TextLine<'_>, path: &Path, what: &str, expected: &str) -> Error {
    place.error(format!("{} {what}", quote(path.as_os_str().as_bytes())), expected)
}
