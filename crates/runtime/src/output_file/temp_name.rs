//! Temporary names of incomplete outputs, and leftovers of killed runs.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::unfinished::directory_of;
use crate::Temporaries;

/// Maximum number of names tried. The first nearly always works.
const NAMES_MAX: usize = 16;

/// Creates a file with `make` under a free name next to `target`, and lists it. The first name tried is always the same, so that
/// each run removes the leftover of a killed run; if another run uses that name, the next one is unpredictable. After
/// `AlreadyExists`, `make` is called again with another name.
pub fn with_name<T>(
    target: &Path,
    list: &Temporaries,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf)> {
    free_name(target, |name| list.create(name, &make))
}

/// Like [`with_name`], for a `make` that lists the file itself.
pub fn free_name<T>(target: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(T, PathBuf)> {
    let mut refusal = io::Error::from(io::ErrorKind::AlreadyExists);
    let own = checksum(target.file_name().unwrap_or_default().as_bytes());
    // A file that cannot be removed is in use or not ours, so another name is used.
    let _: io::Result<()> = clear_leftover(&named(target, own));
    for number in std::iter::once(own).chain(std::iter::repeat_with(unpredictable)).take(NAMES_MAX) {
        let name = named(target, number);
        match make(&name) {
            Ok(made) => return Ok((made, name)),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => refusal = cause,
            Err(cause) => return Err(cause),
        }
    }
    Err(refusal)
}

/// Locks a file for this run. Returns whether it is locked, and was not removed before.
pub fn is_held(file: &File) -> io::Result<bool> {
    // On file systems without locks the user must not start two runs at once.
    let locked = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    Ok(locked && file.metadata()?.nlink() > 0)
}

/// A checksum that distinguishes names (64-bit FNV-1a).
pub fn checksum(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn named(target: &Path, number: u64) -> PathBuf {
    directory_of(target).join(format!(".packline-{number:016x}"))
}

/// A random number of the operating system. It decides a temporary name, never a byte of output.
fn unpredictable() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Removes a file that no run has locked: its run is dead.
fn clear_leftover(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32).open(path)?;
    if file.metadata()?.is_file() && file.try_lock().is_ok() { fs::remove_file(path) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(place: &Path, list: &Temporaries) -> (File, PathBuf) {
        let make = |path: &Path| File::create_new(path).inspect(|file| assert!(is_held(file).unwrap()));
        with_name(place, list, make).unwrap()
    }

    #[test]
    fn removes_leftovers_of_killed_runs_only() {
        let top = tempfile::tempdir().unwrap();
        let list = Temporaries::default();
        let place = top.path().join("out");
        let (first, name) = made(&place, &list);
        let (second, other) = made(&place, &list);
        assert!(name != other && name.exists() && other.exists());
        assert_ne!(made(&top.path().join("another"), &list).1, name);
        // Both runs are killed.
        drop((first, second));
        fs::write(&name, "left").unwrap();
        let (third, again) = made(&place, &list);
        assert!(again == name && third.metadata().unwrap().len() == 0);
    }

    #[test]
    fn removes_only_regular_files() {
        let top = tempfile::tempdir().unwrap();
        let list = Temporaries::default();
        let place = top.path().join("out");
        let name = made(&place, &list).1;
        fs::remove_file(&name).unwrap();
        fs::write(top.path().join("kept"), "kept").unwrap();
        std::os::unix::fs::symlink("kept", &name).unwrap();
        assert_ne!(made(&place, &list).1, name);
        assert_eq!(fs::read_link(&name).unwrap(), Path::new("kept"));
        assert_eq!(fs::read(top.path().join("kept")).unwrap(), b"kept");
    }

    #[test]
    fn a_removed_or_locked_file_is_not_held() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x");
        let file = File::create_new(&path).unwrap();
        let other = File::open(&path).unwrap();
        other.lock().unwrap();
        assert!(!is_held(&file).unwrap());
        drop(other);
        assert!(is_held(&file).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!is_held(&file).unwrap());
    }
}
