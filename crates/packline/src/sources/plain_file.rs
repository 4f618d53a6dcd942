//! Distinguishes plain files, which are packed under their own names, from tars, cpio and zip archives, images and other containers.

use std::fs;
use std::path::Path;

use packline_archives::decompress::{self, Limits};
use packline_image::metadata_cache;

use super::source::Source;
use crate::container::by_magic::ContentKind;
use crate::container::file_kind::FileKind;
use crate::container::image_place::ImagePlace;
use crate::container::opened_file::OpenedFile;
use crate::container::recognise::{has_tar_magic, is_zip_after_other_bytes};
use crate::error::Error;

impl Source {
    /// Returns whether a source that is given alone is a plain file. A plain file is a regular file that is not an image, not a tar (plain
    /// or compressed), not a cpio or zip archive (also after other bytes), not a container and not of another known format of trees and disks.
    /// An empty file and a file of zeros are plain files. A file with the name ending of an image, a tar or a zip archive is never a plain
    /// file: if it is none of them, it is damaged.
    ///
    /// # Errors
    /// [`Error::Source`] if the file cannot be opened or read.
    pub fn is_plain_file(place: &ImagePlace) -> Result<bool, Error> {
        is_plain(place, Company::Alone)
    }

    /// Returns whether a source that is given together with others is packed as a plain file. Unlike [`Source::is_plain_file`], this is
    /// true for zip archives, because documents and programs are zip archives too; for cpio archives, because they are files of a boot
    /// directory; for files of known formats that packline has no entries for (an ext4 image, a .pln file); and for a file that is
    /// compressed with an unknown or a damaged stream.
    ///
    /// # Errors
    /// [`Error::Source`] if the file cannot be opened or read.
    pub fn is_plain_file_among_others(place: &ImagePlace) -> Result<bool, Error> {
        is_plain(place, Company::Others)
    }
}

/// Whether a file is the one source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    Alone,
    Others,
}

fn is_plain(place: &ImagePlace, company: Company) -> Result<bool, Error> {
    let refused = |cause| Error::Source { path: place.path.clone(), action: "cannot open", cause };
    // A pipe is not opened here: its bytes could not be read again.
    if !fs::metadata(&place.path).map_err(refused)?.is_file() || promises_tree(&place.path, company) {
        return Ok(false);
    }
    let file = place.file()?;
    let head = file.readable_head()?;
    Ok(match file.content_kind() {
        None if has_tar_magic(head) => false,
        None => {
            let foreign = company == Company::Alone && ContentKind::foreign(file).is_some();
            let is_zip = company == Company::Alone && is_zip_after_other_bytes(file);
            !foreign && !is_zip && place.open(metadata_cache(None)).is_err()
        }
        Some(ContentKind::Compressed(_)) => !holds_tar(file, company),
        Some(ContentKind::SquashFs | ContentKind::Erofs | ContentKind::Tar) => false,
        Some(_) => company == Company::Others,
    })
}

/// Returns whether a file's name promises entries to pack. Disk images of all kinds end in `.img`, so that ending is ignored for a source among
/// others.
fn promises_tree(path: &Path, company: Company) -> bool {
    let Some(kind) = FileKind::of_path(path) else { return false };
    match company {
        Company::Alone => kind.holds_tree(),
        Company::Others => {
            let any_disk = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("img"));
            kind.is_tar() || matches!(kind, FileKind::SquashFs | FileKind::Erofs) && !any_disk
        }
    }
}

/// Returns whether a compressed file may hold a tar, or, alone, a cpio archive. Alone, a file that cannot be decompressed may.
fn holds_tar(file: &OpenedFile, company: Company) -> bool {
    let plain = decompress::open(file.stream(), &Limits::default());
    let head = plain.and_then(|mut plain| decompress::read_head(&mut plain));
    let is_archive = |head: &[u8]| match ContentKind::of_head(head) {
        Some(ContentKind::Tar) => true,
        Some(ContentKind::Cpio) => company == Company::Alone,
        _ => has_tar_magic(head),
    };
    head.map_or(company == Company::Alone, |head| is_archive(&head))
}
