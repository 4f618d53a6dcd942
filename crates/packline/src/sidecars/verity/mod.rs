//! dm-verity trees of existing images, and of images that are being packed.

mod appended;
mod check;
mod packing;
mod sidecars;
mod signing;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_image::metadata_cache;
use packline_runtime::{Input, Observer, Resources, Temporaries, hex, unnamed_temp_file, warn_of_stale};
use packline_squashfs::read::CheckScope;
use packline_verity::{Leaves, Salt, Signer, Tree, Uuid, hash_leaves, refuse_incomplete};

pub use check::{AppendedTree, VerityCheck, appended_tree, refuse_incomplete_tree, verity_check};
pub(crate) use packing::PackedTree;
pub use signing::read_signer;

use crate::container::by_magic::ContentKind;
use crate::container::image_place::ImagePlace;
use crate::container::opened_file::OpenedFile;
use crate::error::Error;
use appended::{Appended, without_tree};
use sidecars::Sidecars;

/// The destination of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VerityPlace {
    /// To a file next to the image: the image's name with `.verity`, which replaces the ending `.raw`.
    #[default]
    Files,
    /// After the image, in the same file.
    Append,
}

/// Options of a tree, and its signer.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct VerityOptions {
    /// The destination of the tree. The root hash always goes to a file with `.roothash`, and its signature to a file with `.roothash.p7s`.
    pub place: VerityPlace,
    /// The salt that is hashed before each block.
    pub salt: Salt,
    /// The tree's identity; `None` to derive it from the root hash.
    pub uuid: Option<Uuid>,
    /// Signs the root hash.
    pub signer: Option<Arc<Signer>>,
}

/// A tree that is to be built from an image.
#[non_exhaustive]
pub struct VerityRequest {
    /// The image: a file of any format, or a block device.
    pub image: PathBuf,
    /// Options of the tree.
    pub options: VerityOptions,
    /// Whether existing files are replaced.
    pub force: bool,
    /// Workers and memory. They do not affect the output.
    pub resources: Resources,
    /// Registers temporary files for removal on exit.
    pub temporaries: Temporaries,
}

impl VerityRequest {
    /// A request with the default options that uses all processors and has no memory limit.
    pub fn new(image: impl Into<PathBuf>) -> VerityRequest {
        let options = VerityOptions::default();
        let resources = Resources::default();
        let temporaries = Temporaries::default();
        VerityRequest { image: image.into(), options, force: false, resources, temporaries }
    }
}

/// The result of building a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VeritySummary {
    /// The tree and its root hash.
    pub tree: Tree,
    /// Bytes of the image that the tree covers. A tree after the image begins at this offset.
    pub data_bytes: u64,
    /// The location of the tree.
    pub place: VerityPlace,
    /// The files that were written next to the image.
    pub files: Vec<PathBuf>,
}

impl VeritySummary {
    fn new(tree: Tree, leaves: &Leaves, place: VerityPlace, files: Vec<PathBuf>) -> VeritySummary {
        VeritySummary { tree, data_bytes: leaves.count() * packline_verity::BLOCK as u64, place, files }
    }
}

