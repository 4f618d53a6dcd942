//! Extracts differing files below a directory. Never follows links or leaves the directory.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use packline_runtime::escape::Escape;
use packline_volume::{FileData, Missing, Piece, UnitDecoder};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::planner::file_of;
use super::side::{Node, Side};
use super::stream::{next_data, next_hole, open_file};
use crate::{Error, FileIdentity, OpenedImage};

/// Bytes copied at a time.
const BUFFER: usize = 128 << 10;

/// Destination of the files of both trees.
pub(super) struct Extraction {
    place: PathBuf,
    old: Copier,
    new: Copier,
}

/// Copies files of one tree.
struct Copier {
    side: Side,
    decoder: Option<Box<dyn UnitDecoder>>,
    /// `old` or `new`.
    name: &'static str,
    top: OwnedFd,
    /// The compared images, which must not be replaced.
    kept: Vec<FileIdentity>,
    buffer: Vec<u8>,
}

impl Extraction {
    /// Creates the directory `place` if it is missing.
    pub(super) fn new(place: &Path, old: &Side, new: &Side) -> Result<Extraction, Error> {
        refuse_trees(place, [old, new])?;
        let opened = || -> io::Result<(OwnedFd, OwnedFd)> {
            fs::create_dir_all(place)?;
            let top: OwnedFd = File::open(place)?.into();
            let again = top.try_clone()?;
            Ok((top, again))
        };
        let (for_old, for_new) = opened().map_err(|cause| refused(place, cause))?;
        let images = [old, new].into_iter().filter_map(|side| side.image()?.identity());
        let kept: Vec<FileIdentity> = images.collect();
        let old = Copier::new(old, "old", for_old, kept.clone())?;
        Ok(Extraction { place: place.to_path_buf(), old, new: Copier::new(new, "new", for_new, kept)? })
    }

    /// Extracts the regular files at `path`.
    pub(super) fn put(&mut self, path: &[u8], old: Option<&Node>, new: Option<&Node>) -> Result<(), Error> {
        for (copier, node) in [(&mut self.old, old), (&mut self.new, new)] {
            if let Some(node) = node {
                copier.copy(&self.place, path, node)?;
            }
        }
        Ok(())
    }
}

/// Returns an error for an extraction into a compared directory, or over one.
fn refuse_trees(place: &Path, sides: [&Side; 2]) -> Result<(), Error> {
    let Ok(place) = fs::canonicalize(place) else { return Ok(()) };
    let trees = sides.into_iter().filter_map(|side| if let Side::Directory(root) = side { Some(root) } else { None });
    for tree in trees.filter_map(|tree| fs::canonicalize(tree).ok()) {
        let own = ["old", "new"].map(|name| place.join(name));
        if own.iter().any(|own| own.starts_with(&tree) || tree.starts_with(own)) {
            let what = format!("files extracted there would change {}, which is compared", tree.escaped());
            return Err(Error::Target { path: place, what, expected: "another directory".to_string() });
        }
    }
    Ok(())
}

fn refused(place: &Path, cause: io::Error) -> Error {
    Error::Output { path: place.to_path_buf(), action: "cannot extract", cause }
}

impl Copier {
    fn new(side: &Side, name: &'static str, top: OwnedFd, kept: Vec<FileIdentity>) -> Result<Copier, Error> {
        let decoder = side.image().map(|image| image.volume.decoder().map_err(|cause| image.fault(cause)));
        Ok(Copier { side: side.clone(), decoder: decoder.transpose()?, name, top, kept, buffer: Vec::new() })
    }

