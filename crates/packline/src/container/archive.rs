//! A file or stream of any container, recognised by its first bytes.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "oci")]
use packline_archives::oci::{OciPlace, Platform};
use packline_archives::tar::TarOptions;
use packline_image::{OpenedImage, metadata_cache};
use packline_runtime::escape::Escape;
use packline_runtime::{InputStream, Resources};
use packline_tree::destination::FileId;
use packline_tree::keep_all;

use super::by_magic::{ContentKind, log_kind};
use super::image_place::{ImagePlace, UNKNOWN};
use super::input::Input;
use super::opened_file::OpenedFile;
use super::recognise::{foreign_in, is_zip_after_other_bytes, may_be_empty_tar, peeked};
use super::scratch::{stored, stored_in};
use crate::error::Error;
use crate::sources::examine::examine;
use crate::sources::inputs::ReadInputs;
use crate::sources::planned::{DEFAULT_META, Opening, Share};
use crate::sources::source::Source;
#[cfg(feature = "lrz")]
use crate::streams::lrz::{self, OpenedLrz, lrz_open_file, lrz_open_input};

/// The formats that are read, for messages.
const READ: &str = "a SquashFS or EROFS image, a tar, a cpio or zip archive, a .lrz or a .pln file";

/// A function that reads a tar.
pub type TarWork<'w> = dyn FnMut(&mut dyn packline_tree::Source) -> Result<(), Error> + 'w;

/// An open file or stream.
#[non_exhaustive]
pub enum Archive {
    /// An image, or a file that is assumed to be one.
    Image(OpenedImage),
    /// A .lrz file.
    #[cfg(feature = "lrz")]
    Lrz(OpenedLrz),
    /// A .pln file, perhaps encrypted, not opened yet.
    #[cfg(feature = "pln")]
    Pln(Input),
    /// A tar or a cpio archive, plain or compressed, a zip archive, or a container image.
    Tar(OpenedTar),
}

/// How an [`Archive`] is opened.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ArchiveOptions<'a> {
    /// Byte of the file at which an image starts; `None` to recognise the container, and to search for an image.
    pub offset: Option<u64>,
    /// Files that have contents of an EROFS image: [`ImagePlace::devices`].
    pub devices: &'a [PathBuf],
    /// The password of a .lrz file.
    pub password: Option<&'a [u8]>,
    /// Whether a tar is read more than once. If so, a stream is stored.
    pub again: bool,
    /// Memory, and the directory for temporary files.
    pub resources: &'a Resources,
}

impl<'a> ArchiveOptions<'a> {
    /// Options that recognise the container, without a password, for a tar that is read once.
    pub fn new(resources: &'a Resources) -> ArchiveOptions<'a> {
        ArchiveOptions { offset: None, devices: &[], password: None, again: false, resources }
    }
}

/// A tar or a cpio archive, plain or compressed, a zip archive, or a container image, whose layers are merged.
pub struct OpenedTar {
    /// The name in messages.
    pub display_path: PathBuf,
    kind: ContentKind,
    content: Content,
}

/// A tar, cpio or zip archive that was found in a stream, or the stream.
pub enum TarOrStream {
    /// The stream is a tar, a cpio or a zip archive.
    Tar(OpenedTar),
    /// The complete stream, which has another format.
    Stream(Box<dyn Read + Send>),
}

enum Content {
    File(OpenedFile),
    Stream(Box<dyn Read + Send>),
    Stored(Arc<dyn packline_runtime::Input>),
    #[cfg(feature = "oci")]
    Layers {
        place: OciPlace,
        platform: Option<Platform>,
    },
}

impl Archive {
    /// Opens a file or stream. An image, a zip archive or a .lrz file in a stream is stored first, in an unnamed temporary file.
    ///
    /// # Errors
    /// [`Error`], with the name of the file; [`Error::Unrecognized`] for a stream of an unknown format.
    pub fn open(input: Input, options: &ArchiveOptions<'_>) -> Result<Archive, Error> {
        match input {
            Input::File(path) => Archive::open(Input::open(path)?, options),
            Input::Opened(file) => open_file(file, options),
            Input::Stream(name, stream) => open_stream(name, stream, options),
            Input::At(name, input) => open_stream(name, Box::new(InputStream::new(input, 0)), options),
        }
    }

