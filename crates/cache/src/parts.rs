//! Parts of files on servers and of layers of registries, kept between runs in the directory of a cache.
//!
//! A part is an entry whose block is the bytes of the part. Its key is a hash of its name, so that no address is in the directory. The name must
//! have everything on which the bytes depend: the address, the version and the offset, or a digest.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;
use crate::entry::{Entry, HEADER};
use crate::key::Key;
use crate::local::Local;

/// Parts in a directory, which several threads and processes may use at the same time.
#[derive(Debug)]
pub struct Parts {
    local: Local,
    /// Whether an error of the file system was logged. The directory is not used after it.
    warned: AtomicBool,
}

impl Parts {
    /// Maximum number of bytes of a part.
    pub const MOST: usize = 1 << 20;

    /// Opens a cache. Creates it if `directory` is missing or empty. Up to `limit` bytes stay in it; the least recently used entries are removed
    /// first. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// [`Error::NotACache`] for a directory with any other content; [`Error::Io`].
    pub fn open(directory: &Path, limit: u64, now: i64) -> Result<Parts, Error> {
        Ok(Parts { local: Local::open(directory, limit, now)?, warned: AtomicBool::new(false) })
    }

    /// Returns the bytes of a part. `None` if it is not here, or if it is damaged.
    pub fn get(&self, name: &[u8]) -> Option<Vec<u8>> {
        let key = Key::of_part(name);
        let mut bytes = Vec::new();
        self.local.read(&key, HEADER + Parts::MOST, &mut bytes);
        self.warn();
        if bytes.is_empty() {
            return None;
        }
        match Entry::parse(&key, &bytes) {
            Some(Entry::Compressed(part)) => Some(part.to_vec()),
            _ => {
                log::info!("a damaged part of the cache was removed");
                self.local.remove(&key);
                None
            }
        }
    }

    /// Keeps the bytes of a part, unless they are more than [`Parts::MOST`].
    pub fn put(&self, name: &[u8], bytes: &[u8]) {
        if bytes.len() <= Parts::MOST {
            self.local.add(&Key::of_part(name), Entry::Compressed(bytes));
            self.warn();
        }
    }

    pub fn remove(&self, name: &[u8]) {
        self.local.remove(&Key::of_part(name));
    }

    fn warn(&self) {
        if let Some(error) = self.local.first_error()
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            log::warn!("{error}; this run does not use the cache");
        }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.local.finish();
    }
}

#[cfg(feature = "http")]
impl packline_http::PartStore for Parts {
    fn get(&self, name: &[u8]) -> Option<Vec<u8>> {
        Parts::get(self, name)
    }

    fn put(&self, name: &[u8], bytes: &[u8]) {
        Parts::put(self, name, bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;
    use crate::{Contents, Store};

    fn files(directory: &Path) -> Vec<PathBuf> {
        let entries = |path: &Path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
        let directories = entries(&directory.join("v1")).into_iter().filter(|path| path.is_dir());
        directories.flat_map(|path| entries(&path)).collect()
    }

    #[test]
    fn keeps_parts_for_other_runs_and_finds_damage() {
        let top = tempfile::tempdir().unwrap();
        let directory = top.path().join("cache");
        let one = Parts::open(&directory, 1 << 30, 0).unwrap();
        let other = Parts::open(&directory, 1 << 30, 0).unwrap();
        assert_eq!(one.get(b"a"), None);
        for (name, bytes) in [(b"a", &b"one"[..]), (b"b", &b""[..]), (b"a", &b"two"[..])] {
            one.put(name, bytes);
            assert_eq!(other.get(name).as_deref(), Some(bytes));
        }
        one.put(b"large", &vec![0; Parts::MOST + 1]);
        assert_eq!(other.get(b"large"), None);
        one.put(b"large", &vec![7; Parts::MOST]);
        assert_eq!(other.get(b"large"), Some(vec![7; Parts::MOST]));
        assert_eq!(Store::existing(&directory, 0).unwrap().verify().unwrap(), (3, 0));
        assert_eq!(directory.metadata().unwrap().permissions().mode() & 0o77, 0, "others cannot read it");
        for path in files(&directory) {
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        }
        assert_eq!([&b"a"[..], b"b", b"large"].map(|name| one.get(name)), [None, None, None]);
        assert!(files(&directory).is_empty(), "damaged parts are removed");
        one.put(b"a", b"three");
        other.remove(b"a");
        assert_eq!(one.get(b"a"), None);
    }

    #[test]
    fn the_size_is_bounded_and_errors_end_the_use() {
        let top = tempfile::tempdir().unwrap();
        let directory = top.path().join("cache");
        let parts = Parts::open(&directory, 1 << 20, 0).unwrap();
        for number in 0_u32..200 {
            parts.put(&number.to_le_bytes(), &[1; 50_000]);
        }
        drop(parts);
        let Contents { bytes, entries, .. } = Store::existing(&directory, 0).unwrap().contents().unwrap();
        assert!(bytes <= 1 << 20 && entries > 10, "{bytes} bytes, {entries} entries");
        let parts = Parts::open(&directory, 1 << 20, 0).unwrap();
        fs::remove_dir_all(&directory).unwrap();
        fs::write(&directory, "not a directory").unwrap();
        parts.put(b"a", b"one");
        assert!(parts.warned.load(Ordering::Relaxed) && parts.get(b"a").is_none());
        assert!(matches!(Parts::open(&directory, 1 << 20, 0), Err(Error::NotACache(_))));
    }
}
