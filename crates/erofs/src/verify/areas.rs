//! The areas of an image: the image itself, the packed inode and the metabox. No compressed cluster overlaps another part, and what belongs to
//! nothing is zero.

use std::ops::Range;

use packline_volume::{ReadError, Report, Verified, Walk};

use super::layout::{Layouts, NamedInode, PACKED};
use super::space::{Part, Use};
use super::{Silent, VerifySettings, check_cancelled, superblock};
use crate::format::METABOX;
use crate::format::superblock::incompat;
use crate::read::Image;
use crate::read::map::window::ReadBytes;

/// Maximum number of ranges of addresses, each of which needs a pass over the inodes.
const RANGES: usize = 64;
/// Bytes that are compared with zero at a time.
const STEP: u64 = 64 << 10;
/// Index of the packed inode among the areas.
const PACKED_INDEX: usize = 1;

/// The result of the check of areas.
#[derive(Debug, Default)]
pub(super) struct Areas {
    /// Whether the packed inode has bytes that no file has.
    pub(super) packed_has_unused: bool,
}

/// Checks all areas. Walks over the inodes again for each range of addresses after the first one.
pub(super) fn check(
    image: &Image,
    mut layouts: Layouts<'_>,
    settings: &VerifySettings,
    report: &mut Report<'_>,
) -> Result<Areas, ReadError> {
    let mut sweep = Sweep::new(image, settings);
    for number in 0..RANGES {
        let (range, parts) = layouts.space.sorted();
        sweep.range(&range, parts, report)?;
        // Later passes visit an inode once for each of its names.
        if number == 0 && layouts.space.has_shared {
            superblock::features(image, incompat::FRAGMENTS, report);
        }
        if !layouts.space.next_range() {
            return Ok(sweep.finish(report));
        }
        add_again(&mut layouts, settings)?;
    }
    let (range, _) = layouts.space.sorted();
    report.note(range.start, format!("more than {RANGES} ranges of parts"), "parts that the memory holds");
    Ok(sweep.finish(report))
}

/// Adds all parts again. Their faults are known.
fn add_again(layouts: &mut Layouts<'_>, settings: &VerifySettings) -> Result<(), ReadError> {
    let mut silent = Report { totals: Verified::default(), examiner: &mut Silent };
    layouts.add_image(&mut silent)?;
    let mut inodes = layouts.image.inodes();
    for visit in Walk::new(layouts.image, layouts.image.root(), Vec::new()).flatten() {
        check_cancelled(settings)?;
        if let Ok(placed) = inodes.fields(visit.inode.at) {
            layouts.add_inode(NamedInode { path: None, placed: &placed }, &mut silent)?;
        }
    }
    Ok(())
}

/// The result of reading bytes that belong to nothing.
enum Read {
    /// The address of the first byte that is not zero, and the number of such bytes.
    Bytes(Option<(u64, u64)>),
    /// They cannot be read.
    Nothing,
}

/// Bytes of an area that are not zero and belong to nothing.
#[derive(Debug)]
struct Stray {
    name: &'static str,
    /// Addresses of the area.
    area: Range<u64>,
    bytes: u64,
    /// Address of the first of them.
    first: u64,
}

/// Goes over the parts in the order of their addresses.
struct Sweep<'s> {
    image: &'s Image,
    settings: &'s VerifySettings,
    strays: [Stray; 3],
}

impl<'s> Sweep<'s> {
    fn new(image: &'s Image, settings: &'s VerifySettings) -> Sweep<'s> {
        let superblock = image.superblock();
        let size = |number: Option<u64>| {
            let node = number.and_then(|number| crate::read::data::node_of(number, 0).ok());
            node.and_then(|node| image.inodes().fields(node).ok()).map_or(0, |placed| placed.raw.size)
        };
        let stray =
            |name, start: u64, size: u64| Stray { name, area: start..start.saturating_add(size), bytes: 0, first: 0 };
        let strays = [
            stray("the image", 0, superblock::end(image)),
            stray("the packed inode", PACKED, size(superblock.packed).min(PACKED)),
            stray("the metabox", METABOX, size(superblock.metabox).min(METABOX)),
        ];
        Sweep { image, settings, strays }
    }

    fn range(&mut self, range: &Range<u64>, parts: &[Part], report: &mut Report<'_>) -> Result<(), ReadError> {
        let mut end = 0;
        let mut cluster_end = 0;
        for part in parts {
            if part.start > end {
                self.gap(end.max(range.start)..part.start.min(range.end))?;
            }
            let limit = if part.content == Use::Plain { cluster_end } else { end };
            if part.start < limit && range.contains(&part.start) {
                overlap(part, limit, report);
            }
            end = end.max(part.end);
            if part.content != Use::Plain {
                cluster_end = cluster_end.max(part.end);
            }
        }
        self.gap(end.max(range.start)..range.end)
    }

    /// Counts bytes that belong to nothing.
    fn gap(&mut self, gap: Range<u64>) -> Result<(), ReadError> {
        for index in 0..self.strays.len() {
            let area = &self.strays[index].area;
            let mut at = gap.start.max(area.start);
            let end = gap.end.min(area.end);
            while at < end {
                check_cancelled(self.settings)?;
                // Files have all of the packed inode, except the end of the last block of what is not compressed.
                let (found, step) = if index == PACKED_INDEX {
                    let block = 1 << self.image.superblock().block_bits;
                    let is_end = end - at < block && (end - PACKED).is_multiple_of(block);
                    ((!is_end).then_some((at, end - at)), end - at)
                } else {
                    let length = STEP.min(end - at);
                    match self.not_zero(at, length)? {
                        Read::Bytes(found) => (found, length),
                        Read::Nothing => (None, end - at),
                    }
                };
                let stray = &mut self.strays[index];
                if let Some((first, count)) = found {
                    stray.first = if stray.bytes == 0 { first } else { stray.first };
                    stray.bytes += count;
                }
                at += step;
            }
        }
        Ok(())
    }

    fn not_zero(&self, at: u64, length: u64) -> Result<Read, ReadError> {
        let mut bytes = vec![0; length as usize];
        match self.image.contents().store().read(at, &mut bytes) {
            Ok(()) => {}
            // All of the metabox is decoded later; a fault of the image's file is reported where its bytes are needed.
            Err(ReadError::Corrupt(_) | ReadError::Input { .. }) => return Ok(Read::Nothing),
            Err(error) => return Err(error),
        }
        let first = bytes.iter().position(|byte| *byte != 0);
        let count = bytes.iter().filter(|byte| **byte != 0).count() as u64;
        Ok(Read::Bytes(first.map(|first| (at + first as u64, count))))
    }

    fn finish(&self, report: &mut Report<'_>) -> Areas {
        for stray in self.strays.iter().filter(|stray| stray.bytes > 0) {
            let what = format!("{} bytes of {} that belong to nothing", stray.bytes, stray.name);
            report.note(stray.first & !(METABOX | PACKED), what, "zeros");
        }
        Areas { packed_has_unused: self.strays[PACKED_INDEX].bytes > 0 }
    }
}

fn overlap(part: &Part, limit: u64, report: &mut Report<'_>) {
    let what = match part.content {
        Use::Plain => "bytes",
        Use::Cluster(_) => "compressed cluster",
    };
    let what = format!(
        "{what} from {} to {}, of which {} belong to another part",
        part.start,
        part.end,
        limit.min(part.end) - part.start
    );
    report.fault(part.start & !METABOX, what, "clusters that do not overlap other parts");
}