    /// A container image at `place`, which is called `path` in messages: the image of `platform`, or of this machine's if there are
    /// several. Its layers are stored each time that it is read.
    ///
    /// # Errors
    /// [`Error::Request`] for a stream, which could be read only once.
    #[cfg(feature = "oci")]
    pub fn container_image(place: OciPlace, platform: Option<Platform>, path: PathBuf) -> Result<Archive, Error> {
        if place.is_stream() {
            let what = format!("{}: a container image in a stream", path.escaped());
            return Err(Error::Request { what, expected: "a directory or a file".to_string() });
        }
        let content = Content::Layers { place, platform };
        Ok(Archive::Tar(OpenedTar { display_path: path, kind: ContentKind::ContainerImage, content }))
    }

    /// The name in messages.
    pub fn display_path(&self) -> PathBuf {
        match self {
            Archive::Image(image) => image.display_path.clone(),
            #[cfg(feature = "lrz")]
            Archive::Lrz(opened) => opened.display_path.clone(),
            #[cfg(feature = "pln")]
            Archive::Pln(input) => input.shown(),
            Archive::Tar(tar) => tar.display_path.clone(),
        }
    }

    /// Returns the container.
    pub fn content_kind(&self) -> ContentKind {
        match self {
            Archive::Image(image) => ContentKind::from(&image.file_system),
            #[cfg(feature = "lrz")]
            Archive::Lrz(_) => ContentKind::Lrz,
            #[cfg(feature = "pln")]
            Archive::Pln(_) => ContentKind::Pln,
            Archive::Tar(tar) => tar.kind,
        }
    }

    /// Passes a tar, a cpio or zip archive, a container image, or the tar in a .lrz file, to `work` as a source. [`TarOptions::lenient`] and
    /// [`TarOptions::end_mark`] apply only to a tar outside a .lrz file. Returns the warnings of the tar.
    ///
    /// # Errors
    /// Returns the errors of `work` and of reading; [`Error::Container`] for another container.
    pub fn read_tar(
        &mut self,
        options: TarOptions,
        resources: &Resources,
        work: &mut TarWork<'_>,
    ) -> Result<Vec<String>, Error> {
        let expected = "a SquashFS or EROFS image, a tar, a cpio or zip archive, or a .lrz file with a tar";
        match self {
            Archive::Tar(tar) => {
                let mut source = tar.open(options, resources, None)?;
                work(source.as_mut())?;
                Ok(source.take_warnings())
            }
            #[cfg(feature = "lrz")]
            Archive::Lrz(opened) => lrz::read_tar(opened, resources, work),
            other => Err(other.content_kind().instead_of(&other.display_path(), expected)),
        }
    }
}

impl OpenedTar {
    /// The tar, cpio or zip archive in a file. `None` if the file has another format, or cannot be read. A file of zeros is an empty tar if
    /// it has the name of a tar.
    pub fn at(place: &ImagePlace) -> Option<OpenedTar> {
        let file = place.file().ok().filter(|_| place.offset.is_none())?;
        let kind = match file.content_kind() {
            Some(kind @ (ContentKind::Tar | ContentKind::Cpio | ContentKind::Zip | ContentKind::Compressed(_))) => kind,
            None if file.is_regular() && may_be_empty_tar(file.path()) && is_empty_tar(file) => ContentKind::Tar,
            // An image after other bytes comes first.
            None if is_zip_after_other_bytes(file) && place.open(metadata_cache(None)).is_err() => ContentKind::Zip,
            _ => return None,
        };
        Some(OpenedTar { display_path: place.path.clone(), kind, content: Content::File(file.clone()) })
    }