    fn copy(&mut self, place: &Path, path: &[u8], node: &Node) -> Result<(), Error> {
        let display_path =
            place.join(self.name).join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path));
        let mut file =
            create_below(&self.top, self.name, path, &self.kept).map_err(|cause| refused(&display_path, cause))?;
        match (self.side.clone(), file_of(node)) {
            (Side::Image(image), Some(content)) => self.decode(&image, path, content, &mut file, &display_path)?,
            _ => self.copy_host(path, node, &mut file).map_err(|cause| refused(&display_path, cause))?,
        }
        file.set_len(node.size).map_err(|cause| refused(&display_path, cause))
    }

    fn decode(
        &mut self,
        image: &OpenedImage,
        path: &[u8],
        content: &FileData,
        file: &mut File,
        display_path: &Path,
    ) -> Result<(), Error> {
        let fault = |cause| image.fault_at(path, cause);
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        let mut at = 0;
        for piece in image.volume.pieces(content, 0) {
            let piece = piece.map_err(|Missing { error, .. }| fault(error))?;
            let start = match piece {
                Piece::Hole { .. } => None,
                Piece::Own { unit, start, .. } => {
                    decoder.own(unit, &mut self.buffer).map_err(fault)?;
                    Some(start as usize)
                }
                Piece::Shared { place, length } => {
                    let unit = image.volume.shared_unit(place.unit).map_err(fault)?;
                    decoder.shared(unit, &mut self.buffer).map_err(fault)?;
                    let start = place.offset as usize;
                    let found = self.buffer.len();
                    if start.saturating_add(length as usize) > found {
                        return Err(fault(image.volume.shared_fault(unit, place, length as usize, found)));
                    }
                    Some(start)
                }
            };
            if let Some(start) = start {
                let bytes = &self.buffer[start..start + piece.length() as usize];
                write_at(file, at, bytes).map_err(|cause| refused(display_path, cause))?;
            }
            at += piece.length();
        }
        Ok(())
    }

    fn copy_host(&mut self, path: &[u8], node: &Node, out: &mut File) -> io::Result<()> {
        let mut file = open_file(&self.side.host_path(path), node.size)?;
        self.buffer.resize(BUFFER, 0);
        let mut at = next_data(&file, 0, node.size)?;
        while at < node.size {
            let end = next_hole(&file, at, node.size)?;
            io::Seek::seek(&mut file, io::SeekFrom::Start(at))?;
            while at < end {
                let length = (end - at).min(BUFFER as u64) as usize;
                file.read_exact(&mut self.buffer[..length])?;
                write_at(out, at, &self.buffer[..length])?;
                at += length as u64;
            }
            at = next_data(&file, at, node.size)?;
        }
        Ok(())
    }
}

fn write_at(file: &mut File, at: u64, bytes: &[u8]) -> io::Result<()> {
    io::Seek::seek(file, io::SeekFrom::Start(at))?;
    file.write_all(bytes)
}

/// Creates the file at `path` below `top`/`name`, with missing parent directories. Each component is opened relative to its parent without
/// following links. An existing file is replaced, not overwritten.
fn create_below(top: &OwnedFd, name: &str, path: &[u8], kept: &[FileIdentity]) -> io::Result<File> {
    let mut components = path.split(|byte| *byte == b'/');
    let last = components.next_back().unwrap_or_default();
    let mut directory = enter(top, name.as_bytes())?;
    for component in components {
        directory = enter(&directory, component)?;
    }
    let there = rustix::fs::openat(&directory, last, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    let there = there.ok().and_then(FileIdentity::of_descriptor);
    if there.is_some_and(|there| kept.contains(&there)) {
        return Err(io::Error::other("it is an input itself (expected another directory)"));
    }
    match rustix::fs::unlinkat(&directory, last, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(&directory, last, flags, Mode::from_raw_mode(0o644))?.into())
}

/// Opens a subdirectory, and creates it if it is missing.
fn enter(directory: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
    match rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(directory, name, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_link_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let top: OwnedFd = File::open(place.path()).unwrap().into();
        std::os::unix::fs::symlink(outside.path(), place.path().join("old")).unwrap();
        assert!(create_below(&top, "old", b"file", &[]).is_err());
        fs::create_dir(place.path().join("new")).unwrap();
        std::os::unix::fs::symlink(outside.path(), place.path().join("new/d")).unwrap();
        assert!(create_below(&top, "new", b"d/file", &[]).is_err());
        let target = outside.path().join("target");
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, place.path().join("new/f")).unwrap();
        create_below(&top, "new", b"f", &[]).unwrap().write_all(b"new").unwrap();
        assert_eq!(
            (fs::read(&target).unwrap(), fs::read(place.path().join("new/f")).unwrap()),
            (b"kept".to_vec(), b"new".to_vec())
        );
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}
