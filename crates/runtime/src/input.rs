//! Inputs that can be read at an offset.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, IoSliceMut, Read, Seek, SeekFrom};
use std::ops::Deref;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::{FileStamp, seek_position};

/// Opens a regular file that the user has not named: a file next to another one, or at a usual path. To open a pipe would block
/// until another process writes to the pipe.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] if it is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// What may have changed in an input since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputChange {
    None,
    /// Attributes, a new link, or a rename over the file. The bytes that were read are still those of one file.
    Attributes,
    /// The bytes.
    Content,
}

/// Bytes that can be read at any offset, by several threads at once.
pub trait Input: Send + Sync {
    fn size(&self) -> u64;

    /// Fills `buffer` from `offset`.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if there are fewer bytes.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Reads from `offset` into some of `buffers`, in order, with one call. Returns the number of bytes, which is 0 only at the end.
    ///
    /// # Errors
    /// As for [`Input::read_at`].
    fn read_vectored_at(&self, offset: u64, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let Some(buffer) = buffers.iter_mut().find(|buffer| !buffer.is_empty()) else { return Ok(0) };
        let bytes = left(self, offset).min(buffer.len());
        self.read_at(offset, &mut buffer[..bytes])?;
        Ok(bytes)
    }

    /// Tells the input that these bytes are read soon. An input that is far away may then read them together with others.
    fn will_read(&self, _offset: u64, _length: u64) {}

    /// Compares the input with its state when it was opened.
    fn change(&self) -> io::Result<InputChange> {
        Ok(InputChange::None)
    }

    /// Whether the bytes, or their number, may have changed since the input was opened.
    fn changed(&self) -> io::Result<bool> {
        Ok(self.change()? != InputChange::None)
    }

    /// Whether the bytes may have been written to since the input was opened.
    fn rewritten(&self) -> io::Result<bool> {
        Ok(self.change()? == InputChange::Content)
    }

    /// The state of the file when it was opened; `None` if it is not a file.
    fn stamp(&self) -> Option<FileStamp> {
        None
    }
}

/// The number of bytes from `offset` to the end, if a buffer can be as large.
fn left<I: Input + ?Sized>(input: &I, offset: u64) -> usize {
    usize::try_from(input.size().saturating_sub(offset)).unwrap_or(usize::MAX)
}

/// The bytes that are compressed or decompressed. The kind of the source changes no byte of the output.
pub enum Source<'a> {
    /// Read at any offset, also by workers. Its size is read once.
    At(Arc<dyn Input>),
    /// Read from start to end.
    Stream(&'a mut (dyn Read + Send)),
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

/// A file or a block device, with its size at the time of opening.
#[derive(Debug)]
pub struct FileInput {
    file: File,
    size: u64,
    stamp: FileStamp,
}

impl FileInput {
    /// # Errors
    /// The size cannot be read, or the file is not a regular file or block device (a pipe, a directory).
    pub fn new(mut file: File) -> io::Result<FileInput> {
        let about = file.metadata()?;
        let kind = about.file_type();
        if kind.is_file() {
            return Ok(FileInput::described(file, &about));
        }
        if !kind.is_block_device() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, not_readable(kind)));
        }
        // The metadata of a device has no size, so the size is the position of its end.
        let size = file.seek(SeekFrom::End(0))?;
        Ok(FileInput { size, ..FileInput::described(file, &about) })
    }

    /// An open file of any kind. `about` is its metadata, which has the size.
    pub fn described(file: File, about: &Metadata) -> FileInput {
        FileInput { file, size: about.len(), stamp: FileStamp::of(about) }
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

fn became_shorter() -> io::Error {
    let what = "the file became shorter while it was read (expected an unchanged file)";
    io::Error::new(io::ErrorKind::UnexpectedEof, what)
}

fn not_readable(kind: FileType) -> String {
    let found = match kind {
        _ if kind.is_dir() => "a directory",
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a character device",
    };
    format!("{found} (expected a file or a block device, which can be read at any offset)")
}

impl Input for FileInput {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset).map_err(|cause| match cause.kind() {
            io::ErrorKind::UnexpectedEof if offset.saturating_add(buffer.len() as u64) <= self.size => became_shorter(),
            _ => cause,
        })
    }

    fn read_vectored_at(&self, offset: u64, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let left = left(self, offset);
        if left == 0 || buffers.iter().all(|buffer| buffer.is_empty()) {
            return Ok(0);
        }
        match rustix::io::preadv(&self.file, buffers, offset)? {
            0 => Err(became_shorter()),
            // The file may have become longer.
            bytes => Ok(bytes.min(left)),
        }
    }

    fn change(&self) -> io::Result<InputChange> {
        let now = FileStamp::of(&self.file.metadata()?);
        Ok(match now {
            now if now == self.stamp => InputChange::None,
            now if now.has_content_of(&self.stamp) => InputChange::Attributes,
            _ => InputChange::Content,
        })
    }

    fn stamp(&self) -> Option<FileStamp> {
        Some(self.stamp)
    }
}

