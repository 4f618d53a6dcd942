//! Reads an image or a tar inside a .pln file without storing it. Only the records that are read are decompressed, and only the chunks of an
//! encrypted file that are read are decrypted.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use packline_runtime::Input as _;

use super::archive::{Archive, ArchiveOptions, of_stored};
use super::by_magic::ContentKind;
use super::input::Input;
use crate::error::Error;
use crate::streams::encrypted::Identities;
use crate::streams::opened_input::OpenedInput;
use crate::streams::pln_reader::PlnReader;
use crate::streams::request::StreamOptions;

/// The content of a .pln file as an input.
struct Content {
    reader: Mutex<PlnReader>,
    size: u64,
}

impl packline_runtime::Input for Content {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.seek(SeekFrom::Start(offset))?;
        reader.read_exact(buffer).map_err(unnamed)
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

/// Opens the content of a .pln file. A stream is stored first. A damaged file is read from a copy that its recovery data
/// repairs.
///
/// # Errors
/// Returns the errors of opening the file and of reading its first bytes; [`Error::Target`] if the content is not an image, a tar or a .lrz file.
pub(crate) fn open(
    file: Input,
    identities: Option<Arc<Identities>>,
    options: &ArchiveOptions<'_>,
) -> Result<Archive, Error> {
    let resources = options.resources.clone();
    let repairing = StreamOptions { identities, resources, ..StreamOptions::default() };
    let mut opened = OpenedInput::new(file)?;
    let path = opened.display_path.clone();
    opened.store(options.resources)?;
    let reader = PlnReader::of_input(opened, &repairing)?;
    let content = Content { size: reader.size(), reader: Mutex::new(reader) };
    let mut unread = None;
    let found = ContentKind::of_input(content.size(), |head| {
        content.read_at(0, head).map_err(|cause| unread.insert(cause).kind().into())
    });
    match found {
        Some(
            ContentKind::SquashFs
            | ContentKind::Erofs
            | ContentKind::Lrz
            | ContentKind::Tar
            | ContentKind::Cpio
            | ContentKind::Zip
            | ContentKind::Compressed(_),
        ) => of_stored(path, found, Arc::new(content), options),
        _ if options.offset.is_some() => of_stored(path, found, Arc::new(content), options),
        _ => match unread {
            Some(cause) => Err(Error::Source { path, action: "cannot read", cause }),
            None => Err(no_tree(path, found)),
        },
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
