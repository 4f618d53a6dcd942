//! The identity of files, so that no output replaces its own input, and the state of files, so that no changed file is removed
//! or replaced.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::escape::Escape;

/// The identity of a regular file or a block device, the same for all its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileIdentity(Identity);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    Regular { device: u64, inode: u64 },
    BlockDevice { number: u64 },
}

impl FileIdentity {
    /// The file at a path, with links followed. `None` if it does not exist or is of another kind (a directory, a pipe, a terminal).
    pub fn of_path(path: &Path) -> Option<FileIdentity> {
        fs::metadata(path).ok().and_then(|about| FileIdentity::of(&about))
    }

    pub fn of_descriptor(descriptor: impl AsFd) -> Option<FileIdentity> {
        let file = File::from(descriptor.as_fd().try_clone_to_owned().ok()?);
        FileIdentity::of(&file.metadata().ok()?)
    }

    pub fn of(about: &Metadata) -> Option<FileIdentity> {
        let kind = about.file_type();
        if kind.is_block_device() {
            return Some(FileIdentity(Identity::BlockDevice { number: about.rdev() }));
        }
        kind.is_file().then(|| FileIdentity(Identity::Regular { device: about.dev(), inode: about.ino() }))
    }

    /// `None` for a block device.
    pub fn device_and_inode(self) -> Option<(u64, u64)> {
        match self.0 {
            Identity::Regular { device, inode } => Some((device, inode)),
            Identity::BlockDevice { .. } => None,
        }
    }

    /// Fails if `output` is a path to this file. Messages call this file `input`.
    pub fn refuse_output(self, input: &Path, output: &Path) -> Result<(), Error> {
        if FileIdentity::of_path(output) != Some(self) {
            return Ok(());
        }
        let expected = format!("another output than {}", input.escaped());
        Err(Error::target(output, "is the input itself", expected))
    }
}

/// The bits of a mode that have the type of the file, and their value for a regular file.
const FILE_TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

/// The state of a file at one moment: its identity, its size, its mode, and the times of its content and its inode. A write, a rename over
/// the file and a change of its attributes change the stamp; reading does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    mode: u32,
}

impl FileStamp {
    pub fn of(about: &Metadata) -> FileStamp {
        FileStamp {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
            mode: about.mode(),
        }
    }

    /// The stamp of the file at a path, with links followed.
    pub fn of_path(path: &Path) -> io::Result<FileStamp> {
        fs::metadata(path).map(|about| FileStamp::of(&about))
    }

    /// Whether size and time of the content are equal.
    pub fn has_content_of(&self, other: &FileStamp) -> bool {
        (self.size, self.modified) == (other.size, other.modified)
    }

    /// Whether it is a regular file that a user may execute.
    pub fn is_executable(&self) -> bool {
        self.mode & FILE_TYPE == REGULAR && self.mode & 0o111 != 0
    }

    /// Whether the path leads to the same, unchanged file.
    pub fn is_at(&self, path: &Path) -> bool {
        FileStamp::of_path(path).is_ok_and(|found| found == *self)
    }
}

/// Fails if the output is the same file as the input, under any name.
pub fn must_differ(input: &Path, output: &Path) -> Result<(), Error> {
    FileIdentity::of_path(input).map_or(Ok(()), |identity| identity.refuse_output(input, output))
}

/// Fails if any output is the same file as any input.
pub fn all_must_differ(inputs: &[PathBuf], outputs: impl IntoIterator<Item = PathBuf>) -> Result<(), Error> {
    let known = inputs.iter().filter_map(|input| Some((FileIdentity::of_path(input)?, input)));
    let known: BTreeMap<FileIdentity, &PathBuf> = known.collect();
    for output in outputs {
        let input = FileIdentity::of_path(&output).and_then(|identity| known.get_key_value(&identity));
        input.map_or(Ok(()), |(identity, input)| identity.refuse_output(input, &output))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_by_every_name() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::write(at("file"), "content").unwrap();
        fs::write(at("other"), "content").unwrap();
        fs::hard_link(at("file"), at("hard")).unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        for name in ["file", "hard", "link"] {
            let refused = must_differ(&at("file"), &at(name)).unwrap_err().to_string();
            assert!(refused.contains("is the input itself") && refused.contains(name), "{refused}");
        }
        for name in ["other", "none", "."] {
            must_differ(&at("file"), &at(name)).unwrap();
        }
        let open = File::open(at("link")).unwrap();
        assert_eq!(FileIdentity::of_descriptor(&open), FileIdentity::of_path(&at("hard")));
    }

    #[test]
    fn the_stamp_detects_writes_and_replacements() {
        let top = tempfile::tempdir().unwrap();
        let (path, other) = (top.path().join("file"), top.path().join("other"));
        fs::write(&path, "before").unwrap();
        let stamp = FileStamp::of_path(&path).unwrap();
        assert!(stamp.is_at(&path) && !stamp.is_at(&other));
        // The clock of some file systems ticks every 4 ms.
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(&path, "behind").unwrap();
        assert!(!stamp.is_at(&path));
        let stamp = FileStamp::of_path(&path).unwrap();
        fs::write(&other, "behind").unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(!stamp.is_at(&path));
    }

    #[test]
    fn devices_and_directories_have_no_identity() {
        for path in ["/dev/null", "/", "/none"] {
            assert_eq!(FileIdentity::of_path(Path::new(path)), None, "{path}");
            must_differ(Path::new(path), Path::new(path)).unwrap();
        }
    }
}
