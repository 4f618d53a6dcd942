//! A file of an image, read at any position.

use std::io::{self, Read, Seek, SeekFrom};

use crate::error::Error;

/// A regular file of an image, open for reading at any position, by [`Image::open_file`](super::image::Image::open_file).
///
/// The file may be used on another thread than the image, and [`ImageFile::read_at`] by any number of threads at once. Holes are read as
/// zeros. All files of an image share its cache of decoded blocks and its decoders.
///
/// As a [`Read`], it has a position of its own. A read may be of any size, and returns bytes of at most one block. A seek reads nothing. It may
/// lead beyond the end, where a read returns 0 bytes.
///
/// # Errors
/// An error of [`Read`] holds an [`Error::Read`] with the image, the path and the offset ([`io::Error::get_ref`]). Its kind is
/// [`io::ErrorKind::InvalidData`] for a malformed image, and otherwise the kind of the operating system's error. The position
/// does not change after an error. A seek to before the start is an [`io::ErrorKind::InvalidInput`].
#[derive(Debug)]
pub struct ImageFile(packline_image::ImageFile);

impl ImageFile {
    pub(super) fn new(file: packline_image::ImageFile) -> ImageFile {
        ImageFile(file)
    }

    /// Size in bytes, holes included.
    pub fn size(&self) -> u64 {
        self.0.size()
    }

    /// Fills `buffer` from byte `offset` of the file. Returns the number of bytes, which is smaller than the buffer only at the end of the file,
    /// and 0 beyond it. The position of [`Read`] does not change.
    ///
    /// ```
    /// # fn main() -> Result<(), packline::Error> {
    /// # let top = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(top.path()).unwrap();
    /// # let mut tree = packline::Tree::new();
    /// # tree.file("data", vec![7; 300_000])?;
    /// # packline::Packer::new(tree).write_to("a.sqfs")?;
    /// let file = packline::Image::open("a.sqfs")?.open_file("data")?;
    /// std::thread::scope(|scope| {
    ///     for part in 0..3 {
    ///         let file = &file;
    ///         scope.spawn(move || {
    ///             let mut bytes = vec![0; 100_000];
    ///             assert_eq!(file.read_at(part * 100_000, &mut bytes).unwrap(), bytes.len());
    ///             assert!(bytes.iter().all(|byte| *byte == 7));
    ///         });
    ///     }
    /// });
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Read`] for content that cannot be read.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        Ok(self.0.read_at(offset, buffer)?)
    }
}

impl Read for ImageFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_next(buffer).map_err(|cause| io::Error::new(cause.io_kind(), Error::from(cause)))
    }
}

impl Seek for ImageFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}
