//! What an image is read from: anything that can be read at an offset, from any thread.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt};

use memchr::memmem;

use crate::format::superblock::{MAGIC_BYTES, SUPERBLOCK_BYTES, Superblock};

/// Bytes looked at in one go when an image is searched.
const SEARCH_BYTES: usize = 1 << 20;

/// Bytes that can be read at an offset, by several threads at once.
pub trait Input: Send + Sync {
    /// Length, bytes.
    fn size(&self) -> u64;
    /// Fills `buffer` from `offset`; an error of kind `UnexpectedEof` if there are fewer bytes.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

/// A file or a block device.
#[derive(Debug)]
pub struct FileInput {
    file: File,
    size: u64,
}

impl FileInput {
    /// Takes an open file or block device.
    ///
    /// # Errors
    /// The system does not tell the size, or the file is neither (a pipe, a directory).
    pub fn new(mut file: File) -> io::Result<FileInput> {
        let metadata = file.metadata()?;
        let kind = metadata.file_type();
        if kind.is_file() {
            return Ok(FileInput { file, size: metadata.len() });
        }
        if !kind.is_block_device() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, not_readable(kind)));
        }
        // The metadata of a device has no size; its end has.
        let size = file.seek(SeekFrom::End(0))?;
        Ok(FileInput { file, size })
    }
}

fn not_readable(kind: std::fs::FileType) -> String {
    let found = match kind {
        _ if kind.is_dir() => "a directory",
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a character device",
    };
    format!("{found} (expected a file or a block device: an image is not read from front to back)")
}

impl Input for FileInput {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

impl Input for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).ok();
        let bytes = start.and_then(|start| self.get(start..)?.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// The offset of the first image in `input`: a superblock whose fields hold together, at any byte (an AppImage has one behind
/// its program).
///
/// # Errors
/// Those of reading.
pub fn find_image(input: &dyn Input) -> io::Result<Option<u64>> {
    let mut window = Vec::new();
    let mut at = 0;
    while at + SUPERBLOCK_BYTES <= input.size() {
        window.resize((input.size() - at).min(SEARCH_BYTES as u64) as usize, 0);
        input.read_at(at, &mut window)?;
        if let Some(found) = find_in(&window, at, input.size()) {
            return Ok(Some(found));
        }
        // A superblock across the window's end is looked at again, whole.
        at += window.len() as u64 - (SUPERBLOCK_BYTES - 1);
    }
    Ok(None)
}

/// The first sound superblock that lies whole in a window of the input.
fn find_in(window: &[u8], at: u64, size: u64) -> Option<u64> {
    let starts = memmem::find_iter(window, &MAGIC_BYTES);
    let mut sound = starts.filter(|&start| {
        let bytes = window[start..].first_chunk();
        let superblock = bytes.and_then(|bytes| Superblock::decode(bytes).ok());
        superblock.is_some_and(|found| found.check_places(size - at - start as u64).is_ok())
    });
    sound.next().map(|start| at + start as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_at_any_offset() {
        let input = b"packline".to_vec();
        let mut buffer = [0; 4];
        input.read_at(4, &mut buffer).unwrap();
        assert_eq!((&buffer, input.size()), (b"line", 8));
        for offset in [5, 9, u64::MAX] {
            assert_eq!(input.read_at(offset, &mut buffer).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn what_cannot_be_read_at_an_offset_is_refused() {
        let directory = FileInput::new(File::open("/").unwrap()).unwrap_err();
        assert!(directory.to_string().starts_with("a directory"), "{directory}");
        let device = FileInput::new(File::open("/dev/null").unwrap()).unwrap_err();
        assert!(device.to_string().starts_with("a character device"), "{device}");
    }

    #[test]
    fn an_image_is_found_wherever_it_is() {
        let mut image = crate::format::superblock::tests::sound().encode();
        image.resize(4096, 0);
        for before in [0, 1, 95, SEARCH_BYTES - 1, SEARCH_BYTES - 95, SEARCH_BYTES - 96, SEARCH_BYTES, 3 << 20] {
            // The magic alone is no image.
            let mut input = b"hsqs".repeat(before / 4 + 1);
            input.truncate(before);
            input.extend_from_slice(&image);
            assert_eq!(find_image(&input).unwrap(), Some(before as u64), "{before}");
            input.truncate(before + 4095);
            assert_eq!(find_image(&input).unwrap(), None, "{before}");
        }
    }
}