    /// The tar, cpio or zip archive in a stream, by its first bytes; or the complete stream, if it has another format. `name` is for
    /// messages. A zip archive is stored in an unnamed temporary file in `directory`.
    ///
    /// # Errors
    /// [`Error::Source`] if the stream cannot be read or stored.
    pub fn of_stream(name: &Path, stream: Box<dyn Read + Send>, directory: &Path) -> Result<TarOrStream, Error> {
        let (head, mut stream) = peeked(name, stream)?;
        let found = ContentKind::of_head(&head);
        log_kind(name, found);
        let display_path = name.to_path_buf();
        let kind = match found {
            Some(kind @ (ContentKind::Tar | ContentKind::Cpio | ContentKind::Compressed(_))) => kind,
            Some(kind @ ContentKind::Zip) => {
                let content = Content::Stored(stored_in(name, &mut stream, directory)?);
                return Ok(TarOrStream::Tar(OpenedTar { display_path, kind, content }));
            }
            None if !head.is_empty() && head.iter().all(|&byte| byte == 0) => ContentKind::Tar,
            _ => return Ok(TarOrStream::Stream(stream)),
        };
        Ok(TarOrStream::Tar(OpenedTar { display_path, kind, content: Content::Stream(stream) }))
    }

    /// Returns whether it is a tar, a cpio archive, a compressed file with one of them, a zip archive or a container image.
    pub fn content_kind(&self) -> ContentKind {
        self.kind
    }

    /// Identifies its file, which a destination must not replace.
    pub(crate) fn file_id(&self) -> Option<FileId> {
        match &self.content {
            Content::File(file) => file.identity().and_then(FileId::of_identity),
            _ => None,
        }
    }

    /// Opens the tar as a source. `inputs` compares the file at the end.
    ///
    /// # Errors
    /// Returns the errors of reading its first bytes.
    pub(crate) fn open(
        &mut self,
        options: TarOptions,
        resources: &Resources,
        inputs: Option<&ReadInputs>,
    ) -> Result<Box<dyn packline_tree::Source>, Error> {
        let planned = examine(self.source(resources)?)?;
        let limit = resources.memory;
        let spare = limit.unwrap_or(u64::MAX).saturating_sub(planned.demand(limit).fixed);
        let share = Share { threads: resources.workers, limit, spare };
        let opening = Opening { inputs, ..Opening::in_place(options, resources, keep_all(), DEFAULT_META) };
        Ok(planned.open(&share, &opening)?.source)
    }

    /// The tar as a source of a pack.
    ///
    /// # Errors
    /// Returns the errors of [`OpenedTar::open`].
    pub fn into_source(mut self, resources: &Resources) -> Result<Source, Error> {
        self.source(resources)
    }

