//! Opens an image by its path, at an offset or wherever it is found in the file.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_runtime::{FileStamp, store_stream};
use packline_squashfs::read::{CheckScope, FileInput, Image, Input, Opening, Origin, ReadError};
use packline_squashfs::verify::{Examiner, Finding};
use packline_tree::decompress::read_head;

use crate::{
    ContentKind, Error, FileIdentity, ImageEntries, ImageFile, ImageInfo, Resources, Selection, cat, metadata_cache,
    verify,
};

/// Expected content, for messages.
const EXPECTED: &str = "a SquashFS image";
/// A file that begins as none of ours, and in which no image was found.
const UNKNOWN: &str = "not an image, .lrz, .pln or tar file: no magic number at byte 0 and no superblock after it";

/// Location of an image.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ImagePlace {
    /// A file or a block device; of a stream that was stored, its name in messages.
    pub path: PathBuf,
    /// Byte at which the image starts; `None` to search for it.
    pub offset: Option<u64>,
    /// What was in a stream.
    stored: Option<Arc<File>>,
}

/// An open image and its name in messages.
#[derive(Debug, Clone)]
pub struct OpenedImage {
    /// The image.
    pub image: Image,
    /// Its path as the user gave it.
    pub display_path: PathBuf,
    /// The state of its file when it was opened.
    stamp: Option<FileStamp>,
}

impl ImagePlace {
    /// An image at the start of a file, or after other data in it.
    pub fn new(path: impl Into<PathBuf>) -> ImagePlace {
        ImagePlace { path: path.into(), offset: None, stored: None }
    }

    /// The same, with the image at byte `offset` of the file.
    #[must_use]
    pub fn at(self, offset: impl Into<Option<u64>>) -> ImagePlace {
        ImagePlace { offset: offset.into(), ..self }
    }

    /// An image or a .lrz file that comes through a stream, which is stored in an unnamed file in `directory`; `name` is for messages. A
    /// stream of another format, where an image should start at its first byte, is not stored.
    ///
    /// # Errors
    /// [`Error::Source`] if it cannot be read or stored, [`Error::Container`] and [`Error::Target`] for another format.
    pub fn of_stream(
        name: &Path,
        offset: Option<u64>,
        mut stream: &mut dyn Read,
        directory: &Path,
    ) -> Result<ImagePlace, Error> {
        let refused = |action| move |cause| Error::Source { path: name.to_path_buf(), action, cause };
        let mut head = read_head(&mut stream).map_err(refused("cannot read"))?;
        match ContentKind::of_head(&head) {
            Some(ContentKind::SquashFs | ContentKind::Lrz) => {}
            _ if offset.unwrap_or(0) > 0 => {}
            Some(other) => return Err(other.instead_of(name, EXPECTED)),
            None => {
                if let Some(found) = ContentKind::foreign_stream(&mut head, stream).map_err(refused("cannot read"))? {
                    return Err(found.instead_of(name, EXPECTED));
                }
                let what = if head.is_empty() {
                    "is empty"
                } else {
                    "a stream of an unknown format: no magic number at byte 0"
                };
                return Err(Error::Target { path: name.to_path_buf(), what: what.into(), expected: EXPECTED.into() });
            }
        }
        let stored = store_stream(&mut head.chain(stream), directory).map_err(refused("cannot store"))?;
        Ok(ImagePlace { path: name.to_path_buf(), offset, stored: Some(Arc::new(stored)) })
    }

    /// Whether it came through a stream.
    pub fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// Opens the file.
    ///
    /// # Errors
    /// [`Error::Source`].
    pub fn input(&self) -> Result<Arc<dyn Input>, Error> {
        let refused = |cause| Error::Source { path: self.path.clone(), action: "cannot open", cause };
        let file = self.stored.as_ref().map_or_else(|| File::open(&self.path), |stored| stored.try_clone());
        Ok(Arc::new(file.and_then(FileInput::new).map_err(refused)?))
    }

    /// Content of the file by its first bytes, unless an image at an offset in it is meant. `None` for unknown content.
    pub fn content_kind(&self) -> Option<ContentKind> {
        // All of a .pln file is compressed: there is no byte at which an image could start.
        let found = match &self.stored {
            Some(file) => ContentKind::of_stored(file),
            None => ContentKind::of_file(&self.path),
        };
        found.filter(|&found| matches!(found, ContentKind::Pln | ContentKind::Encrypted) || self.offset.is_none())
    }

    /// Opens the image; `metadata_cache` is in bytes.
    ///
    /// # Errors
    /// [`Error::Source`] if the file cannot be opened, [`Error::Container`] if it is another container, [`Error::Read`] if it contains no sound
    /// image.
    pub fn open(&self, metadata_cache: usize) -> Result<OpenedImage, Error> {
        self.open_input(self.input()?, metadata_cache)
    }

