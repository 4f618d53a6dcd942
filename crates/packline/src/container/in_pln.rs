//! An image or a tar in a .pln file, read where it is: only the records that are touched are decompressed, and of an encrypted file only the
//! chunks that are touched are decrypted. The content is stored nowhere.

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

/// An error of the reader without the name of the file, which whoever reads the content adds.
fn unnamed(error: io::Error) -> io::Error {
    let kind = error.kind();
    match error.downcast::<Error>() {
        Ok(Error::Stream { cause, .. }) => io::Error::new(kind, *cause),
        Ok(other) => io::Error::new(kind, other),
        Err(error) => error,
    }
}

/// Opens what is in a .pln file. The file itself is stored first if it is a stream. A damaged file is read from a copy that its recovery data
/// repairs.
///
/// # Errors
/// Those of opening the file and of reading its first bytes; [`Error::Target`] for a content that is neither an image, a tar nor a .lrz file.
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
        Some(ContentKind::SquashFs | ContentKind::Lrz | ContentKind::Tar | ContentKind::Compressed(_)) => {
            of_stored(path, found, Arc::new(content), options)
        }
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
    Error::Target { path, what, expected: "a SquashFS image, a tar or a .lrz file in it".to_string() }
}
