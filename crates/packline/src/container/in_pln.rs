//! Reads an image or an archive inside a .pln file without storing it. Only the records that are read are decompressed, and only the chunks of
//! an encrypted file that are read are decrypted.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use packline_image::OpenedImage;
use packline_runtime::Resources;
use packline_volume::{Origin, ReadError};

use super::by_magic::ContentKind;
use super::image_place::ImagePlace;
use super::input::Input;
use super::opened_file::OpenedFile;
use crate::error::Error;
use crate::streams::encrypted::Identities;
use crate::streams::opened_input::OpenedInput;
use crate::streams::pln_reader::PlnReader;
use crate::streams::request::StreamOptions;

/// The most readers of one file, each of which holds a record.
const READERS: usize = 8;
/// The records that a reader holds: one decoded, one as stored, and about one more of the decoder.
const RECORDS_OF_READER: u64 = 3;
/// The readers hold at most one part of the memory limit of this many.
const PARTS: u64 = 8;

/// The content of a .pln file as an input.
struct Content {
    size: u64,
    record_bytes: u64,
    /// A record is read by the reader with its number, modulo the number of readers. So threads that read neighbouring records do not wait
    /// for one another, and the last records are held.
    readers: Vec<Mutex<PlnReader>>,
}

impl Content {
    /// Reads with one reader for each worker, or fewer if the memory limit demands it.
    fn new(reader: PlnReader, resources: &Resources) -> Content {
        let size = reader.size();
        let record_bytes = reader.record_bytes();
        let affordable = resources.memory.map_or(u64::MAX, |limit| limit / PARTS / (RECORDS_OF_READER * record_bytes));
        let count = affordable.min(resources.workers as u64).clamp(1, READERS as u64);
        let others = (1..count).map(|_| reader.another()).collect::<Vec<_>>();
        let readers = [reader].into_iter().chain(others).map(Mutex::new).collect();
        Content { size, record_bytes, readers }
    }
}

impl packline_runtime::Input for Content {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            let record = offset / self.record_bytes;
            let reader = &self.readers[(record % self.readers.len() as u64) as usize];
            let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
            reader.seek(SeekFrom::Start(offset))?;
            let read = reader.read(buffer).map_err(unnamed)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            offset += read as u64;
            buffer = &mut buffer[read..];
        }
        Ok(())
    }
}

/// Removes the name of the file from an error of the reader. The reader of the content adds the name again.
fn unnamed(error: io::Error) -> io::Error {
    let kind = error.kind();
    match error.downcast::<Error>() {
        Ok(Error::Stream { cause, .. }) => io::Error::new(kind, *cause),
        Ok(other) => io::Error::new(kind, other),
        Err(error) => error,
    }
}

impl OpenedFile {
    /// Opens the content of a .pln file, `file`, to be read at any offset: an image, a tar, a zip archive or a .lrz file, or anything if
    /// `anything` is set. It is not stored, but a .pln file in a stream is. `identities` open an encrypted file. A damaged file is read from a
    /// copy that its recovery data repairs.
    ///
    /// # Errors
    /// Returns the errors of opening the file and of reading its first bytes; [`Error::Unrecognized`] for other content.
    pub fn in_pln(
        file: Input,
        identities: Option<Arc<Identities>>,
        anything: bool,
        resources: &Resources,
    ) -> Result<OpenedFile, Error> {
        let repairing = StreamOptions { identities, resources: resources.clone(), ..StreamOptions::default() };
        let mut opened = OpenedInput::new(file)?;
        let path = opened.display_path.clone();
        opened.store(resources)?;
        let content = Arc::new(Content::new(PlnReader::of_input(opened, &repairing)?, resources));
        let mut unread = None;
        let found = ContentKind::of_input(content.size, |head| {
            let read = packline_runtime::Input::read_at(content.as_ref(), 0, head);
            read.map_err(|cause| unread.insert(cause).kind().into())
        });
        if let Some(cause) = unread {
            return Err(Error::Source { path, action: "cannot read", cause });
        }
        match found {
            Some(
                ContentKind::SquashFs
                | ContentKind::Erofs
                | ContentKind::Lrz
                | ContentKind::Tar
                | ContentKind::Cpio
                | ContentKind::Zip
                | ContentKind::Compressed(_),
            ) => {}
            _ if anything => {}
            None if holds_image(&path, &content) => {}
            _ => return Err(no_tree(path, found)),
        }
        Ok(OpenedFile::remote(path, content))
    }
}

impl ImagePlace {
    /// The place in the content of a .pln file, whose place this is: [`OpenedFile::in_pln`]. What the open file may hold is subtracted from the
    /// memory of `resources`.
    ///
    /// # Errors
    /// Returns the errors of [`OpenedFile::in_pln`].
    pub fn in_pln(self, identities: Option<Arc<Identities>>, resources: &mut Resources) -> Result<ImagePlace, Error> {
        let file = Input::Opened(self.file()?.clone());
        let content = OpenedFile::in_pln(file, identities, self.offset.is_some(), resources)?;
        resources.memory = resources.memory.map(|limit| limit - limit / PARTS);
        Ok(ImagePlace::of_file(content).at(self.offset).with_devices(self.devices))
    }
}

/// Whether there is an image after the first bytes of a content. If the content cannot be read, who opens the image reports that.
fn holds_image(path: &Path, content: &Arc<Content>) -> bool {
    let content: Arc<dyn packline_runtime::Input> = content.clone();
    match OpenedImage::new(path.to_path_buf(), content, &[], Origin::Find, 0) {
        Ok(_) => true,
        Err(cause) => matches!(cause, ReadError::Input { .. }),
    }
}

fn no_tree(path: PathBuf, found: Option<ContentKind>) -> Error {
    let content = found.map_or_else(|| "neither an image nor a tar".to_string(), |found| found.to_string());
    let what = format!("a .pln file whose content is {content}");
    Error::Unrecognized {
        path,
        what,
        expected: "a SquashFS or EROFS image, a tar, a cpio or zip archive or a .lrz file in it".to_string(),
    }
}