/// Reads an input, borrowed or shared, from an offset to its end.
pub struct InputStream<I> {
    input: I,
    at: u64,
}

impl<I> InputStream<I> {
    pub fn new(input: I, at: u64) -> InputStream<I> {
        InputStream { input, at }
    }
}

impl<I: Deref<Target = T>, T: Input + ?Sized> Read for InputStream<I> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = into.len().min(left(&*self.input, self.at));
        self.input.read_at(self.at, &mut into[..bytes])?;
        self.at += bytes as u64;
        Ok(bytes)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let bytes = self.input.read_vectored_at(self.at, buffers)?;
        self.at += bytes as u64;
        Ok(bytes)
    }
}

impl<I: Deref<Target = T>, T: Input + ?Sized> Seek for InputStream<I> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = seek_position(self.at, self.input.size(), to)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_write_changes_the_stamp() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"before").unwrap();
        let input = FileInput::new(file.try_clone().unwrap()).unwrap();
        assert!(!input.changed().unwrap() && input.size() == 6);
        file.write_all(b"!").unwrap();
        assert!(input.changed().unwrap());
    }

    #[test]
    fn names_a_file_that_became_shorter() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"before").unwrap();
        let input = FileInput::new(file.try_clone().unwrap()).unwrap();
        file.set_len(3).unwrap();
        let refused = input.read_at(0, &mut [0; 6]).unwrap_err();
        assert!(refused.to_string().contains("became shorter"), "{refused}");
        assert_eq!(refused.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn fills_several_buffers_up_to_the_size_at_opening() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"packline").unwrap();
        let input = FileInput::new(file.try_clone().unwrap()).unwrap();
        file.write_all(b"more").unwrap();
        let inputs: [(&dyn Input, _); 2] = [(&input, [6, 2]), (&b"packline".to_vec(), [3, 5])];
        for (input, expected) in inputs {
            let mut stream = InputStream::new(input, 0);
            let mut read = || {
                let mut first = [0; 3];
                let mut second = [0; 3];
                let bytes = stream.read_vectored(&mut [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)]);
                (bytes.unwrap(), [first, second].concat())
            };
            let (bytes, found) = read();
            assert_eq!((bytes, &found[..bytes]), (expected[0], &b"packline"[..bytes]));
            let (more, found) = read();
            assert_eq!(&found[..more], &b"packline"[bytes..bytes + more]);
        }
        let mut end = [0; 3];
        assert_eq!(input.read_vectored_at(8, &mut [IoSliceMut::new(&mut end)]).unwrap(), 0);
        file.set_len(3).unwrap();
        let refused = input.read_vectored_at(3, &mut [IoSliceMut::new(&mut end)]).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::UnexpectedEof);
    }

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
    fn rejects_directories_and_character_devices() {
        let directory = FileInput::new(File::open("/").unwrap()).unwrap_err();
        assert!(directory.to_string().starts_with("a directory"), "{directory}");
        let device = FileInput::new(File::open("/dev/null").unwrap()).unwrap_err();
        assert!(device.to_string().starts_with("a character device"), "{device}");
    }
}