    /// Opens the image in an input that is read instead of the file; the path is its name in messages.
    ///
    /// # Errors
    /// As [`ImagePlace::open`].
    pub fn open_input(&self, input: Arc<dyn Input>, metadata_cache: usize) -> Result<OpenedImage, Error> {
        let origin = self.offset.map_or(Origin::Find, Origin::At);
        let found = ContentKind::of_input(input.size(), |head| input.read_at(0, head));
        use ContentKind::{Delta, Encrypted, Lrz, Pln};
        if let (None, Some(found @ (Lrz | Pln | Encrypted | Delta))) = (self.offset, found) {
            // Data stored in it may look like an image.
            return Err(found.instead_of(&self.path, EXPECTED));
        }
        let stamp = input.stamp();
        let image = Image::open(Arc::clone(&input), Opening { origin, metadata_cache });
        Ok(OpenedImage {
            image: image.map_err(|cause| self.fault(cause, found, input.as_ref()))?,
            display_path: self.path.clone(),
            stamp,
        })
    }

    /// Names the container of a file that has no image at its start or elsewhere.
    fn fault(&self, cause: ReadError, found: Option<ContentKind>, input: &dyn Input) -> Error {
        let nothing_at_start = matches!(cause, ReadError::Corrupt { offset: 0, .. }) && self.offset.unwrap_or(0) == 0;
        match found.or_else(|| ContentKind::foreign(input)) {
            Some(found) if nothing_at_start && found != ContentKind::SquashFs => found.instead_of(&self.path, EXPECTED),
            None if nothing_at_start && self.offset.is_none() => Error::Target {
                path: self.path.clone(),
                what: if input.size() == 0 { "is empty".to_string() } else { UNKNOWN.to_string() },
                expected: EXPECTED.to_string(),
            },
            _ => read_error(&self.path, cause),
        }
    }
}

impl OpenedImage {
    /// Opens an image at the start of a file or a block device, or behind other data in it.
    ///
    /// # Errors
    /// Those of [`ImagePlace::open`].
    pub fn open(path: impl Into<PathBuf>) -> Result<OpenedImage, Error> {
        ImagePlace::new(path).open(metadata_cache(None))
    }

    /// The entries that a selection names, in the order of their paths. An error concerns one entry; the others follow.
    pub fn entries<'s>(&'s self, selection: &'s Selection) -> ImageEntries<'s> {
        ImageEntries::new(self, selection)
    }

    /// Writes the content of a regular file to `out`. Symbolic links are followed inside the image.
    ///
    /// # Errors
    /// [`Error::Request`] for a path that leads to no regular file, [`Error::Read`] for content that cannot be read,
    /// [`Error::Output`] if `out` refuses.
    pub fn read(&self, path: impl AsRef<[u8]>, out: &mut dyn Write) -> Result<(), Error> {
        cat(self, &[path.as_ref().to_vec()], &Resources::new(1), out, "output")
    }

    /// Opens a regular file for reading at any position. Symbolic links are followed inside the image. Content is read when it
    /// is asked for.
    ///
    /// # Errors
    /// [`Error::Request`] for a path that leads to no regular file, [`Error::Read`] for metadata that cannot be read and for
    /// lack of memory for a decoder.
    pub fn open_file(&self, path: impl AsRef<[u8]>) -> Result<ImageFile, Error> {
        ImageFile::open(self, path.as_ref())
    }

    /// Reads every byte and checks every rule of the format. Returns the findings, in the order in which they were made.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not enough for so many inodes, [`Error::Read`] if cancelled.
    pub fn verify(&self, resources: &Resources) -> Result<Vec<Finding>, Error> {
        let mut findings = Findings(Vec::new());
        verify(self, resources, &mut findings)?;
        Ok(findings.0)
    }

    /// The same image, for [`OpenedImage::compare_data`] after its contents have been read.
    #[must_use]
    pub fn checked(&self, scope: CheckScope) -> OpenedImage {
        OpenedImage { image: self.image.checked(scope), ..self.clone() }
    }

    /// Compares the data with the checksum in the record of the image: see [`Image::compare_data`].
    ///
    /// # Errors
    /// [`Error::Read`] if the data is damaged or cannot be read, or if cancelled.
    pub fn compare_data(&self, resources: &Resources) -> Result<(), Error> {
        self.image.compare_data(&resources.cancel).map_err(|cause| self.fault(cause))
    }

    /// Superblock, codec and tables.
    pub fn info(&self) -> ImageInfo {
        ImageInfo::of(self)
    }

    /// The state of its file when it was opened; `None` if it is not in a file.
    #[doc(hidden)]
    pub fn stamp(&self) -> Option<FileStamp> {
        self.stamp
    }

    /// Identifies its file.
    pub(crate) fn identity(&self) -> Option<FileIdentity> {
        FileIdentity::of_path(&self.display_path)
    }

    /// Adds the image's name to a fault.
    pub fn fault(&self, cause: ReadError) -> Error {
        read_error(&self.display_path, cause)
    }

    /// Adds the names of the image and of an entry to a fault.
    pub fn fault_at(&self, entry: &[u8], cause: ReadError) -> Error {
        let entry = if entry.is_empty() { None } else { Some(entry.to_vec()) };
        Error::Read { path: self.display_path.clone(), entry, cause: Box::new(cause) }
    }
}

struct Findings(Vec<Finding>);

impl Examiner for Findings {
    fn found(&mut self, finding: Finding) {
        self.0.push(finding);
    }
}

fn read_error(path: &Path, cause: ReadError) -> Error {
    Error::Read { path: path.to_path_buf(), entry: None, cause: Box::new(cause) }
}
