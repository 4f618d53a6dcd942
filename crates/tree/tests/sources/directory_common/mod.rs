//! Shared by the tests of directories: reads a source to its end, and a slow plain walk for comparison.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use packline_tree::{Device, DirectoryOptions, DirectorySource, Entry, Error, Extent, Kind, Meta, Source, Time, Xattr};

/// Entries, each with its content if it is a regular file.
pub type Contents = Vec<(Entry, Option<Vec<u8>>)>;

pub fn options(readers: usize) -> DirectoryOptions {
    DirectoryOptions::new(readers)
}

/// All entries and contents of a source, read with a buffer of `buffer` bytes; attributes sorted by name.
pub fn drain(source: &mut impl Source, buffer: usize) -> Result<Contents, Error> {
    let mut all = Vec::new();
    while let Some(mut entry) = source.next_entry()? {
        entry.xattrs.sort();
        let content = match entry.kind {
            Kind::File { size } => Some(content(source, size, buffer)?),
            _ => None,
        };
        all.push((entry, content));
    }
    Ok(all)
}

fn content(source: &mut impl Source, size: u64, buffer: usize) -> Result<Vec<u8>, Error> {
    let mut content = Vec::new();
    let mut buffer = vec![0xaa; buffer];
    loop {
        match source.read(&mut buffer)? {
            Extent::Data(count) => {
                assert!(count > 0);
                content.extend_from_slice(&buffer[..count]);
            }
            Extent::Hole(count) => {
                assert!(count > 0);
                content.resize(content.len() + count as usize, 0);
            }
            Extent::End => {
                assert_eq!(content.len() as u64, size);
                return Ok(content);
            }
        }
    }
}

/// The directory, read with the standard library alone.
pub fn walk(root: &Path) -> Contents {
    let mut all = Vec::new();
    let mut first = std::collections::BTreeMap::new();
    visit(root, b"", &mut first, &mut all);
    all
}

fn visit(root: &Path, path: &[u8], first: &mut std::collections::BTreeMap<(u64, u64), Vec<u8>>, all: &mut Contents) {
    let host = if path.is_empty() { root.to_owned() } else { root.join(OsStr::from_bytes(path)) };
    let stat = fs::symlink_metadata(&host).unwrap();
    let meta =
        Meta { mode: (stat.mode() & 0o7777) as u16, uid: stat.uid(), gid: stat.gid(), mtime: Time::of_metadata(&stat) };
    let id = (stat.dev(), stat.ino());
    if !stat.is_dir() && stat.nlink() > 1 {
        if let Some(target) = first.get(&id) {
            let kind = Kind::HardLink(target.clone());
            all.push((Entry { path: path.to_vec(), kind, meta, xattrs: vec![] }, None));
            return;
        }
        first.insert(id, path.to_vec());
    }
    let content = stat.is_file().then(|| fs::read(&host).unwrap());
    all.push((Entry { path: path.to_vec(), kind: kind(&host, &stat), meta, xattrs: xattrs(&host) }, content));
    if stat.is_dir() {
        let mut names: Vec<Vec<u8>> =
            fs::read_dir(&host).unwrap().map(|entry| entry.unwrap().file_name().into_vec()).collect();
        names.sort();
        for name in names {
            let below = if path.is_empty() { name } else { [path, &name].join(&b'/') };
            visit(root, &below, first, all);
        }
    }
}

fn kind(host: &Path, stat: &fs::Metadata) -> Kind {
    let device = Device { major: rustix::fs::major(stat.rdev()), minor: rustix::fs::minor(stat.rdev()) };
    let kind = stat.file_type();
    if kind.is_dir() {
        Kind::Dir
    } else if kind.is_file() {
        Kind::File { size: stat.size() }
    } else if kind.is_symlink() {
        Kind::Symlink(fs::read_link(host).unwrap().into_os_string().into_vec())
    } else if kind.is_block_device() {
        Kind::BlockDevice(device)
    } else if kind.is_char_device() {
        Kind::CharDevice(device)
    } else if kind.is_fifo() {
        Kind::Fifo
    } else {
        Kind::Socket
    }
}

fn xattrs(host: &Path) -> Vec<Xattr> {
    let mut names = vec![0; 65_536];
    let count = rustix::fs::llistxattr(host, &mut names[..]).unwrap();
    let mut all: Vec<Xattr> =
        names[..count].split(|&byte| byte == 0).filter(|name| !name.is_empty()).map(|name| xattr(host, name)).collect();
    all.sort();
    all
}

fn xattr(host: &Path, name: &[u8]) -> Xattr {
    let mut value = vec![0; 65_536];
    let count = rustix::fs::lgetxattr(host, name, &mut value[..]).unwrap();
    Xattr { name: name.to_vec(), value: value[..count].to_vec() }
}

pub fn read(root: &Path, options: DirectoryOptions) -> Contents {
    drain(&mut DirectorySource::open(root, options).unwrap(), 100_000).unwrap()
}

pub fn paths(contents: &Contents) -> Vec<String> {
    contents.iter().map(|(entry, _)| String::from_utf8(entry.path.clone()).unwrap()).collect()
}
