//! The superblock, the device table, and the bytes after the image.

use packline_volume::{ReadError, Report};

use crate::format::inode::SLOT_BYTES;
use crate::format::superblock::{SUPERBLOCK_MOST, SUPERBLOCK_START, Superblock, compat, incompat};
use crate::read::Image;
use crate::read::map::window::ReadBytes;

/// Bytes after an image that are examined.
const AFTER_IMAGE: u64 = 1 << 20;
/// Offsets of reserved fields, and their lengths in bytes.
const RESERVED: [(usize, usize); 3] = [(106, 2), (120, 8), (136, 8)];
/// Offset of the byte that switches name filters off.
const FILTERS_OFF: usize = 104;

/// Checks the fields of the superblock.
pub(super) fn check(image: &Image, report: &mut Report<'_>) -> Result<(), ReadError> {
    let superblock = image.superblock();
    let mut bytes = [0; SUPERBLOCK_MOST];
    let length = (superblock.bytes as usize).min(bytes.len());
    image.contents().store().read(SUPERBLOCK_START, &mut bytes[..length])?;
    for (at, count) in RESERVED {
        let field = &bytes[at..at + count];
        if field.iter().any(|byte| *byte != 0) {
            let what = format!("superblock with bytes {field:02x?} at {at}");
            report.note(SUPERBLOCK_START + at as u64, what, "zeros in reserved fields");
        }
    }
    if bytes[FILTERS_OFF] != 0 && superblock.has_compatible(compat::XATTR_FILTER) {
        let what = format!("filters of attribute names, and {} in their reserved field", bytes[FILTERS_OFF]);
        report.note(SUPERBLOCK_START + FILTERS_OFF as u64, what, "0, because Linux ignores the filters");
    }
    fields(superblock, report);
    devices(image, report);
    size(image, report)
}

fn fields(superblock: &Superblock, report: &mut Report<'_>) {
    let known = compat::NAMES.iter().fold(0, |all, (bit, _)| all | bit);
    let unknown = superblock.compat & !known;
    if unknown != 0 {
        report.note(SUPERBLOCK_START + 8, format!("unknown compatible features {unknown:#x}"), format!("{known:#x}"));
    }
    if !superblock.label.contains(&0) {
        report.note(
            SUPERBLOCK_START + 64,
            "label of 16 bytes".into(),
            "15 bytes at most, which Linux before 6.17 needs",
        );
    }
    let in_metabox = superblock.has_compatible(compat::SHARED_XATTRS_IN_METABOX);
    if in_metabox && superblock.metabox.is_none() {
        let what = "shared extended attributes in the metabox of an image without one";
        report.fault(SUPERBLOCK_START + 8, what.into(), "an image with a metabox");
    }
    if superblock.checksum.is_none() {
        report.note(SUPERBLOCK_START + 8, "superblock without a checksum".into(), "a checksum");
    }
}

/// Reports features that something in the image needs, but the superblock does not have.
pub(super) fn features(image: &Image, needed: u32, report: &mut Report<'_>) {
    let superblock = image.superblock();
    for (bit, name) in incompat::NAMES.iter().filter(|(bit, _)| needed & !superblock.incompat & bit != 0) {
        let what = format!("superblock without the feature \"{name}\" ({bit:#x}), which the image uses");
        report.fault(SUPERBLOCK_START + 80, what, "all features that are used");
    }
}

/// Compares the number of inodes. The packed inode and the metabox count, too. mkfs.erofs --incremental also counts the inodes that it replaced.
pub(super) fn inodes(image: &Image, report: &mut Report<'_>) {
    let superblock = image.superblock();
    let special = u64::from(superblock.packed.is_some()) + u64::from(superblock.metabox.is_some());
    let counted = report.totals.inodes + special;
    if superblock.inodes == counted || report.totals.faults > 0 {
        return;
    }
    let what = format!("{} inodes in the superblock", superblock.inodes);
    let expected = format!("{counted}, as the image has");
    let most = image.contents().store().regions().size() / SLOT_BYTES as u64;
    if (counted..=most).contains(&superblock.inodes) {
        report.note(SUPERBLOCK_START + 16, what, expected);
    } else {
        report.fault(SUPERBLOCK_START + 16, what, expected);
    }
}

/// Checks that no two devices have the same unified block numbers.
fn devices(image: &Image, report: &mut Report<'_>) {
    let superblock = image.superblock();
    let mut ranges: Vec<(u64, u64, usize)> = Vec::new();
    for (number, slot) in image.devices().iter().enumerate() {
        if slot.tag.is_empty() {
            let what = format!("device {} without a name", number + 1);
            report.note(superblock.device_table, what, "a name, by which Linux finds the device");
        }
        if slot.unified > 0 {
            ranges.push((slot.unified, slot.unified.saturating_add(slot.blocks), number + 1));
        }
    }
    ranges.sort_unstable();
    let own = (0, superblock.blocks, 0);
    let mut before = own;
    for range in ranges {
        if range.0 < before.1 {
            let what = format!("device {} from block {} on", range.2, range.0);
            let expected = format!("a start at {} or later, after device {}", before.1, before.2);
            report.fault(superblock.device_table, what, expected);
        }
        before = range;
    }
}

/// Returns the end of the image in bytes, as the superblock says, if the file has as many.
pub(super) fn end(image: &Image) -> u64 {
    let size = image.contents().store().regions().size();
    let stated = stated(image.superblock());
    if stated == 0 { size } else { stated.min(size) }
}

/// Returns the size that the superblock says.
fn stated(superblock: &Superblock) -> u64 {
    superblock.blocks.saturating_mul(superblock.block_size())
}

/// Compares the size, and checks the bytes after the image.
fn size(image: &Image, report: &mut Report<'_>) -> Result<(), ReadError> {
    let size = image.contents().store().regions().size();
    let stated = stated(image.superblock());
    if stated > size {
        report.note(
            SUPERBLOCK_START + 36,
            format!("an image of {size} bytes"),
            format!("{stated}, as the superblock says"),
        );
    }
    // The bytes of devices may follow the image.
    let has_devices = image.devices().iter().any(|slot| slot.unified > 0);
    let end = end(image);
    if stated == 0 || has_devices || end == size {
        return Ok(());
    }
    let length = size - end;
    let mut bytes = vec![0; length.min(AFTER_IMAGE) as usize];
    if let Err(error) = image.contents().store().read(end, &mut bytes) {
        return report.unread(None, error);
    }
    report.bytes_after(end, length, &bytes);
    Ok(())
}
