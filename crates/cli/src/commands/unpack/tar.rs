//! `packline unpack` to a tar: which destinations are tars, and how they are compressed.

use std::path::Path;

use packline::requests::FileKind;
use packline_codec::StreamSpec;

use crate::args::wrong;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

/// Returns whether the name of a destination is the name of a tar, not of a directory.
///
/// # Errors
/// [`Failure::Usage`] for the name of a format that packline cannot write.
pub fn is_name_of_tar(destination: &Path) -> Result<bool, Failure> {
    if destination.as_os_str() == "-" || is_directory(destination) {
        return Ok(!is_directory(destination));
    }
    match FileKind::of_path(destination) {
        None => Ok(false),
        Some(FileKind::Tar(_)) => Ok(true),
        Some(kind) => Err(not_written(destination, kind, "--to chooses one for any name")),
    }
}

fn is_directory(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir()
}

fn not_written(path: &Path, kind: FileKind, hint: &str) -> Failure {
    let expected = "a directory, or a tar: .tar, .tar.gz, .tar.xz, .tar.zst, .tar.bz2";
    Failure::usage(format!(
        "{}: the name suggests {kind}, which packline cannot write (expected {expected}); {hint}",
        path.escaped()
    ))
}

/// Returns `--compress`, or the compression for the ending of the name.
pub fn compression(asked: Option<&str>, destination: &Path) -> Result<Option<StreamSpec>, Failure> {
    match asked {
        Some("none") => Ok(None),
        Some(text) => StreamSpec::parse(text).map(Some).map_err(|error| wrong("compress", error)),
        None => match FileKind::of_path(destination) {
            Some(kind @ FileKind::OtherTar(_)) => {
                Err(not_written(destination, kind, "--compress chooses for any name"))
            }
            kind => Ok(kind.and_then(FileKind::stream).map(StreamSpec::new)),
        },
    }
}
