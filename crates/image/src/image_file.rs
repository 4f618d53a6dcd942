//! A file of an image, read at any position.

use std::fmt;
use std::io::{self, Seek, SeekFrom};
use std::sync::Arc;

use packline_runtime::seek_position;
use packline_volume::{Files, OpenFile};

use crate::follow::regular_file;
use crate::{Error, OpenedImage};

/// A regular file of an image, open for reading at any position, from [`OpenedImage::open_file`]. Holes are read as zeros. A seek reads nothing.
/// A position after the end is allowed, and reads nothing.
pub struct ImageFile {
    files: Arc<Files>,
    file: OpenFile,
    block_size: u64,
    position: u64,
    /// Zeros of a hole.
    scratch: Vec<u8>,
    image: OpenedImage,
    path: Vec<u8>,
}

impl ImageFile {
    pub(crate) fn open(image: &OpenedImage, files: Arc<Files>, path: &[u8]) -> Result<ImageFile, Error> {
        let data = regular_file(image, path)?;
        let file = files.open(&data);
        let block_size = u64::from(image.volume.facts().block_size);
        let image = image.clone();
        let path = path.to_vec();
        Ok(ImageFile { files, file, block_size, position: 0, scratch: Vec::new(), image, path })
    }

    /// Size in bytes, holes included.
    pub fn size(&self) -> u64 {
        self.file.size()
    }

    /// Reads bytes of one block, at most as many as `buffer` holds; 0 at the end. After an error the position is unchanged.
    ///
    /// # Errors
    /// [`Error::Read`] for content that cannot be read.
    pub fn read_next(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let read = self.read_block(self.position, buffer, &mut scratch);
        self.scratch = scratch;
        let read = read?;
        self.position += read as u64;
        Ok(read)
    }

    /// Fills `buffer` from `offset`, which may be after the end. Returns the number of bytes, which is smaller only at the end. The position
    /// does not change. Any number of threads may read at the same time.
    ///
    /// # Errors
    /// [`Error::Read`] for content that cannot be read. The buffer may then be filled partly.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut scratch = Vec::new();
        let mut done = 0;
        while done < buffer.len() {
            match self.read_block(offset.saturating_add(done as u64), &mut buffer[done..], &mut scratch)? {
                0 => break,
                read => done += read,
            }
        }
        Ok(done)
    }

    fn read_block(&self, offset: u64, buffer: &mut [u8], scratch: &mut Vec<u8>) -> Result<usize, Error> {
        // Bytes of one block are copied directly, without a buffer for several blocks.
        let length = buffer.len().min((self.block_size - offset % self.block_size) as usize);
        let read = self.files.read_with(&self.file, offset, length, scratch, |bytes| {
            buffer[..bytes.len()].copy_from_slice(bytes);
            bytes.len()
        });
        read.map_err(|cause| self.image.fault_at(&self.path, cause))
    }
}

impl Seek for ImageFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = seek_position(self.position, self.size(), to)?;
        Ok(self.position)
    }
}

impl fmt::Debug for ImageFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImageFile")
            .field("size", &self.size())
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
