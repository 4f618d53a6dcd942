//! Checks of images and trees.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_runtime::{FileInput, Input, Observer, Resources, open_regular};
use packline_verity::{
    CheckResult, Digest, Finding, Superblock, TreeLocation, check, find_appended, refuse_incomplete, root_hash,
};

use super::fault;
use super::sidecars::beside;
use crate::container::opened_file::OpenedFile;
use crate::error::Error;

/// An image that is to be checked.
#[non_exhaustive]
pub struct VerityCheck {
    /// The image.
    pub image: PathBuf,
    /// The file with the tree; `None` for the image itself, or for the file next to it if no tree follows the image.
    pub tree: Option<PathBuf>,
    /// Byte at which the tree's superblock begins; `None` for 0 in a separate file, and to find the superblock after an image.
    pub offset: Option<u64>,
    /// The trusted root hash.
    pub root_hash: Digest,
    /// Workers and memory.
    pub resources: Resources,
}

impl VerityCheck {
    /// Uses the tree after the image, all processors, no memory limit.
    pub fn new(image: impl Into<PathBuf>, root_hash: Digest) -> VerityCheck {
        VerityCheck { image: image.into(), tree: None, offset: None, root_hash, resources: Resources::default() }
    }
}

/// Checks each block of an image and of its tree, whichever program wrote them. Reports differences to `found`.
///
/// # Errors
/// [`Error`] with the name of the file, for unreadable data and an invalid tree.
pub fn verity_check(
    request: &VerityCheck,
    observer: &mut dyn Observer,
    found: &mut dyn FnMut(Finding),
) -> Result<CheckResult, Error> {
    let image: Arc<dyn Input> = Arc::new(OpenedFile::open(&request.image)?);
    let (path, place) = locate_tree(request, &image)?;
    let checked = check(&image, &place, &request.root_hash, &request.resources, observer, found);
    checked.map_err(|cause| match cause {
        packline_verity::Error::Image(_) => fault(&request.image, cause),
        cause => fault(&path, cause),
    })
}

/// Returns the location of the tree, with the name of its file.
fn locate_tree(request: &VerityCheck, image: &Arc<dyn Input>) -> Result<(PathBuf, TreeLocation), Error> {
    let own = |path: &Path| {
        let at = request.offset.unwrap_or(0);
        Ok((path.to_path_buf(), TreeLocation { input: Arc::new(OpenedFile::open(path)?), at }))
    };
    let after_image = |at| Ok((request.image.clone(), TreeLocation { input: image.clone(), at }));
    if let Some(path) = &request.tree {
        return own(path);
    }
    if let Some(at) = request.offset {
        return after_image(at);
    }
    if let Some((at, _)) = find_appended(image.as_ref()).map_err(|cause| fault(&request.image, cause))? {
        return after_image(at);
    }
    let sidecar = beside(&request.image, ".verity");
    if sidecar.exists() {
        let opened = open_regular(&sidecar).and_then(FileInput::new);
        let input = opened.map_err(|cause| Error::Source { path: sidecar.clone(), action: "cannot open", cause })?;
        Ok((sidecar, TreeLocation { input: Arc::new(input), at: 0 }))
    } else {
        Err(super::refused(&request.image, "has no hash tree at its end and no .verity file next to it", "a hash tree"))
    }
}

/// A tree after an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendedTree {
    /// Byte of the file at which the tree begins. The tree covers the bytes before it.
    pub at: u64,
    /// The superblock of the tree.
    pub superblock: Superblock,
    /// The root hash of the tree, which proves nothing by itself.
    pub root_hash: Digest,
}

/// The tree after the image in a file, if there is one.
///
/// # Errors
/// [`Error`] with the name of the file.
pub fn appended_tree(image: &OpenedFile) -> Result<Option<AppendedTree>, Error> {
    let failed = |cause| fault(image.path(), cause);
    let Some((at, superblock)) = find_appended(image).map_err(failed)? else { return Ok(None) };
    let place = TreeLocation { input: Arc::new(image.clone()), at };
    let root_hash = root_hash(image, &place).map_err(failed)?;
    Ok(Some(AppendedTree { at, superblock, root_hash }))
}

/// Rejects an image that ends with a part of a hash tree, whose writing was stopped. Images with a complete tree or without one pass.
///
/// # Errors
/// [`Error`] with the name of the file.
pub fn refuse_incomplete_tree(image: &OpenedFile) -> Result<(), Error> {
    refuse_incomplete(image).map_err(|cause| fault(image.path(), cause))
}
