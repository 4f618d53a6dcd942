//! Visits every entry of a tree: with the contents of files, or only with the attributes.

use super::named;
use std::fs::{DirEntry, File};
use std::io::Read;
use std::path::Path;

/// Bytes of a read, as cat(1) reads.
const READ_BYTES: usize = 128 << 10;

/// What a visit has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub entries: u64,
    /// Bytes of the contents of regular files.
    pub bytes: u64,
}

/// Reads the contents of all regular files in the order of the directories.
pub fn read(root: &Path) -> Result<Tally, String> {
    let mut buffer = vec![0; READ_BYTES];
    visit(root, &mut |entry| {
        if entry.file_type()?.is_file() { read_file(&entry.path(), &mut buffer) } else { Ok(0) }
    })
}

/// Reads the attributes of all entries, as `find -ls` does.
pub fn list(root: &Path) -> Result<Tally, String> {
    visit(root, &mut |entry| {
        let about = entry.metadata()?;
        Ok(if about.is_file() { about.len() } else { 0 })
    })
}

/// Calls `bytes_of` with each entry below a directory.
fn visit(root: &Path, bytes_of: &mut dyn FnMut(&DirEntry) -> std::io::Result<u64>) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let mut pending = vec![root.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(&directory).map_err(named(&directory))? {
            let entry = entry.map_err(named(&directory))?;
            let path = entry.path();
            tally.entries += 1;
            tally.bytes += bytes_of(&entry).map_err(named(&path))?;
            if entry.file_type().map_err(named(&path))?.is_dir() {
                pending.push(path);
            }
        }
    }
    Ok(tally)
}

fn read_file(path: &Path, buffer: &mut [u8]) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    let mut bytes = 0;
    loop {
        match file.read(buffer)? {
            0 => return Ok(bytes),
            count => bytes += count as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_visits_count_the_same() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("a/b")).unwrap();
        std::fs::write(place.path().join("a/b/file"), vec![1; READ_BYTES + 1]).unwrap();
        std::os::unix::fs::symlink("b/file", place.path().join("a/link")).unwrap();
        let tally = Tally { entries: 4, bytes: READ_BYTES as u64 + 1 };
        assert_eq!(read(place.path()).unwrap(), tally);
        assert_eq!(list(place.path()).unwrap(), tally);
    }
}
