//! Decoded fragment blocks that memory has no room for, in a file without a name.
//!
//! A block that has to give way although files to come need it is written once, decoded; of those files each reads its own bytes
//! from here. The file is made when the first block comes, and holds no more blocks than are still needed: a place is used again
//! once the last file of its block is through. It saves time and nothing else, so whatever goes wrong with it is no error: the
//! block is decoded again.

use std::cell::{Cell, OnceCell, RefCell};
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{Mode, OFlags};

/// The file grows to so many times the size of the image, at most: what is more compresses so well that decoding it again is
/// little more than filling memory, and no small image fills a disk.
const IMAGES_MOST: u64 = 64;
/// The file may grow to so many bytes in any case.
const BYTES_LEAST: u64 = 64 << 20;
/// Nobody else may read what is in it.
const MODE: u32 = 0o600;

/// The file, and which of its places are free. All places are of one block's size.
#[derive(Debug)]
pub(super) struct Scratch {
    block: usize,
    directory: Option<PathBuf>,
    /// Made with the first block; none if that failed.
    file: OnceCell<Option<File>>,
    /// Whether it has taken all that was written so far.
    sound: Cell<bool>,
    /// Places, at most.
    most: u32,
    /// Places that have been used, and those of them that are free again.
    used: Cell<u32>,
    free: RefCell<Vec<u32>>,
    /// Blocks written so far.
    written: Cell<u64>,
}

/// A block in the file. Its place is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Stowed {
    scratch: Rc<Scratch>,
    place: u32,
    length: u32,
}

impl Scratch {
    /// A file in `directory`, not yet made; without one nothing is ever put away.
    /// `block`: bytes of a block, at most; `image`: bytes of the image.
    pub(super) fn new(directory: Option<PathBuf>, block: usize, image: u64) -> Rc<Scratch> {
        let bytes = image.saturating_mul(IMAGES_MOST).max(BYTES_LEAST);
        let most = u32::try_from(bytes / block as u64).unwrap_or(u32::MAX);
        Rc::new(Scratch {
            block,
            sound: Cell::new(directory.is_some()),
            directory,
            file: OnceCell::new(),
            most,
            used: Cell::new(0),
            free: RefCell::default(),
            written: Cell::new(0),
        })
    }

    /// Whether one more block can be put away, as far as is known.
    pub(super) fn has_room(&self) -> bool {
        self.sound.get() && (self.used.get() < self.most || !self.free.borrow().is_empty())
    }

    /// Blocks written so far.
    pub(super) fn written(&self) -> u64 {
        self.written.get()
    }

    /// Puts a block away; `None` if that cannot be.
    pub(super) fn put(self: &Rc<Scratch>, bytes: &[u8]) -> Option<Stowed> {
        if !self.has_room() {
            return None;
        }
        let stowed = Stowed { scratch: Rc::clone(self), place: self.take_place(), length: bytes.len() as u32 };
        let written = self.file()?.write_all_at(bytes, stowed.offset());
        self.sound.set(written.is_ok());
        written.ok()?;
        self.written.set(self.written.get() + 1);
        Some(stowed)
    }

    fn take_place(&self) -> u32 {
        self.free.borrow_mut().pop().unwrap_or_else(|| self.used.replace(self.used.get() + 1))
    }

    fn file(&self) -> Option<&File> {
        let file = self.file.get_or_init(|| self.directory.as_deref().and_then(|place| make(place).ok())).as_ref();
        if file.is_none() {
            self.sound.set(false);
        }
        file
    }
}

impl Stowed {
    /// Bytes of the block.
    pub(super) fn length(&self) -> usize {
        self.length as usize
    }

    /// Reads from byte `start` of the block on.
    pub(super) fn read(&self, start: usize, out: &mut [u8]) -> io::Result<()> {
        let file = self.scratch.file().ok_or(io::ErrorKind::NotFound)?;
        file.read_exact_at(out, self.offset() + start as u64)
    }

    fn offset(&self) -> u64 {
        u64::from(self.place) * self.scratch.block as u64
    }
}

impl Drop for Stowed {
    fn drop(&mut self) {
        self.scratch.free.borrow_mut().push(self.place);
    }
}

/// A file without a name, or one that loses it at once where the file system has no others.
fn make(directory: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(directory, flags, Mode::from_raw_mode(MODE)) {
        Ok(file) => Ok(file.into()),
        Err(_) => make_named(directory),
    }
}

fn make_named(directory: &Path) -> io::Result<File> {
    // Random keys of the standard library: a name that nobody can guess.
    let name = directory.join(format!(".packline-{:016x}", RandomState::new().hash_one(0)));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(MODE).open(&name)?;
    fs::remove_file(&name)?;
    Ok(file)
}

#[cfg(test)]
impl Scratch {
    /// From now on the file refuses what is written.
    pub(super) fn break_writing(self: &Rc<Scratch>) {
        let read_only = File::open("/dev/null").unwrap();
        assert!(self.file.set(Some(read_only)).is_ok(), "nothing has been written yet");
    }

    /// What has been written is gone, and there is no more room.
    pub(super) fn break_reading(&self) {
        self.file().unwrap().set_len(0).unwrap();
        self.sound.set(false);
    }

    /// Bytes of the file.
    pub(super) fn bytes(&self) -> u64 {
        self.file.get().map_or(0, |file| file.as_ref().map_or(0, |file| file.metadata().unwrap().len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stowed: &Stowed, start: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        stowed.read(start, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn places_are_used_again() {
        let place = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(Some(place.path().into()), 10, 100);
        assert_eq!(scratch.bytes(), 0);
        let first = scratch.put(b"0123456789").unwrap();
        let second = scratch.put(b"abc").unwrap();
        assert_eq!((read(&first, 8, 2), read(&second, 1, 2)), (b"89".to_vec(), b"bc".to_vec()));
        assert!(second.read(1, &mut [0; 10]).is_err(), "past the end of the file");
        drop(first);
        let third = scratch.put(b"xyz").unwrap();
        assert_eq!((read(&third, 0, 3), third.length(), scratch.bytes()), (b"xyz".to_vec(), 3, 13));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "it has no name");
        assert_eq!(scratch.written(), 3);
    }

    #[test]
    fn a_small_image_fills_no_disk() {
        let place = tempfile::tempdir().unwrap();
        let block = BYTES_LEAST as usize / 2;
        let scratch = Scratch::new(Some(place.path().into()), block, 1000);
        let held = [scratch.put(b"a").unwrap(), scratch.put(b"b").unwrap()];
        assert!(!scratch.has_room() && scratch.put(b"c").is_none());
        drop(held);
        assert!(scratch.has_room() && scratch.put(b"c").is_some());
    }

    #[test]
    fn what_cannot_be_written_is_not_tried_again() {
        for place in [None, Some("/dev/null/nowhere".into())] {
            let scratch = Scratch::new(place, 10, 100);
            assert!(scratch.put(b"a").is_none() && !scratch.has_room());
        }
        let scratch = Scratch::new(Some("/".into()), 10, 100);
        scratch.break_writing();
        assert!(scratch.has_room() && scratch.put(b"a").is_none() && !scratch.has_room());
    }

    #[test]
    fn a_file_that_had_a_name_has_lost_it() {
        let place = tempfile::tempdir().unwrap();
        let file = make_named(place.path()).unwrap();
        file.write_all_at(b"x", 5).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
