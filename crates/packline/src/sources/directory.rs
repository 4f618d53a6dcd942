//! Directories as sources, alone and next to each other.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use packline_archives::Layer;
use packline_runtime::escape::Escape;
use packline_runtime::memory::Demand;
use packline_tree::{Bytes, DirectoryOptions, DirectorySource, ListedDirectory, Meta, Symlinks};

use super::directories::{ConcatenatedDirectories, ListedPart, Part};
use super::planned::{OpenSource, Opening, PLAIN, PlannedSource, Share};
use super::source::joined;
use crate::error::Error;

/// Minimum read-ahead in bytes of a directory's readers.
const AHEAD_LEAST: usize = 128 << 10;

/// A directory that becomes the root.
pub(super) struct DirectoryPlan {
    pub(super) path: PathBuf,
    pub(super) options: DirectoryOptions,
}

impl DirectoryPlan {
    fn grant(&mut self, share: &Share) {
        self.options.ahead_bytes = ahead(&self.options, share.spare);
    }
}

impl PlannedSource for DirectoryPlan {
    fn demand(&self, _limit: Option<u64>) -> Demand {
        Demand::fixed(memory(&self.options, AHEAD_LEAST))
    }

    fn memory(&self, share: &Share) -> u64 {
        memory(&self.options, ahead(&self.options, share.spare))
    }

    fn each_directory(&mut self, work: &mut dyn FnMut(&Path, &mut DirectoryOptions)) {
        work(&self.path, &mut self.options);
    }

    fn open(mut self: Box<Self>, share: &Share, _opening: &Opening<'_>) -> Result<OpenSource, Error> {
        self.grant(share);
        let source = DirectorySource::open(&self.path, self.options)?;
        Ok(OpenSource::new(self.path.escaped(), Box::new(source)))
    }

    fn open_layer(mut self: Box<Self>, share: &Share, _opening: &Opening<'_>) -> Result<Layer, Error> {
        self.grant(share);
        let source = ListedDirectory::open(&self.path, self.options)?;
        Ok(Layer { name: self.path.escaped(), source: Box::new(source) })
    }
}

/// Directories and entries of directories below a new root. They are read one after another, so that the largest decides the memory.
pub(super) struct DirectoriesPlan {
    pub(super) parts: Vec<Part>,
    /// Attributes of the root.
    pub(super) root: Meta,
}

impl DirectoriesPlan {
    fn largest(&self, memory: impl Fn(&DirectoryOptions) -> u64) -> u64 {
        self.parts.iter().map(|part| memory(&part.options)).max().unwrap_or(PLAIN)
    }

    fn grant(&mut self, share: &Share) {
        for part in &mut self.parts {
            part.options.ahead_bytes = ahead(&part.options, share.spare);
        }
    }
}

impl PlannedSource for DirectoriesPlan {
    fn demand(&self, _limit: Option<u64>) -> Demand {
        Demand::fixed(self.largest(|options| memory(options, AHEAD_LEAST)))
    }

    fn memory(&self, share: &Share) -> u64 {
        self.largest(|options| memory(options, ahead(options, share.spare)))
    }

    fn each_directory(&mut self, work: &mut dyn FnMut(&Path, &mut DirectoryOptions)) {
        for part in &mut self.parts {
            work(&part.directory, &mut part.options);
        }
    }

    fn open(mut self: Box<Self>, share: &Share, _opening: &Opening<'_>) -> Result<OpenSource, Error> {
        self.grant(share);
        let name = joined(self.parts.iter().map(|part| part.to.escaped()));
        Ok(OpenSource::new(name, Box::new(ConcatenatedDirectories::new(self.parts, self.root))))
    }

    /// A stack has a layer for each part.
    fn open_layer(mut self: Box<Self>, share: &Share, _opening: &Opening<'_>) -> Result<Layer, Error> {
        self.grant(share);
        let several = |_| Error::Request {
            what: "a layer of several directories".to_string(),
            expected: "a layer for each directory".to_string(),
        };
        let [part] = <[_; 1]>::try_from(self.parts).map_err(several)?;
        let name = part.directory.escaped();
        Ok(Layer { name, source: Box::new(ListedPart::open(part)?) })
    }
}

/// Bytes that a directory's readers may read ahead.
fn ahead(options: &DirectoryOptions, spare: u64) -> usize {
    let granted = (AHEAD_LEAST as u64).saturating_add(spare / 8);
    options.ahead_bytes.min(usize::try_from(granted).unwrap_or(usize::MAX)).max(AHEAD_LEAST)
}

/// Memory of a directory source whose readers read `ahead` bytes ahead.
fn memory(options: &DirectoryOptions, ahead: usize) -> u64 {
    PLAIN + if options.readers == 0 { 0 } else { ahead as u64 }
}

/// Leaves an output out of a directory: by its path in the directory, and, if symbolic links may lead to the output, by its inode number.
pub(crate) fn leave_out(output: &Path, directory: &Path, options: &mut DirectoryOptions) {
    options.without.extend(place_within(directory, output));
    if options.symlinks != Symlinks::Kept {
        options.without_inodes.extend(fs::metadata(output).ok().map(|found| (found.dev(), found.ino())));
    }
}

/// Returns the canonical path of `output` below `source`, if the output is inside the source. The image must not contain itself.
fn place_within(source: &Path, output: &Path) -> Option<Bytes> {
    let source = fs::canonicalize(source).ok()?;
    let name = output.file_name()?;
    let directory = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let output = fs::canonicalize(directory).ok()?.join(name);
    Some(output.strip_prefix(&source).ok()?.as_os_str().as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_an_output_inside_its_source() {
        let top = tempfile::tempdir().unwrap();
        let inner = top.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        assert_eq!(place_within(top.path(), &inner.join("o")), Some(b"a/b/o".to_vec()));
        assert_eq!(place_within(&inner, &inner.join("../b/./o")), Some(b"o".to_vec()));
        assert_eq!(place_within(&inner, &top.path().join("o")), None);
        assert_eq!(place_within(&inner, &top.path().join("none/o")), None);
    }
}
