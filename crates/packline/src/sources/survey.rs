//! Estimates the content of a directory during a pack, for the progress bar only.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use packline_tree::{Bytes, DirectoryOptions, Kind, MountPoints, Symlinks};

/// Bytes of content below `root` that a pack with these options reads, holes included. Unreadable entries are skipped: the pack reports
/// them. Memory holds the directories still to be visited, and the inode numbers of files with several names.
pub fn survey(root: &Path, options: &DirectoryOptions) -> u64 {
    if options.symlinks != Symlinks::Kept {
        return survey_followed(root, options);
    }
    let device = fs::metadata(root).ok().map(|found| found.dev());
    let mut survey = Survey { options, device, seen: BTreeSet::new(), bytes: 0 };
    let mut waiting = vec![(root.to_path_buf(), Bytes::new())];
    while let Some((directory, path)) = waiting.pop() {
        survey.visit(&directory, &path, &mut waiting);
    }
    survey.bytes
}

/// As [`survey`], where links that lead back must be found. Memory holds all entries.
fn survey_followed(root: &Path, options: &DirectoryOptions) -> u64 {
    let mut options = options.clone();
    options.xattrs = false;
    let entries = packline_tree::scan(root, options, &mut |_| {}).unwrap_or_default();
    let size = |kind: &Kind| if let Kind::File { size } = kind { *size } else { 0 };
    entries.iter().map(|(entry, _)| size(&entry.kind)).fold(0, u64::saturating_add)
}

struct Survey<'a> {
    options: &'a DirectoryOptions,
    device: Option<u64>,
    seen: BTreeSet<(u64, u64)>,
    bytes: u64,
}

impl Survey<'_> {
    fn visit(&mut self, directory: &Path, path: &[u8], waiting: &mut Vec<(PathBuf, Bytes)>) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let below = join(path, entry.file_name().as_bytes());
            let Ok(found) = entry.metadata() else { continue };
            let left_out = self.options.passes_over(&below)
                || self.options.excludes(&below, found.is_dir())
                || self.options.without_inodes.contains(&(found.dev(), found.ino()));
            if left_out || self.is_elsewhere(&found) {
                continue;
            }
            if found.is_dir() {
                waiting.push((entry.path(), below));
            } else if found.is_file() && self.is_new(&found) {
                self.bytes += found.len();
            }
        }
    }

    fn is_elsewhere(&self, found: &Metadata) -> bool {
        self.options.mount_points != MountPoints::Enter && self.device.is_some_and(|device| device != found.dev())
    }

    fn is_new(&mut self, found: &Metadata) -> bool {
        !self.options.hard_links || found.nlink() == 1 || self.seen.insert((found.dev(), found.ino()))
    }
}

fn join(path: &[u8], name: &[u8]) -> Bytes {
    if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dry_runs_count_entries() {
        let top = tempfile::tempdir().unwrap();
        let inner = top.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("file"), [1; 1000]).unwrap();
        fs::hard_link(inner.join("file"), top.path().join("link")).unwrap();
        fs::write(top.path().join("left-out.o"), [1; 50]).unwrap();
        std::os::unix::fs::symlink("link", top.path().join("symlink")).unwrap();
        let mut options = DirectoryOptions::default();
        options.excludes.add(b"*.o").unwrap();
        assert_eq!(survey(top.path(), &options), 1000);
        options.hard_links = false;
        assert_eq!(survey(top.path(), &options), 2000);
        options.excludes.add(b"/a").unwrap();
        assert_eq!(survey(top.path(), &options), 1000);
        assert_eq!(survey(&top.path().join("none"), &options), 0);
    }
}
