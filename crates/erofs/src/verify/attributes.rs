//! Extended attributes: the name filter hides no attribute, each name occurs once, and reserved bytes are zero.

use packline_tree::Xattr;
use packline_volume::{ReadError, Report};
use twox_hash::XxHash32;

use super::layout::NamedInode;
use crate::format::METABOX;
use crate::format::superblock::{SUPERBLOCK_START, compat, incompat};
use crate::format::xattr::HEADER_BYTES;
use crate::read::Image;
use crate::read::map::window::ReadBytes;
use crate::read::xattr::XattrPlace;

/// Added to the number of the short prefix, it is the seed of the hash of a name.
const FILTER_SEED: u32 = 0x25bb_e08f;
/// Number of a prefix for names that are not names of the file system.
const INTERNAL: u8 = 0;

/// Checks the attributes of inodes.
pub(super) struct Attributes<'a> {
    image: &'a Image,
    /// Whether name filters apply.
    has_filter: bool,
}

impl<'a> Attributes<'a> {
    pub(super) fn new(image: &'a Image) -> Attributes<'a> {
        let mut disabled = [0];
        // The superblock has been read before.
        let read = image.contents().store().read(SUPERBLOCK_START + 104, &mut disabled);
        let has_filter = image.superblock().has_compatible(compat::XATTR_FILTER);
        Attributes { image, has_filter: has_filter && read.is_ok() && disabled == [0] }
    }

    /// Checks the attributes of an inode. Returns the features that they need.
    pub(super) fn check(&self, inode: NamedInode<'_>, report: &mut Report<'_>) -> Result<u32, ReadError> {
        if inode.placed.raw.xattr_bytes == 0 {
            return Ok(0);
        }
        let reader = self.image.attributes();
        let both = reader.read(inode.placed).and_then(|set| Ok((set, reader.places(inode.placed)?)));
        let (set, places) = match both {
            Ok(both) => both,
            Err(error) => return report.unread(inode.path, error).map(|()| 0),
        };
        twice(inode, &set, report)?;
        self.header(inode, &places, report)?;
        self.padding(&places, report);
        let has_long = places.iter().any(|place| place.header.is_long());
        Ok(if has_long { incompat::XATTR_PREFIXES } else { 0 })
    }

    fn header(&self, inode: NamedInode<'_>, places: &[XattrPlace], report: &mut Report<'_>) -> Result<(), ReadError> {
        let start = inode.placed.xattrs();
        let header: [u8; HEADER_BYTES as usize] = self.image.contents().store().cursor(start).array()?;
        let [a, b, c, d, _, reserved @ ..] = header;
        if reserved != [0; 7] {
            let what = format!("header of extended attributes with bytes {reserved:02x?}");
            report.note(start & !METABOX, what, "zeros in reserved fields");
        }
        if !self.has_filter {
            return Ok(());
        }
        let filter = u32::from_le_bytes([a, b, c, d]);
        let Bits { names, all } = self.bits(places)?;
        if filter & names != 0 {
            let what = format!("name filter {filter:#010x} that hides an extended attribute");
            return inode.fault(start, what, format!("{:#010x}", !all), report);
        }
        if filter | all != u32::MAX {
            let what = format!("name filter {filter:#010x} with bits of names that do not exist");
            report.note(start & !METABOX, what, format!("{:#010x}", !all));
        }
        Ok(())
    }

    /// Computes the bits of a filter from the names.
    fn bits(&self, places: &[XattrPlace]) -> Result<Bits, ReadError> {
        let mut bits = Bits { names: 0, all: 0 };
        for place in places {
            let Some((base, infix)) = place.header.base(self.image.xattr_prefixes()) else { continue };
            let mut name = infix.to_vec();
            let mut cursor = self.image.contents().store().cursor(place.name());
            cursor.read_to(place.header.name.into(), &mut name)?;
            let bit = 1 << (XxHash32::oneshot(FILTER_SEED.wrapping_add(base.into()), &name) & 31);
            bits.all |= bit;
            bits.names |= if base == INTERNAL { 0 } else { bit };
        }
        Ok(bits)
    }

    /// Checks the bytes after each attribute.
    fn padding(&self, places: &[XattrPlace], report: &mut Report<'_>) {
        for place in places {
            let used = place.header.used();
            let mut padding = Vec::new();
            let mut cursor = self.image.contents().store().cursor(place.at + used);
            // The end of an image may be the end of its last attribute.
            let read = cursor.read_to(place.header.bytes() - used, &mut padding);
            if read.is_ok() && padding.iter().any(|byte| *byte != 0) {
                let what = format!("extended attribute, followed by bytes {padding:02x?}");
                report.note((place.at + used) & !METABOX, what, "zeros up to a multiple of 4 bytes");
            }
        }
    }
}

/// Bits of a name filter: those of names of the file system, and those of all names.
struct Bits {
    names: u32,
    all: u32,
}

/// Reports a name that occurs more than once. The kernel finds only its first value.
fn twice(inode: NamedInode<'_>, set: &[Xattr], report: &mut Report<'_>) -> Result<(), ReadError> {
    let mut names: Vec<&[u8]> = set.iter().map(|xattr| &xattr.name[..]).collect();
    names.sort_unstable();
    let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) else { return Ok(()) };
    let what = format!("extended attribute \"{}\" twice", pair[0].escape_ascii());
    inode.fault(inode.placed.xattrs(), what, "each name once", report)
}
