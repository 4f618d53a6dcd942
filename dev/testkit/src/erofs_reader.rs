//! Reads EROFS images with erofs-rs, which shares no code with our reader and writer. Its memory is bounded: it decodes one cluster at a time, and
//! the format limits the content of a cluster to 12 MiB.

use crate::model::Bytes;
use crate::snapshot::{self, Attributes, Kind, Snapshot};
use erofs_rs::EroFS;
use erofs_rs::backend::SliceImage;
use erofs_rs::types::{DirentFileType, Inode};
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

/// Most entries that are read of an image.
const ENTRIES: usize = 100_000;
/// Most bytes of content that are read of all files together.
const CONTENT: u64 = 1 << 30;

/// What erofs-rs finds in an image.
#[derive(Debug)]
pub struct Found {
    pub tree: Snapshot,
    /// Modification time of each path: seconds since 1970 and nanoseconds. The times in [`Attributes`] are limited to the range of SquashFS.
    pub times: BTreeMap<Bytes, (i64, u32)>,
    /// Link counts of the directories.
    pub links: BTreeMap<Bytes, u32>,
}

/// Reads the whole tree of an image, which begins at the first byte: all attributes, and all contents.
///
/// # Errors
/// The error of erofs-rs with the path; an entry whose type differs from that of its inode; more than 100,000 entries or 1 GiB of content.
pub fn read(image: &[u8]) -> Result<Found, String> {
    let fs = EroFS::new(SliceImage::new(image)).map_err(|cause| cause.to_string())?;
    let mut walk =
        Walk { fs: &fs, known: BTreeMap::new(), numbers: BTreeMap::new(), left: CONTENT, found: Found::new() };
    let root = fs.get_inode(fs.super_block().root_inode_id()).map_err(|cause| format!("/: {cause}"))?;
    walk.add(Bytes::new(), root)?;
    for entry in fs.walk_dir("/").map_err(|cause| format!("/: {cause}"))? {
        let entry = entry.map_err(|cause| format!("after {} entries: {cause}", walk.numbers.len()))?;
        let path = entry.dir_entry.path().as_bytes().to_vec();
        let path = path.strip_prefix(b"/").unwrap_or(&path).to_vec();
        if !is_type(entry.dir_entry.file_type(), entry.inode.file_type()) {
            let types = (entry.dir_entry.file_type(), entry.inode.file_type());
            return Err(format!("/{}: the entry and its inode have the types {types:?}", path.escape_ascii()));
        }
        walk.add(path, entry.inode)?;
    }
    let Walk { mut found, numbers, .. } = walk;
    snapshot::group(&mut found.tree, |path, _| numbers.get(path).copied());
    Ok(found)
}

impl Found {
    fn new() -> Found {
        Found { tree: Snapshot::new(), times: BTreeMap::new(), links: BTreeMap::new() }
    }
}

struct Walk<'a> {
    fs: &'a EroFS<SliceImage<'a>>,
    /// The attributes of each inode that was read.
    known: BTreeMap<u64, Attributes>,
    /// The inode of each path.
    numbers: BTreeMap<Bytes, u64>,
    /// Bytes of content that may still be read.
    left: u64,
    found: Found,
}

impl Walk<'_> {
    fn add(&mut self, path: Bytes, inode: Inode) -> Result<(), String> {
        let fail = |cause: String| format!("/{}: {cause}", path.escape_ascii());
        if self.numbers.len() == ENTRIES {
            return Err(fail(format!("more than {ENTRIES} entries")));
        }
        let attributes = match self.known.get(&inode.id()) {
            Some(known) => Attributes { first_name: path.clone(), ..known.clone() },
            None => self.attributes(inode, &path).map_err(fail)?,
        };
        self.known.entry(inode.id()).or_insert_with(|| attributes.clone());
        if attributes.kind == Kind::Dir {
            self.found.links.insert(path.clone(), inode.nlink());
        }
        self.found.times.insert(path.clone(), inode.modified_unix());
        if self.found.tree.insert(path.clone(), attributes).is_some() {
            return Err(fail("two entries of this name".into()));
        }
        self.numbers.insert(path, inode.id());
        Ok(())
    }

    fn attributes(&mut self, inode: Inode, path: &[u8]) -> Result<Attributes, String> {
        let kind = self.kind(inode)?;
        Ok(Attributes {
            links: if kind == Kind::Dir { 1 } else { inode.nlink() },
            kind,
            mode: (inode.permissions().mode() & 0o7777) as u16,
            uid: inode.uid(),
            gid: inode.gid(),
            mtime: snapshot::clamp_time(inode.modified_unix().0),
            first_name: path.to_vec(),
            xattrs: self.fs.xattrs_inode(inode).map_err(|cause| format!("attributes: {cause}"))?,
        })
    }

    fn kind(&mut self, inode: Inode) -> Result<Kind, String> {
        let device = || inode.device().ok_or("a device without numbers");
        Ok(match inode.file_type() {
            FileType::RegularFile => self.hash(inode)?,
            FileType::Directory => Kind::Dir,
            FileType::Symlink => {
                let target = self.fs.read_link_inode(inode).map_err(|cause| cause.to_string())?;
                Kind::Symlink(target.as_bytes().to_vec())
            }
            FileType::BlockDevice => device().map(|(major, minor)| Kind::BlockDevice(major, minor))?,
            FileType::CharacterDevice => device().map(|(major, minor)| Kind::CharDevice(major, minor))?,
            FileType::Fifo => Kind::Fifo,
            FileType::Socket => Kind::Socket,
            FileType::Unknown => return Err("unknown file type".into()),
        })
    }

    fn hash(&mut self, inode: Inode) -> Result<Kind, String> {
        let size = inode.data_size();
        self.left = self.left.checked_sub(size).ok_or_else(|| format!("more than {CONTENT} bytes of content"))?;
        let mut file = self.fs.open_inode_file(inode).map_err(|cause| cause.to_string())?;
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 1 << 16];
        let mut read = 0;
        loop {
            match file.read(&mut buffer).map_err(|cause| format!("at byte {read} of {size}: {cause}"))? {
                0 if read == size => return Ok(Kind::File(size, *hasher.finalize().as_bytes())),
                0 => return Err(format!("the content ends at byte {read} of {size}")),
                length => {
                    hasher.update(&buffer[..length]);
                    read += length as u64;
                }
            }
        }
    }
}

fn is_type(entry: DirentFileType, inode: FileType) -> bool {
    let expected = match inode {
        FileType::RegularFile => DirentFileType::RegularFile,
        FileType::Directory => DirentFileType::Directory,
        FileType::Symlink => DirentFileType::Symlink,
        FileType::BlockDevice => DirentFileType::BlockDevice,
        FileType::CharacterDevice => DirentFileType::CharacterDevice,
        FileType::Fifo => DirentFileType::Fifo,
        FileType::Socket => DirentFileType::Socket,
        FileType::Unknown => return false,
    };
    entry == expected
}
