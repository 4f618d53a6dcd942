//! An unnamed temporary file for decoded shared units that exceed the memory.
//!
//! The decoded bytes of an evicted block that later files need are written once, and each of those files reads its own bytes from here. The file
//! is created with the first block, and holds no more blocks than are still needed: a slot is reused after the last file of its block. The file
//! only saves time, so its failures are not errors: the block is decoded again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use packline_runtime::unnamed_temp_file;

use crate::Facts;

/// Largest unit that is spilled, bytes. The file has slots of one size, so larger ones would leave few slots.
const BLOCK_MOST: u32 = 1 << 20;
/// Limit of the file relative to the image. Larger content compresses so well that decoding it again is cheap, and a small image cannot fill a
/// disk.
const IMAGES_MOST: u64 = 64;
/// Minimum limit of the file in bytes.
const BYTES_LEAST: u64 = 64 << 20;

/// The file and its free slots. All slots have the size of one block. Any thread may write to the file and read from it.
#[derive(Debug)]
pub struct Scratch {
    block: usize,
    directory: Option<PathBuf>,
    /// Created with the first block; `None` if the creation failed.
    file: OnceLock<Option<File>>,
    /// Whether all writes so far succeeded.
    sound: AtomicBool,
    /// Maximum number of slots.
    most: u32,
    slots: Mutex<Slots>,
    /// Blocks written so far.
    written: AtomicU64,
}

#[derive(Debug, Default)]
struct Slots {
    /// Slots used so far.
    used: u32,
    /// Slots that are free again.
    free: Vec<u32>,
}

impl Slots {
    fn has_space(&self, most: u32) -> bool {
        self.used < most || !self.free.is_empty()
    }

    fn take(&mut self, most: u32) -> Option<u32> {
        let next = (self.used < most).then_some(self.used);
        self.free.pop().or_else(|| next.inspect(|_| self.used += 1))
    }
}

/// A block in the file. Dropping it frees its slot.
#[derive(Debug)]
pub struct SpilledBlock {
    scratch: Arc<Scratch>,
    place: u32,
    length: u32,
}

impl Scratch {
    /// Spills units of a volume, of at most 1 MiB each, to a file in `directory`, which is created later. Without a directory nothing is ever
    /// spilled.
    pub fn new(directory: Option<PathBuf>, facts: &Facts) -> Arc<Scratch> {
        Scratch::sized(directory, facts.largest_unit.min(BLOCK_MOST) as usize, facts.bytes)
    }

    /// `block` is the maximum size of a block, and `image` the size of the image, both in bytes.
    pub(crate) fn sized(directory: Option<PathBuf>, block: usize, image: u64) -> Arc<Scratch> {
        let bytes = image.saturating_mul(IMAGES_MOST).max(BYTES_LEAST);
        let most = u32::try_from(bytes / block as u64).unwrap_or(u32::MAX);
        Arc::new(Scratch {
            block,
            sound: AtomicBool::new(directory.is_some()),
            directory,
            file: OnceLock::new(),
            most,
            slots: Mutex::default(),
            written: AtomicU64::new(0),
        })
    }

    /// Whether one more block can be spilled, as far as is known.
    pub fn has_space(&self) -> bool {
        self.is_sound() && self.slots().has_space(self.most)
    }

    /// Blocks written so far.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Spills a block of at most the image's block size; returns `None` if the block cannot be spilled.
    pub fn put(self: &Arc<Scratch>, bytes: &[u8]) -> Option<SpilledBlock> {
        if !self.is_sound() || bytes.len() > self.block {
            return None;
        }
        let place = self.slots().take(self.most)?;
        let spilled = SpilledBlock { scratch: Arc::clone(self), place, length: bytes.len() as u32 };
        let written = self.file()?.write_all_at(bytes, spilled.offset());
        if written.is_err() {
            self.sound.store(false, Ordering::Relaxed);
        }
        written.ok()?;
        self.written.fetch_add(1, Ordering::Relaxed);
        Some(spilled)
    }

