//! The entry of a definition before it has a path, and how it is built from a file of the host.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use packline_tree::XattrReader;
use packline_tree::text::{TextLine, quote};
use packline_tree::{Device, Error, Kind, Meta, Time, Xattr};

use super::Position;
use super::content::Content;

pub(super) struct NewEntry {
    pub kind: Kind,
    pub meta: Meta,
    pub xattrs: Vec<Xattr>,
    pub content: Option<Content>,
    /// Device and inode number of a file of the host.
    pub id: Option<(u64, u64)>,
}

impl NewEntry {
    pub fn new(kind: Kind, meta: Meta) -> NewEntry {
        NewEntry { kind, meta, xattrs: Vec::new(), content: None, id: None }
    }

    /// Returns the kind, attributes and content of a file of the host. A symbolic link is followed if `follow`.
    pub fn from_host(
        place: TextLine<'_>,
        position: Position,
        path: &[u8],
        follow: bool,
        xattrs: &mut XattrReader,
    ) -> Result<NewEntry, Error> {
        let host = Path::new(OsStr::from_bytes(path));
        let refused = |cause| no_host(place, path, cause);
        let found = about_host(path, follow).map_err(refused)?;
        let Some(kind) = kind(host, &found).map_err(refused)? else {
            return Err(place.error(format!("{} is a directory", quote(path)), "anything but a directory"));
        };
        let mode = (found.mode() & 0o7777) as u16;
        let meta = Meta { mode, uid: found.uid(), gid: found.gid(), mtime: Time::of_metadata(&found) };
        let mut made = NewEntry { id: Some((found.dev(), found.ino())), ..NewEntry::new(kind, meta) };
        if let Kind::File { size } = made.kind {
            let file = File::open(host).map_err(refused)?;
            made.xattrs = xattrs.of_file(&file, host)?;
            made.content = Some(Content::whole(file, size, position));
        }
        Ok(made)
    }
}

/// Fails if a file of the host does not exist. The check runs when the definition is read, long before the file is packed.
pub(super) fn check_host(place: TextLine<'_>, path: &[u8], follow: bool) -> Result<(), Error> {
    about_host(path, follow).map(drop).map_err(|cause| no_host(place, path, cause))
}

fn about_host(path: &[u8], follow: bool) -> io::Result<Metadata> {
    let host = Path::new(OsStr::from_bytes(path));
    if follow { fs::metadata(host) } else { fs::symlink_metadata(host) }
}

fn no_host(place: TextLine<'_>, path: &[u8], cause: io::Error) -> Error {
    place.error(format!("{}: {cause}", quote(path)), "a file of the host that can be read")
}

/// The kind of a file of the host; `None` for a directory.
fn kind(path: &Path, found: &Metadata) -> io::Result<Option<Kind>> {
    let device = || Device { major: rustix::fs::major(found.rdev()), minor: rustix::fs::minor(found.rdev()) };
    let kind = found.file_type();
    Ok(Some(if kind.is_dir() {
        return Ok(None);
    } else if kind.is_symlink() {
        Kind::Symlink(fs::read_link(path)?.as_os_str().as_bytes().to_vec())
    } else if kind.is_block_device() {
        Kind::BlockDevice(device())
    } else if kind.is_char_device() {
        Kind::CharDevice(device())
    } else if kind.is_fifo() {
        Kind::Fifo
    } else if kind.is_socket() {
        Kind::Socket
    } else {
        Kind::File { size: found.len() }
    }))
}
