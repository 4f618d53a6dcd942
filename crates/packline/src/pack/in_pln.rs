//! Packs a tree into an image or a tar that is the content of a .pln file.
//!
//! A .pln file is written from front to back, and the superblock of an image is written last. So the image or tar waits in an unnamed file
//! until it is complete. If the .pln file is encrypted, so is that file, with a key that exists only in this process.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_image::Output;
use packline_pln::{WriteOptions, Written};
use packline_runtime::escape::Escape;
use packline_runtime::{FileInput, Input as ReadAt, Observer, ScratchError, unnamed_temp_file};

use super::describe::prepare_late_output;
use super::request::{PackContainer, PackRequest};
use super::summary::PackSummary;
use super::tar::{TarWork, pack_tar};
use super::target::{PackTarget, SeekableStream};
use super::{ImageWork, pack_image};
#[cfg(feature = "lrz")]
use crate::container::by_name::Container;
use crate::container::input::Input;
use crate::error::Error;
use crate::streams::encrypted::Recipients;
use crate::streams::pln::pln_compress;
use crate::streams::request::CompressRequest;

/// How the .pln file is written that an image or a tar becomes the content of.
#[non_exhaustive]
pub struct EnclosingPln {
    /// Options that affect the bytes of the .pln file.
    pub options: WriteOptions,
    /// Recipients of an encrypted file; `None` for no encryption.
    pub recipients: Option<Arc<Recipients>>,
}

impl EnclosingPln {
    /// A file with the usual options.
    ///
    /// # Errors
    /// [`Error::Codec`] never occurs, unless this program has a bug.
    pub fn new(recipients: Option<Arc<Recipients>>) -> Result<EnclosingPln, Error> {
        Ok(EnclosingPln { options: WriteOptions::usual()?, recipients })
    }
}

/// Packs a tree as [`super::pack`] does; the image or tar is the content of a .pln file with the name of the target. The target is written when the
/// image or tar is complete.
///
/// # Errors
/// As [`super::pack`], and those of compressing a file. [`Error::Request`] for a .lrz file, and without [`packline_runtime::Resources::scratch`];
/// [`Error::Exists`] before anything is read.
pub fn pack_in_pln(
    request: PackRequest,
    pln: EnclosingPln,
    observer: &mut dyn Observer,
) -> Result<(PackSummary, Written), Error> {
    let PackRequest { mut source, target, container, resources, temporaries } = request;
    let (Output::File { path, .. } | Output::Stream(path, _)) = &target;
    let path = path.clone();
    prepare_late_output(&mut source, &target)?;
    let Some(scratch) = resources.scratch.clone() else {
        let what = format!("{}: an image that waits in a file", path.escaped());
        return Err(Error::Request { what, expected: "a directory of temporary files".to_string() });
    };
    let of_scratch = |action| {
        let path = path.clone();
        let scratch = scratch.clone();
        move |cause| Error::Output { path, action, cause: ScratchError::wrap(&scratch, cause) }
    };
    let encrypts = pln.recipients.is_some();
    let waiting = Waiting::create(&scratch, container.start(), encrypts).map_err(of_scratch("cannot create"))?;
    let mut writer = waiting.writer().map_err(of_scratch("cannot create"))?;
    let packed = match container {
        PackContainer::Image(image) => {
            let target = PackTarget::Seekable(path.clone(), &mut writer);
            let resources = resources.clone();
            let work = ImageWork { source, target, image: *image, resources, temporaries: temporaries.clone() };
            PackSummary::Image(Box::new(pack_image(work, observer)?))
        }
        PackContainer::Tar(tar) => {
            let target = Output::Stream(path.clone(), Box::new(writer));
            let work = TarWork::new(source, target, *tar, resources.clone(), temporaries.clone());
            PackSummary::Tar(pack_tar(work, observer)?)
        }
        #[cfg(feature = "lrz")]
        PackContainer::Lrz(_) => return Err(Container::no_tree("pln")),
    };
    let content = waiting.input().map_err(of_scratch("cannot read back"))?;
    let mut request = CompressRequest::new(Input::At(path.escaped(), content), target, pln.options);
    request.keep_attributes = false;
    request.recipients = pln.recipients;
    request.resources = resources;
    request.temporaries = temporaries;
    Ok((packed, pln_compress(request, observer)?))
}

/// The image or tar until it is complete.
struct Waiting {
    directory: PathBuf,
    place: Place,
}

enum Place {
    Plain(File),
    #[cfg(feature = "encryption")]
    Private(Arc<packline_encryption::PrivateFile>),
}

impl Waiting {
    /// A file in a directory of temporary files. `start` is the offset of the image.
    fn create(directory: &Path, start: u64, encrypts: bool) -> io::Result<Waiting> {
        let file = unnamed_temp_file(directory)?;
        let place = if encrypts { Place::private(file, start)? } else { Place::Plain(file) };
        Ok(Waiting { directory: directory.to_path_buf(), place })
    }

    fn writer(&self) -> io::Result<WaitingWriter> {
        let stream: Box<dyn SeekableStream + Send> = match &self.place {
            Place::Plain(file) => Box::new(file.try_clone()?),
            #[cfg(feature = "encryption")]
            Place::Private(file) => Box::new(packline_encryption::PrivateWriter::new(Arc::clone(file))),
        };
        Ok(WaitingWriter { directory: self.directory.clone(), stream })
    }

    /// The complete bytes.
    fn input(self) -> io::Result<Arc<dyn ReadAt>> {
        Ok(match self.place {
            Place::Plain(file) => Arc::new(FileInput::new(file)?),
            #[cfg(feature = "encryption")]
            Place::Private(file) => file,
        })
    }
}

impl Place {
    #[cfg(feature = "encryption")]
    fn private(file: File, start: u64) -> io::Result<Place> {
        packline_encryption::PrivateFile::new(file, start).map(Place::Private).map_err(io::Error::other)
    }

    /// Nothing is encrypted in a build without encryption.
    #[cfg(not(feature = "encryption"))]
    fn private(file: File, _start: u64) -> io::Result<Place> {
        Ok(Place::Plain(file))
    }
}

/// Writes the file that waits. Its errors name the directory.
struct WaitingWriter {
    directory: PathBuf,
    stream: Box<dyn SeekableStream + Send>,
}

impl WaitingWriter {
    fn named<T>(&self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|cause| ScratchError::wrap(&self.directory, cause))
    }
}

impl Write for WaitingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.stream.write(bytes);
        self.named(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.stream.flush();
        self.named(flushed)
    }
}

impl Read for WaitingWriter {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer);
        self.named(read)
    }
}

impl Seek for WaitingWriter {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = self.stream.seek(to);
        self.named(position)
    }
}