    fn is_sound(&self) -> bool {
        self.sound.load(Ordering::Relaxed)
    }

    /// The slots are consistent even if a thread panicked.
    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self) -> Option<&File> {
        let file = self
            .file
            .get_or_init(|| self.directory.as_deref().and_then(|place| unnamed_temp_file(place).ok()))
            .as_ref();
        if file.is_none() {
            self.sound.store(false, Ordering::Relaxed);
        }
        file
    }
}

impl SpilledBlock {
    /// Returns the number of bytes in the block.
    pub fn length(&self) -> usize {
        self.length as usize
    }

    /// Reads from byte `start` of the block on.
    ///
    /// # Errors
    /// Errors of reading the file, also if it is too short.
    pub fn read(&self, start: usize, out: &mut [u8]) -> io::Result<()> {
        let file = self.scratch.file().ok_or(io::ErrorKind::NotFound)?;
        file.read_exact_at(out, self.offset() + start as u64)
    }

    fn offset(&self) -> u64 {
        u64::from(self.place) * self.scratch.block as u64
    }
}

impl Drop for SpilledBlock {
    fn drop(&mut self) {
        self.scratch.slots().free.push(self.place);
    }
}

#[cfg(any(test, feature = "testing"))]
#[allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "for tests")]
impl Scratch {
    /// Makes further writes fail.
    pub fn break_writing(&self) {
        let read_only = File::open("/dev/null").unwrap();
        assert!(self.file.set(Some(read_only)).is_ok(), "nothing has been written yet");
    }

    /// Makes reads fail, and leaves no space.
    pub fn break_reading(&self) {
        self.file().unwrap().set_len(0).unwrap();
        self.sound.store(false, Ordering::Relaxed);
    }

    /// Returns the size of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.file.get().map_or(0, |file| file.as_ref().map_or(0, |file| file.metadata().unwrap().len()))
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::fs;

    fn read(spilled: &SpilledBlock, start: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        spilled.read(start, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn places_are_used_again() {
        let place = tempfile::tempdir().unwrap();
        let scratch = Scratch::sized(Some(place.path().into()), 10, 100);
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
        let scratch = Scratch::sized(Some(place.path().into()), block, 1000);
        let held = [scratch.put(b"a").unwrap(), scratch.put(b"b").unwrap()];
        assert!(!scratch.has_space() && scratch.put(b"c").is_none());
        drop(held);
        assert!(scratch.has_space() && scratch.put(b"c").is_some());
    }

    #[test]
    fn what_cannot_be_written_is_not_tried_again() {
        for place in [None, Some("/dev/null/nowhere".into())] {
            let scratch = Scratch::sized(place, 10, 100);
            assert!(scratch.put(b"a").is_none() && !scratch.has_space());
        }
        let scratch = Scratch::sized(Some("/".into()), 10, 100);
        scratch.break_writing();
        assert!(scratch.has_space() && scratch.put(b"a").is_none() && !scratch.has_space());
    }

    #[test]
    fn each_thread_has_a_place_of_its_own() {
        let place = tempfile::tempdir().unwrap();
        let scratch = Scratch::sized(Some(place.path().into()), 1000, 100);
        let put = |number: u8| {
            let keep = |round: u8| scratch.put(&vec![number; usize::from(round) + 500]).unwrap();
            (0..200).map(keep).enumerate().filter(|(round, _)| round % 3 == 0).collect::<Vec<_>>()
        };
        let held: Vec<_> = std::thread::scope(|threads| {
            let threads: Vec<_> = (0..4).map(|number| threads.spawn(move || put(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (number, spilled) in (0u8..).zip(&held).flat_map(|(number, all)| all.iter().map(move |one| (number, one))) {
            assert_eq!(spilled.1.length(), spilled.0 + 500);
            assert_eq!(read(&spilled.1, 0, spilled.0 + 500), vec![number; spilled.0 + 500]);
        }
        assert_eq!(scratch.written(), 800);
    }
}
