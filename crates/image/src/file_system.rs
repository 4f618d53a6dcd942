//! The file system of an image.

use std::sync::Arc;

use packline_runtime::Input;
use packline_volume::{Opening, Origin, ReadError, SharedVolume, ToVolume};

/// Maximum number of EROFS images that a search tries to open.
const TRIED_MOST: usize = 100;

/// The file system of an open image, for operations that show its structures. All other operations read through the volume.
#[derive(Debug, Clone)]
pub enum FileSystem {
    /// SquashFS, mostly 4.0.
    SquashFs(packline_squashfs::read::Image),
    /// EROFS.
    Erofs(packline_erofs::read::Image),
}

/// How an image is opened.
#[derive(Clone, Copy)]
pub(crate) struct ImageOpening<'d> {
    pub(crate) origin: Origin,
    /// Size in bytes of the cache of metadata.
    pub(crate) metadata_cache: usize,
    /// Devices that have contents of the image, in the order of its device table.
    pub(crate) devices: &'d [Arc<dyn Input>],
}

impl FileSystem {
    /// Opens the image that `opening` names. SquashFS precedes EROFS, whose superblock could be content of a SquashFS image.
    pub(crate) fn open(input: &Arc<dyn Input>, opening: ImageOpening<'_>) -> Result<FileSystem, ReadError> {
        let start = match opening.origin {
            Origin::At(start) => start,
            Origin::Find => 0,
        };
        let is_erofs = packline_erofs::read::has_magic(input.as_ref(), start);
        match opening.origin {
            _ if is_squashfs(input.as_ref(), start) => {
                if is_erofs {
                    log::info!("superblocks of SquashFS and EROFS at the same offset; the image is read as SquashFS");
                }
                squashfs(input, opening)
            }
            _ if is_erofs => erofs(input, start, opening),
            Origin::At(_) => squashfs(input, opening),
            Origin::Find => find(input, opening),
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        match self {
            FileSystem::SquashFs(_) => "SquashFS",
            FileSystem::Erofs(_) => "EROFS",
        }
    }
}

impl ToVolume for FileSystem {
    fn to_volume(&self) -> SharedVolume {
        match self {
            FileSystem::SquashFs(image) => image.to_volume(),
            FileSystem::Erofs(image) => image.to_volume(),
        }
    }
}

/// Whether the input has a magic number of SquashFS at an offset. An error of reading is reported when the image is opened.
fn is_squashfs(input: &dyn Input, offset: u64) -> bool {
    let mut magic = [0; 4];
    input.read_at(offset, &mut magic).is_ok() && packline_squashfs::MAGICS.contains(&magic)
}

fn squashfs(input: &Arc<dyn Input>, opening: ImageOpening<'_>) -> Result<FileSystem, ReadError> {
    let ImageOpening { origin, metadata_cache, devices } = opening;
    let image = packline_squashfs::read::Image::open(Arc::clone(input), Opening { origin, metadata_cache })?;
    if !devices.is_empty() {
        return Err(ReadError::unsupported("other devices of a SquashFS image", "an EROFS image with a device table"));
    }
    Ok(FileSystem::SquashFs(image))
}

fn erofs(input: &Arc<dyn Input>, start: u64, opening: ImageOpening<'_>) -> Result<FileSystem, ReadError> {
    let ImageOpening { metadata_cache, devices, .. } = opening;
    packline_erofs::read::Image::open(Arc::clone(input), devices, start, metadata_cache).map(FileSystem::Erofs)
}

/// Returns the first image after byte 0. An EROFS image inside the data of a SquashFS image does not count.
fn find(input: &Arc<dyn Input>, opening: ImageOpening<'_>) -> Result<FileSystem, ReadError> {
    let squashfs_start = packline_squashfs::read::find_superblock(input.as_ref(), 1..u64::MAX);
    let squashfs_start = squashfs_start.map_err(|cause| ReadError::input(0, cause))?;
    let mut before = 1..squashfs_start.unwrap_or(u64::MAX);
    let mut fault = None;
    for _ in 0..TRIED_MOST {
        let start = packline_erofs::read::find_image(input.as_ref(), before.clone());
        let Some(start) = start.map_err(|cause| ReadError::input(before.start, cause))? else { break };
        match erofs(input, start, opening) {
            Err(cause) if !matches!(cause, ReadError::Input { .. }) => fault = fault.or(Some(cause)),
            opened => return opened,
        }
        before.start = start + 1;
    }
    match (squashfs_start, fault) {
        (Some(_), _) => squashfs(input, opening),
        (None, Some(fault)) => Err(fault),
        (None, None) => squashfs(input, ImageOpening { origin: Origin::At(0), ..opening }),
    }
}
