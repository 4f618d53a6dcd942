//! Tells plain files, which are packed under their own names, from tars, images and other containers.

use std::fs::{self, File};
use std::path::Path;

use packline_image::{ImagePlace, metadata_cache};
use packline_runtime::FileInput;
use packline_tree::decompress::{self, Limits};

use crate::file_kind::FileKind;
use crate::source::{head_of, is_no_tar};
use crate::{ContentKind, Error, Source};

impl Source {
    /// Whether a path leads to a regular file that is neither an image nor a tar, plain or compressed, nor a container, nor of another
    /// known format of trees and disks: what [`Source::at`] has no entries for. An empty file is one, too; a file whose name ends as that of an image or a tar is not, since it
    /// is damaged if it is neither.
    ///
    /// # Errors
    /// [`Error::Source`] if it cannot be opened or read.
    pub fn is_plain_file(path: &Path) -> Result<bool, Error> {
        let refused = |cause| Error::Source { path: path.to_path_buf(), action: "cannot open", cause };
        if !fs::metadata(path).map_err(refused)?.is_file() || FileKind::of_path(path).is_some_and(FileKind::holds_tree)
        {
            return Ok(false);
        }
        let mut file = File::open(path).map_err(refused)?;
        let head = head_of(path, &mut file)?;
        Ok(match ContentKind::of_head(&head) {
            None if !is_no_tar(&head) => false,
            None => {
                let whole = FileInput::new(file).map_err(refused)?;
                ContentKind::foreign(&whole).is_none() && ImagePlace::new(path).open(metadata_cache(None)).is_err()
            }
            Some(ContentKind::Compressed(_)) => !holds_tar(path),
            Some(_) => false,
        })
    }
}

/// Whether a compressed file may have a tar in it: its content begins as one, or cannot be read.
fn holds_tar(path: &Path) -> bool {
    let head = File::open(path).and_then(|file| {
        let mut plain = decompress::open(file, &Limits::default())?;
        decompress::read_head(&mut plain)
    });
    head.map_or(true, |head| ContentKind::of_head(&head) == Some(ContentKind::Tar) || !is_no_tar(&head))
}
