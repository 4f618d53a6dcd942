//! A temporary file whose bytes are encrypted with a key that exists only in this process.
//!
//! The file has no name and only this process reads it, so its bytes are not authenticated. Each byte is encrypted by the position of the byte, with the
//! output of keyed BLAKE3. Two versions of a byte that are both stored would give away how they differ. So the first bytes of an image, where
//! writers complete the superblock at the end, stay in memory. The bytes before the image are written once.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packline_runtime::{Input, seek_position};

use crate::Error;
use crate::cipher::FileKey;

/// The first bytes of the image, which stay in memory.
const HEAD: usize = 4096;
/// Bytes that are encrypted at a time.
const STEP: usize = 64 << 10;

/// An encrypted temporary file. It is read at offsets; a [`PrivateWriter`] fills it.
pub struct PrivateFile {
    file: File,
    keystream: blake3::OutputReader,
    /// Offset of the image. The head begins here.
    start: u64,
    head: Mutex<Vec<u8>>,
    size: AtomicU64,
}

impl PrivateFile {
    /// Encrypts what is written to `file`, which must be empty, with a random key. `start` is the offset of the image.
    ///
    /// # Errors
    /// [`Error::Randomness`] if the system gives no random bytes.
    pub fn new(file: File, start: u64) -> Result<Arc<PrivateFile>, Error> {
        let key = FileKey::random()?;
        let mut keyed = [0; 32];
        keyed.copy_from_slice(key.bytes());
        let keystream = blake3::Hasher::new_keyed(&keyed).finalize_xof();
        Ok(Arc::new(PrivateFile { file, keystream, start, head: Mutex::default(), size: AtomicU64::new(0) }))
    }

    fn head(&self) -> MutexGuard<'_, Vec<u8>> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Encrypts or decrypts bytes at an offset.
    fn apply(&self, offset: u64, bytes: &mut [u8]) {
        let mut keystream = self.keystream.clone();
        keystream.set_position(offset);
        let mut key = vec![0; bytes.len().min(STEP)];
        for part in bytes.chunks_mut(STEP) {
            let key = &mut key[..part.len()];
            keystream.fill(key);
            part.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= *key);
        }
    }

    /// Which of `length` bytes at `offset` are in the head.
    fn in_head(&self, offset: u64, length: usize) -> Range<usize> {
        let within = |border: u64| border.saturating_sub(offset).min(length as u64) as usize;
        within(self.start)..within(self.start.saturating_add(HEAD as u64))
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let range = self.in_head(offset, bytes.len());
        self.seal(offset, &bytes[..range.start])?;
        if !range.is_empty() {
            let start = (offset + range.start as u64 - self.start) as usize;
            let mut head = self.head();
            let length = head.len().max(start + range.len());
            head.resize(length, 0);
            head[start..start + range.len()].copy_from_slice(&bytes[range.clone()]);
        }
        self.seal(offset + range.end as u64, &bytes[range.end..])?;
        self.size.fetch_max(offset + bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Stores bytes outside of the head.
    fn seal(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut at = offset;
        let mut sealed = Vec::with_capacity(bytes.len().min(STEP));
        for part in bytes.chunks(STEP) {
            sealed.clear();
            sealed.extend_from_slice(part);
            self.apply(at, &mut sealed);
            self.file.write_all_at(&sealed, at)?;
            at += part.len() as u64;
        }
        Ok(())
    }

    /// Stores zeros from the end of the file to the image, if a write at `position` passes over them.
    fn fill(&self, position: u64) -> io::Result<()> {
        let zeros = [0; STEP];
        while self.size() < position.min(self.start) {
            let missing = (position.min(self.start) - self.size()).min(STEP as u64);
            self.write(self.size(), &zeros[..missing as usize])?;
        }
        Ok(())
    }

    /// Whether a write at `position` leaves no hole and stores nothing before the image twice.
    fn may_write(&self, position: u64) -> bool {
        if position < self.start {
            return position >= self.size();
        }
        position <= self.size().max(self.start.saturating_add(HEAD as u64))
    }
}

impl Input for PrivateFile {
    fn size(&self) -> u64 {
        self.size.load(Ordering::Relaxed)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.size()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let range = self.in_head(offset, buffer.len());
        let (before, rest) = buffer.split_at_mut(range.start);
        let (first, after) = rest.split_at_mut(range.len());
        if !first.is_empty() {
            let start = (offset + range.start as u64 - self.start) as usize;
            let head = self.head();
            // Bytes that were passed over are zeros.
            let known = head.get(start..).unwrap_or_default();
            let length = known.len().min(first.len());
            first[..length].copy_from_slice(&known[..length]);
            first[length..].fill(0);
        }
        for (at, part) in [(offset, before), (offset + range.end as u64, after)] {
            self.file.read_exact_at(part, at)?;
            self.apply(at, part);
        }
        Ok(())
    }
}

impl fmt::Debug for PrivateFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateFile").field("size", &self.size()).finish_non_exhaustive()
    }
}

/// Writes and reads a [`PrivateFile`] from a position on. No byte may be passed over, except before the image and in its first 4096 bytes: a
/// hole would be decrypted like other bytes. Bytes before the image are written once.
#[derive(Debug, Clone)]
pub struct PrivateWriter {
    file: Arc<PrivateFile>,
    position: u64,
}