    #[cfg_attr(not(feature = "oci"), allow(unused_variables, reason = "only container images are stored here"))]
    pub(crate) fn source(&mut self, resources: &Resources) -> Result<Source, Error> {
        let name = self.display_path.escaped();
        let is_zip = self.kind == ContentKind::Zip;
        Ok(match &mut self.content {
            Content::File(file) if is_zip => {
                Source::Zip { path: self.display_path.clone(), input: Arc::new(file.clone()) }
            }
            Content::Stored(input) if is_zip => {
                Source::Zip { path: self.display_path.clone(), input: Arc::clone(input) }
            }
            Content::File(file) => Source::opened_tar(file.clone()),
            Content::Stored(input) => Source::tar_reader(name, InputStream::new(Arc::clone(input), 0)),
            Content::Stream(stream) => {
                Source::TarStream { name, stream: std::mem::replace(stream, Box::new(io::empty())) }
            }
            #[cfg(feature = "oci")]
            Content::Layers { place, platform } => Source::oci(place, platform.clone(), resources)?,
        })
    }
}

fn open_file(file: OpenedFile, options: &ArchiveOptions<'_>) -> Result<Archive, Error> {
    let place =
        ImagePlace::of_file(file.clone()).at(options.offset).with_devices(options.devices.to_vec()).expecting(READ);
    let tar = |kind| {
        let display_path = file.path().to_path_buf();
        Archive::Tar(OpenedTar { display_path, kind, content: Content::File(file.clone()) })
    };
    match place.content_kind().or_else(|| kind_by_end(&file, options)) {
        #[cfg(feature = "lrz")]
        Some(ContentKind::Lrz) => lrz_open_file(&file, options.password).map(Archive::Lrz),
        #[cfg(feature = "pln")]
        Some(ContentKind::Pln | ContentKind::Encrypted) => Ok(Archive::Pln(Input::Opened(file))),
        Some(kind @ (ContentKind::Tar | ContentKind::Cpio | ContentKind::Zip | ContentKind::Compressed(_))) => {
            Ok(tar(kind))
        }
        _ => match place.open(metadata_cache(options.resources.memory)) {
            Err(_) if options.offset.is_none() && file.is_regular() && is_empty_tar(&file) => Ok(tar(ContentKind::Tar)),
            Err(_) if options.offset.is_none() && is_zip_after_other_bytes(&file) => Ok(tar(ContentKind::Zip)),
            opened => opened.map(Archive::Image),
        },
    }
}

/// Whether an input begins with a block of zeros and has no known format. Such an input can only be an empty tar.
fn is_empty_tar(input: &dyn packline_runtime::Input) -> bool {
    let mut head = [1; 512];
    input.read_at(0, &mut head).is_ok() && head == [0; 512] && ContentKind::foreign(input).is_none()
}

/// Recognises a file whose first bytes are damaged by its end: only .pln files can end with recovery data.
#[cfg(feature = "pln")]
fn kind_by_end(file: &OpenedFile, options: &ArchiveOptions<'_>) -> Option<ContentKind> {
    if options.offset.is_some() || !file.is_regular() {
        return None;
    }
    let stripped = packline_recovery::strip(Arc::new(file.clone())).ok()?;
    stripped.recovery?;
    log::debug!("{}: recognised as a .pln file by the recovery data at its end", file.path().escaped());
    Some(ContentKind::Pln)
}

#[cfg(not(feature = "pln"))]
fn kind_by_end(_: &OpenedFile, _: &ArchiveOptions<'_>) -> Option<ContentKind> {
    None
}

fn open_stream(name: String, stream: Box<dyn Read + Send>, options: &ArchiveOptions<'_>) -> Result<Archive, Error> {
    let path = PathBuf::from(&name);
    let (head, stream) = peeked(&path, stream)?;
    let found = ContentKind::of_head(&head);
    log_kind(&path, found);
    let (foreign, mut stream) = match options.offset {
        None => foreign_in(&path, &head, stream)?,
        Some(_) => (None, stream),
    };
    if let Some(foreign) = foreign {
        return Err(foreign.instead_of(&path, READ));
    }
    match found.filter(|&found| matches!(found, ContentKind::Pln | ContentKind::Encrypted) || options.offset.is_none())
    {
        #[cfg(feature = "pln")]
        Some(ContentKind::Pln | ContentKind::Encrypted) => return Ok(Archive::Pln(Input::Stream(name, stream))),
        Some(kind @ (ContentKind::Tar | ContentKind::Cpio | ContentKind::Compressed(_))) if !options.again => {
            return Ok(Archive::Tar(OpenedTar { display_path: path, kind, content: Content::Stream(stream) }));
        }
        // An empty stream, or one that begins with zeros, can only be a tar.
        None if options.offset.is_none() && head.iter().all(|&byte| byte == 0) => {
            let kind = ContentKind::Tar;
            let content = Content::Stream(stream);
            return Ok(Archive::Tar(OpenedTar { display_path: path, kind, content }));
        }
        None if options.offset.is_none() => {
            return Err(Error::Unrecognized { path, what: UNKNOWN.to_string(), expected: READ.to_string() });
        }
        _ => {}
    }
    let stored = stored(&path, &mut stream, options.resources)?;
    of_stored(path, found, stored, options)
}

/// Opens an archive in an input that is read instead of a file. `found` is its container.
fn of_stored(
    path: PathBuf,
    found: Option<ContentKind>,
    stored: Arc<dyn packline_runtime::Input>,
    options: &ArchiveOptions<'_>,
) -> Result<Archive, Error> {
    match found {
        #[cfg(feature = "lrz")]
        Some(ContentKind::Lrz) if options.offset.is_none() => {
            lrz_open_input(&path, stored, options.password).map(Archive::Lrz)
        }
        Some(kind @ (ContentKind::Tar | ContentKind::Cpio | ContentKind::Zip | ContentKind::Compressed(_)))
            if options.offset.is_none() =>
        {
            Ok(Archive::Tar(OpenedTar { display_path: path, kind, content: Content::Stored(stored) }))
        }
        _ => {
            let image = ImagePlace::new(path).at(options.offset).with_devices(options.devices.to_vec()).expecting(READ);
            image.open_input(stored, metadata_cache(options.resources.memory)).map(Archive::Image)
        }
    }
}
