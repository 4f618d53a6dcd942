//! Recognises what a source is by its first bytes, or, for zip archives, by its end.

use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use packline_archives::decompress;
use packline_archives::zip::ZipArchive;
use packline_runtime::Input;

use super::by_magic::ContentKind;
use super::file_kind::FileKind;
use super::opened_file::OpenedFile;
use crate::error::Error;

/// The start of an input that may be the end of a tar.
pub(crate) const ZEROS: [u8; 8] = [0; 8];

/// Reads the first bytes of an input. They show its compression.
pub(crate) fn head_of(name: &Path, input: &mut impl Read) -> Result<Vec<u8>, Error> {
    let refused = |cause| Error::Source { path: name.to_path_buf(), action: "cannot read", cause };
    decompress::read_head(input).map_err(refused)
}

/// Reads the first bytes of a stream. Returns them, and the complete stream.
pub(crate) fn peeked(name: &Path, mut stream: Box<dyn Read + Send>) -> Result<(Vec<u8>, Box<dyn Read + Send>), Error> {
    let head = head_of(name, &mut stream)?;
    let whole = Cursor::new(head.clone()).chain(stream);
    Ok((head, Box::new(whole)))
}

/// Returns the format of a stream with this start, if the format is known but is not one of our containers; and the complete stream.
pub(crate) fn foreign_in(
    name: &Path,
    head: &[u8],
    mut stream: Box<dyn Read + Send>,
) -> Result<(Option<ContentKind>, Box<dyn Read + Send>), Error> {
    if ContentKind::of_head(head).is_some() {
        return Ok((None, stream));
    }
    let refused = |cause| Error::Source { path: name.to_path_buf(), action: "cannot read", cause };
    let mut more = Vec::new();
    let found = ContentKind::foreign_stream(&mut more, &mut stream).map_err(refused)?;
    Ok((found, Box::new(Cursor::new(more).chain(stream))))
}

/// Rejects an input that should be a tar and is not. `foreign` returns its format if that is known and not one of our containers. A tar may
/// begin with zeros, which end it. A damaged first header of a tar is reported later.
pub(crate) fn refuse_container(
    name: &Path,
    head: &[u8],
    foreign: impl FnOnce() -> Option<ContentKind>,
) -> Result<(), Error> {
    match ContentKind::of_head(head).or_else(foreign) {
        None if !head.is_empty() && is_no_tar(head) => {
            let what = "neither a directory nor a tar: no header at byte 0";
            let expected = "a directory, or a tar, which may be compressed";
            Err(Error::Unrecognized {
                path: name.to_path_buf(),
                what: what.to_string(),
                expected: expected.to_string(),
            })
        }
        None | Some(ContentKind::Tar | ContentKind::Cpio | ContentKind::Compressed(_)) => Ok(()),
        Some(found) => Err(found.instead_of(name, "a directory or a tar")),
    }
}

/// Returns whether an input that does not begin as a container is not a tar either. Zeros may be the end of a tar, and the first header may be
/// damaged.
fn is_no_tar(head: &[u8]) -> bool {
    !head.starts_with(&ZEROS) && !has_tar_magic(head)
}

/// Returns whether an input begins with the header of a tar, sound or damaged.
pub(crate) fn has_tar_magic(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

/// Returns whether a file is a zip archive that other bytes precede, as in a program that unpacks itself. The end of a file whose first bytes are
/// known is not read.
pub(crate) fn is_zip_after_other_bytes(file: &OpenedFile) -> bool {
    let has_end = file.is_regular() || file.is_remote();
    has_end
        && file.content_kind().is_none()
        && ZipArchive::is_after_other_bytes(&(Arc::new(file.clone()) as Arc<dyn Input>))
}

/// Whether an input with this start is compressed.
pub(crate) fn is_compressed(head: &[u8]) -> bool {
    decompress::detect(head) != decompress::Format::Plain
}

/// Returns whether a file of zeros with this name is an empty tar. A file that is standard input has no name, and a stream of zeros is always
/// an empty tar.
pub(crate) fn may_be_empty_tar(path: &Path) -> bool {
    // /dev/shm has files in memory, not devices.
    (path.starts_with("/dev") && !path.starts_with("/dev/shm"))
        || path == Path::new("standard input")
        || FileKind::of_path(path).is_some_and(FileKind::is_tar)
}