impl PrivateWriter {
    /// A writer at the start of the file.
    pub fn new(file: Arc<PrivateFile>) -> PrivateWriter {
        PrivateWriter { file, position: 0 }
    }
}

impl Write for PrivateWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.file.may_write(self.position) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.file.fill(self.position)?;
        self.file.write(self.position, bytes)?;
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for PrivateWriter {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.file.size().saturating_sub(self.position);
        let length = rest.min(buffer.len() as u64) as usize;
        self.file.read_at(self.position, &mut buffer[..length])?;
        self.position += length as u64;
        Ok(length)
    }
}

impl Seek for PrivateWriter {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = seek_position(self.position, self.file.size(), to)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use packline_testkit::Random;

    use super::*;

    #[test]
    fn bytes_are_read_as_written_and_stored_encrypted() {
        let stored = tempfile::tempfile().unwrap();
        let file = PrivateFile::new(stored.try_clone().unwrap(), 0).unwrap();
        let mut writer = PrivateWriter::new(Arc::clone(&file));
        let mut content = Random::new(7).prose(3 * STEP + 1001);
        for part in content.chunks(10_007) {
            writer.write_all(part).unwrap();
        }
        for (offset, bytes) in [(0, &b"superblock"[..]), (4090, b"the end of the head"), (2 * STEP - 3, b"a border")] {
            content[offset..offset + bytes.len()].copy_from_slice(bytes);
            writer.seek(SeekFrom::Start(offset as u64)).unwrap();
            writer.write_all(bytes).unwrap();
        }
        assert_eq!(file.size(), content.len() as u64);
        let mut read = vec![0; content.len()];
        file.read_at(0, &mut read).unwrap();
        assert!(read == content);
        for (offset, length) in [(4000, 200), (4096, 1), (STEP, STEP + 5), (content.len() - 1, 1)] {
            let mut read = vec![0; length];
            file.read_at(offset as u64, &mut read).unwrap();
            assert!(read == content[offset..offset + length], "{offset}");
        }
        assert!(file.read_at(content.len() as u64 - 1, &mut [0; 2]).is_err());
        let mut sealed = vec![0; content.len()];
        stored.read_exact_at(&mut sealed, 0).unwrap();
        assert!(sealed[..HEAD].iter().all(|byte| *byte == 0), "the first bytes are in memory");
        let equal = sealed.iter().zip(&content).skip(HEAD).filter(|(sealed, plain)| sealed == plain).count();
        assert!(equal < content.len() / 100, "{equal} bytes are stored as they are");
    }

    #[test]
    fn two_files_have_different_keys_and_nothing_is_passed_over() {
        let files = [(); 2].map(|()| tempfile::tempfile().unwrap());
        for stored in &files {
            let file = PrivateFile::new(stored.try_clone().unwrap(), 0).unwrap();
            let mut writer = PrivateWriter::new(Arc::clone(&file));
            writer.seek(SeekFrom::Start(HEAD as u64)).unwrap();
            writer.write_all(b"the same content").unwrap();
            let mut head = [1; 3];
            file.read_at(0, &mut head).unwrap();
            assert_eq!(head, [0; 3]);
            writer.seek(SeekFrom::Start(1 << 20)).unwrap();
            assert_eq!(writer.write(b"x").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        let [first, second] = files.map(|stored| {
            let mut sealed = [0; 16];
            stored.read_exact_at(&mut sealed, HEAD as u64).unwrap();
            sealed
        });
        assert_ne!(first, second);
    }

    #[test]
    fn the_head_is_at_the_start_of_the_image() {
        for (before, start) in [(0, 5000), (5000, 5000), (0, 3 * STEP), (3 * STEP, 3 * STEP), (10, 4096)] {
            let stored = tempfile::tempfile().unwrap();
            let file = PrivateFile::new(stored.try_clone().unwrap(), start as u64).unwrap();
            let mut writer = PrivateWriter::new(Arc::clone(&file));
            let mut content = vec![0; start + 96];
            content[..before].copy_from_slice(&Random::new(1).prose(before));
            writer.write_all(&content[..before]).unwrap();
            // The superblock is passed over, and written last.
            let data = Random::new(2).prose(STEP);
            content.extend_from_slice(&data);
            writer.seek(SeekFrom::Start(start as u64 + 96)).unwrap();
            writer.write_all(&data).unwrap();
            writer.seek(SeekFrom::Start(start as u64)).unwrap();
            writer.write_all(b"superblock").unwrap();
            content[start..start + 10].copy_from_slice(b"superblock");
            for (from, length) in [(0, content.len()), (start.saturating_sub(3), 9), (start + 4090, 20)] {
                let mut read = vec![1; length];
                file.read_at(from as u64, &mut read).unwrap();
                assert!(read == content[from..from + length], "{before} {start}: {from}");
            }
            let mut sealed = vec![1; HEAD];
            stored.read_exact_at(&mut sealed, start as u64).unwrap();
            assert!(sealed.iter().all(|byte| *byte == 0), "the first bytes of the image are in memory");
            writer.seek(SeekFrom::Start(0)).unwrap();
            assert_eq!(writer.write(b"x").unwrap_err().kind(), io::ErrorKind::InvalidInput, "nothing is stored twice");
        }
    }
}
