//! Random pages of random files.

use super::named;
use packline_testkit::Random;
use rustix::fs::Advice;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes of a page of the page cache.
pub const PAGE_BYTES: u64 = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Path below the root of the tree.
    pub file: PathBuf,
    /// Offset in the file in bytes, a multiple of [`PAGE_BYTES`].
    pub offset: u64,
    /// Bytes of the file in the page.
    pub length: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadAhead {
    /// The kernel reads only the page and what its cluster needs.
    Off,
    /// The kernel decides.
    AsIs,
}

/// Chooses pages: a random regular file that is not empty, then a random page of it. The same pages for the same tree.
pub fn choose(tree: &Path, count: usize) -> Result<Vec<Page>, String> {
    let mut files: Vec<(PathBuf, u64)> = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(directory) = pending.pop() {
        let place = tree.join(&directory);
        for entry in std::fs::read_dir(&place).map_err(named(&place))? {
            let entry = entry.map_err(named(&place))?;
            let about = entry.metadata().map_err(named(&place))?;
            let path = directory.join(entry.file_name());
            if about.is_dir() {
                pending.push(path);
            } else if about.is_file() && about.len() > 0 {
                files.push((path, about.len()));
            }
        }
    }
    if files.is_empty() {
        return Err(format!("{}: no file has content (expected at least one)", tree.display()));
    }
    files.sort();
    let mut random = Random::new(1);
    let pages = (0..count).map(|_| {
        let (file, size) = &files[random.below(files.len() as u64) as usize];
        let offset = random.below(size.div_ceil(PAGE_BYTES)) * PAGE_BYTES;
        Page { file: file.clone(), offset, length: (size - offset).min(PAGE_BYTES) }
    });
    Ok(pages.collect())
}

/// Reads the attributes of the files, so that the pages need no more metadata than the map of the content.
pub fn stat(root: &Path, pages: &[Page]) -> Result<(), String> {
    pages.iter().try_for_each(|page| {
        let path = root.join(&page.file);
        path.symlink_metadata().map(drop).map_err(named(&path))
    })
}

/// Reads the pages, one after another.
pub fn read(root: &Path, pages: &[Page], ahead: ReadAhead) -> Result<(), String> {
    let mut buffer = [0; PAGE_BYTES as usize];
    pages.iter().try_for_each(|page| {
        let path = root.join(&page.file);
        let file = File::open(&path).map_err(named(&path))?;
        if ahead == ReadAhead::Off {
            rustix::fs::fadvise(&file, 0, None, Advice::Random).map_err(|cause| named(&path)(cause.into()))?;
        }
        file.read_exact_at(&mut buffer[..page.length as usize], page.offset).map_err(named(&path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_in_files_and_the_same_again() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("directory")).unwrap();
        std::fs::write(place.path().join("directory/large"), vec![1; 10_000]).unwrap();
        std::fs::write(place.path().join("small"), "1").unwrap();
        std::fs::write(place.path().join("empty"), "").unwrap();
        let pages = choose(place.path(), 50).unwrap();
        assert_eq!(pages, choose(place.path(), 50).unwrap());
        assert!(pages.iter().any(|page| page.offset == 8192 && page.length == 1808), "{pages:?}");
        assert!(pages.iter().any(|page| page.file == Path::new("small") && page.length == 1), "{pages:?}");
        assert!(pages.iter().all(|page| page.file != Path::new("empty")), "{pages:?}");
        stat(place.path(), &pages).unwrap();
        read(place.path(), &pages, ReadAhead::Off).unwrap();
        read(place.path(), &pages, ReadAhead::AsIs).unwrap();
    }
}
