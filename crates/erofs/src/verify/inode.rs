//! The fields of an inode that reading ignores.

use packline_volume::{NodeType, ReadError, Report};

use super::layout::NamedInode;
use crate::format::inode::{EXTENDED_BYTES, Layout};
use crate::format::superblock::{IN_METABOX, incompat};
use crate::read::Image;
use crate::read::data::number_of;

/// Set in the format of an inode that has one link, or of a directory without the entry `.`.
pub(super) const SHORT: u16 = 1 << 4;

/// Checks the fields of an inode. Returns the features that it needs.
pub(super) fn check(image: &Image, inode: NamedInode<'_>, report: &mut Report<'_>) -> Result<u32, ReadError> {
    let placed = inode.placed;
    let bytes = bytes_of(image, inode)?;
    let is_wide = image.superblock().has(incompat::WIDE);
    let is_short = u16::from_le_bytes([bytes[0], bytes[1]]) & SHORT != 0;
    let mut features = if is_short { incompat::WIDE } else { 0 };
    // Offsets and lengths of fields that must be zero.
    let reserved: &[(usize, usize)] = match (placed.raw.extended, is_wide) {
        (true, true) => &[(48, 16)],
        (true, false) => &[(6, 2), (48, 16)],
        (false, true) => &[(28, 4)],
        (false, false) => &[(12, 4), (28, 4)],
    };
    for (at, count) in reserved {
        let field = &bytes[*at..at + count];
        if field.iter().any(|byte| *byte != 0) {
            let what = format!("inode with bytes {field:02x?} at {at}");
            report.note(address(inode), what, "zeros in reserved fields");
        }
    }
    if [placed.raw.meta.uid, placed.raw.meta.gid].contains(&u32::MAX) {
        report.unusable_owner(address(inode));
    }
    special(inode, report);
    if placed.raw.layout == Layout::Chunks && placed.raw.start & 0x40 != 0 {
        features |= incompat::WIDE;
    }
    Ok(features)
}

/// Notes content of an inode that cannot have content.
fn special(inode: NamedInode<'_>, report: &mut Report<'_>) {
    let raw = &inode.placed.raw;
    if matches!(raw.kind, NodeType::Directory | NodeType::File | NodeType::Symlink) {
        return;
    }
    if raw.size > 0 || !matches!(raw.layout, Layout::Plain | Layout::Inline) {
        let what = format!("{} of {} bytes with layout {}", raw.kind, raw.size, raw.layout as u8);
        report.note(address(inode), what, "0 bytes, not compressed");
    }
}

fn address(inode: NamedInode<'_>) -> u64 {
    inode.placed.address & !IN_METABOX
}

fn bytes_of(image: &Image, inode: NamedInode<'_>) -> Result<[u8; EXTENDED_BYTES], ReadError> {
    let mut bytes = [0; EXTENDED_BYTES];
    let mut cursor = image.contents().store().cursor(inode.placed.address);
    cursor.read_exact(&mut bytes[..inode.placed.raw.bytes() as usize])?;
    Ok(bytes)
}

/// Whether a directory leaves out the entry `.`.
pub(super) fn omits_dot(image: &Image, inode: NamedInode<'_>) -> Result<bool, ReadError> {
    let bytes = bytes_of(image, inode)?;
    Ok(u16::from_le_bytes([bytes[0], bytes[1]]) & SHORT != 0)
}

/// Returns the number of an inode for messages.
pub(super) fn shown(at: packline_volume::NodeId) -> String {
    let number = number_of(at);
    if number & IN_METABOX == 0 { number.to_string() } else { format!("{} of the metabox", number & !IN_METABOX) }
}
