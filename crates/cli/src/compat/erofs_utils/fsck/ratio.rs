//! `-p`: the size of stored blocks in percent of the content.

use packline::requests::ErofsImage;
use packline_erofs::read::ExtentPlace;
use packline_volume::{NodeId, Walk};

use super::{ChosenInode, start};
use crate::compat::erofs_utils::fault;
use crate::ui::failure::Failure;

/// Returns the percentage for all inodes below the chosen one. The packed inode counts with the complete image.
pub fn of(image: &ErofsImage, chosen: Option<&ChosenInode>) -> Result<f64, Failure> {
    let superblock = image.image.superblock();
    let block = superblock.block_size();
    let mut stored = 0u64;
    let mut content = 0u64;
    for visit in Walk::new(&image.volume, start(image, chosen), Vec::new()) {
        let visit = visit.map_err(|(path, cause)| image.fault_at(&path, cause))?;
        stored = stored.saturating_add(stored_bytes(image, visit.inode.at)?.div_ceil(block));
        let size = image.image.layout(visit.inode.at).map_err(|cause| fault(image, cause))?.size;
        content = content.saturating_add(size.div_ceil(block));
    }
    let packed = superblock.packed.filter(|_| start(image, chosen) == image.volume.root());
    if let Some(number) = packed {
        let node = image.image.inode_of_number(number).map_err(|cause| fault(image, cause))?;
        stored = stored.saturating_add(stored_bytes(image, node)?.div_ceil(block));
    }
    Ok(stored as f64 * 100.0 / content.max(1) as f64)
}

/// Returns the bytes that the content of an inode takes in the image.
fn stored_bytes(image: &ErofsImage, node: NodeId) -> Result<u64, Failure> {
    let extents = image.image.extents(node).map_err(|cause| fault(image, cause))?;
    let mut all = 0u64;
    for extent in extents {
        if let ExtentPlace::Stored { bytes, .. } = extent.map_err(|cause| fault(image, cause))?.place {
            all = all.saturating_add(bytes);
        }
    }
    Ok(all)
}