/// Builds the tree of an image, on all workers. If a tree is appended to an image that ends with one already, and files that belong to the tree are
/// missing or may be replaced, the tree is compared with the image and the files are written. The files next to the image are complete and have their names when this returns `Ok`. After an
/// error the image is unchanged. If the process is killed while it appends, the image may end with a part of a tree: [`appended_tree`] rejects it,
/// and the next run that appends removes it.
///
/// # Errors
/// [`Error`], with the name of the file.
pub fn verity(request: VerityRequest, observer: &mut dyn Observer) -> Result<VeritySummary, Error> {
    let VerityRequest { image, mut options, force, resources, temporaries } = request;
    let mut appended = match options.place {
        VerityPlace::Append => Some(Appended::open(&image, &temporaries, observer)?),
        VerityPlace::Files => None,
    };
    let input: Arc<dyn Input> = match &appended {
        Some(appended) => appended.input().map_err(|cause| fault(&image, packline_verity::Error::Image(cause)))?,
        None => Arc::new(OpenedFile::open(&image)?),
    };
    refuse_incomplete(input.as_ref()).map_err(|cause| fault(&image, cause))?;
    refuse_damage(&image, &input, &resources)?;
    if options.place == VerityPlace::Files {
        // A tree of the image and of the tree after it together would have a root hash that belongs to neither.
        without_tree(&image, input.as_ref())?;
    }
    if let Some(present) = appended.as_ref().filter(|appended| appended.is_present()) {
        if !force && sidecars::are_there(&image, &options) {
            return Err(present.already_there());
        }
        (options.salt, options.uuid) = present.options(&options.salt, options.uuid)?;
    }
    let signed = sidecars::unreplaced_signature(&image, &options);
    let mut sidecars = Sidecars::open(&image, &options, force, &temporaries)?;
    let spool = scratch_file(&image, &resources)?;
    let hashed = hash_leaves(&input, &options.salt, spool, &resources, observer);
    let mut leaves = hashed.map_err(|cause| fault(&image, cause))?;
    if input.changed().map_err(|cause| fault(&image, packline_verity::Error::Image(cause)))? {
        return Err(refused(&image, "changed while it was read", "an image that nothing writes to"));
    }
    let tree = match &mut appended {
        None => sidecars.write_tree(&mut leaves, options.uuid)?,
        Some(appended) => appended.write(&mut leaves, options.uuid, scratch_file(&image, &resources)?)?,
    };
    sidecars.write_root_hash(&tree, &options)?;
    let named = sidecars.finish(observer)?;
    if let Some(appended) = appended {
        appended.keep();
    }
    let files = named.keep();
    if let Some(signed) = signed.filter(|signed| signed.hash.as_deref() != Some(hex(&tree.root_hash).as_bytes())) {
        warn_of_stale(&signed.signature, observer);
    }
    Ok(VeritySummary::new(tree, &leaves, options.place, files))
}

/// Rejects an image whose data does not match the checksum in its record, because a root hash would certify the damage. An image that cannot be
/// opened is hashed like any other bytes.
fn refuse_damage(path: &Path, input: &Arc<dyn Input>, resources: &Resources) -> Result<(), Error> {
    let found = ContentKind::of_input(input.size(), |head| input.read_at(0, head));
    if !matches!(found, Some(ContentKind::SquashFs | ContentKind::Erofs)) {
        return Ok(());
    }
    match ImagePlace::new(path).open_input(Arc::clone(input), metadata_cache(resources.memory)) {
        Ok(image) => Ok(image.checked(CheckScope::Everything).compare_data(resources)?),
        Err(_) => Ok(()),
    }
}

/// An unnamed temporary file, in the directory for temporary files or, without one, in the directory of the image.
fn scratch_file(image: &Path, resources: &Resources) -> Result<File, Error> {
    let beside = image.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = resources.scratch.as_deref().unwrap_or(beside);
    unnamed_temp_file(directory)
        .map_err(|cause| scratch_fault(image, packline_runtime::ScratchError::wrap(directory, cause)))
}

fn scratch_fault(image: &Path, cause: std::io::Error) -> Error {
    Error::Output { path: image.to_path_buf(), action: "cannot store the hash tree", cause }
}

fn refused(path: &Path, what: &str, expected: &str) -> Error {
    Error::Target { path: path.to_path_buf(), what: what.to_string(), expected: expected.to_string() }
}

/// An error of a tree with the file that it concerns.
fn fault(path: &Path, cause: packline_verity::Error) -> Error {
    use packline_verity::Error as Verity;
    let path = path.to_path_buf();
    match cause {
        Verity::Image(cause) | Verity::Tree(cause) => Error::Source { path, action: "cannot read", cause },
        Verity::Output(cause) => Error::Output { path, action: "cannot write", cause },
        Verity::Scratch(cause) => scratch_fault(&path, cause),
        Verity::Memory(fault) => Error::Memory(fault),
        Verity::Superblock { what, expected } => Error::Target { path, what, expected },
        cause => Error::stream(path, cause),
    }
}
