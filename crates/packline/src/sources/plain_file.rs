//! Tells plain files, which are packed under their own names, from tars, images and other containers.

use std::fs::{self, File};
use std::path::Path;

use packline_archives::decompress::{self, Limits};
use packline_image::metadata_cache;
use packline_runtime::FileInput;

use super::recognise::{has_tar_magic, head_of};
use crate::container::file_kind::FileKind;
use crate::container::image_place::ImagePlace;
use crate::{ContentKind, Error, Source};

impl Source {
    /// Returns whether a source that is given alone is a plain file: a regular file that is neither an image nor a tar, plain or compressed,
    /// nor a container, nor of another known format of trees and disks. An empty file and a file of zeros are plain files. A file whose
    /// name ends as that of an image or a tar is not, because the file is damaged if it is neither.
    ///
    /// # Errors
    /// [`Error::Source`] if the file cannot be opened or read.
    pub fn is_plain_file(path: &Path) -> Result<bool, Error> {
        is_plain(path, Company::Alone)
    }

    /// Returns whether a source that is given together with others is packed as a plain file. Unlike [`Source::is_plain_file`], this is
    /// true for files of known formats that packline has no entries for (a zip archive, an ext4 image, a .pln file), and for a file that
    /// is compressed with an unknown or a damaged stream.
    ///
    /// # Errors
    /// [`Error::Source`] if the file cannot be opened or read.
    pub fn is_plain_file_among_others(path: &Path) -> Result<bool, Error> {
        is_plain(path, Company::Others)
    }
}

/// Whether a file is the one source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    Alone,
    Others,
}

fn is_plain(path: &Path, company: Company) -> Result<bool, Error> {
    let refused = |cause| Error::Source { path: path.to_path_buf(), action: "cannot open", cause };
    if !fs::metadata(path).map_err(refused)?.is_file() || promises_tree(path, company) {
        return Ok(false);
    }
    let mut file = File::open(path).map_err(refused)?;
    let head = head_of(path, &mut file)?;
    Ok(match ContentKind::of_head(&head) {
        None if has_tar_magic(&head) => false,
        None => {
            let whole = FileInput::new(file).map_err(refused)?;
            let foreign = company == Company::Alone && ContentKind::foreign(&whole).is_some();
            !foreign && ImagePlace::new(path).open(metadata_cache(None)).is_err()
        }
        Some(ContentKind::Compressed(_)) => !holds_tar(path, company),
        Some(ContentKind::SquashFs | ContentKind::Tar) => false,
        Some(_) => company == Company::Others,
    })
}

/// Returns whether a file's name promises entries to pack. Disk images of all kinds end in `.img`, so beside others the ending promises
/// nothing.
fn promises_tree(path: &Path, company: Company) -> bool {
    let Some(kind) = FileKind::of_path(path) else { return false };
    match company {
        Company::Alone => kind.holds_tree(),
        Company::Others => {
            let any_disk = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("img"));
            kind.is_tar() || kind == FileKind::SquashFs && !any_disk
        }
    }
}

/// Returns whether a compressed file may hold a tar. Alone, a file that cannot be decompressed may.
fn holds_tar(path: &Path, company: Company) -> bool {
    let head = File::open(path).and_then(|file| {
        let mut plain = decompress::open(file, &Limits::default())?;
        decompress::read_head(&mut plain)
    });
    let is_tar = |head: &[u8]| ContentKind::of_head(head) == Some(ContentKind::Tar) || has_tar_magic(head);
    head.map_or(company == Company::Alone, |head| is_tar(&head))
}
