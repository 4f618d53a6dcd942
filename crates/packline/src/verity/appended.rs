//! A tree behind an image that exists.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use packline_runtime::{Input, WriteBehind};
use packline_verity::{Leaves, Tree, Uuid, find_appended, write_tree};

use super::{fault, refused, scratch_fault};
use crate::Error;

/// An image with a tree behind it, which is cut off again if this is dropped.
pub(super) struct Appended {
    image: File,
    size: u64,
    keep: bool,
}

impl Appended {
    /// Writes the tree to a temporary file first, so that it is appended in one go.
    pub(super) fn write(
        path: &Path,
        size: u64,
        leaves: &mut Leaves,
        uuid: Option<Uuid>,
        scratch: File,
    ) -> Result<(Tree, Appended), Error> {
        let whole = scratch.try_clone().map_err(|cause| scratch_fault(path, cause))?;
        let mut sink = WriteBehind::new(scratch, None, Arc::default());
        let tree = write_tree(leaves, uuid, &mut sink, 0).map_err(|cause| fault(path, cause))?;
        sink.flush().map_err(|cause| scratch_fault(path, cause))?;
        Ok((tree, Appended::copy(path, size, whole)?))
    }

    fn copy(path: &Path, size: u64, mut tree: File) -> Result<Appended, Error> {
        let output = |action| move |cause| Error::Output { path: path.to_path_buf(), action, cause };
        let image = OpenOptions::new().write(true).open(path).map_err(output("cannot open"))?;
        let mut appended = Appended { image, size, keep: false };
        appended.image.seek(SeekFrom::Start(size)).map_err(output("cannot write"))?;
        tree.seek(SeekFrom::Start(0)).map_err(|cause| scratch_fault(path, cause))?;
        io::copy(&mut tree, &mut appended.image).map_err(output("cannot append"))?;
        appended.image.sync_all().map_err(output("cannot sync"))?;
        Ok(appended)
    }

    /// All else is done too.
    pub(super) fn keep(mut self) {
        self.keep = true;
    }
}

impl Drop for Appended {
    fn drop(&mut self) {
        if !self.keep {
            // The error that led here is the one that is reported.
            let _: io::Result<()> = self.image.set_len(self.size);
        }
    }
}

/// A tree goes behind a file that has none.
pub(super) fn refuse(path: &Path, input: &dyn Input) -> Result<(), Error> {
    let about = std::fs::metadata(path);
    let about = about.map_err(|cause| Error::Source { path: path.to_path_buf(), action: "cannot look at", cause })?;
    if !about.is_file() {
        return Err(refused(
            path,
            "a block device, whose end is not that of the image",
            "a file, or a tree in one of its own",
        ));
    }
    match find_appended(input).map_err(|cause| fault(path, cause))? {
        None => Ok(()),
        Some((at, _)) => {
            let expected = format!("an image without one: it ends at byte {at}");
            Err(Error::Target {
                path: path.to_path_buf(),
                what: "has a hash tree behind it already".to_string(),
                expected,
            })
        }
    }
}
