//! Every metadata block of every table: it decompresses, is full unless it is the last, and is directly after the block before it.

use packline_codec::{METADATA_BLOCK_SIZE, Spec};
use packline_volume::Report;

use super::{VerifySettings, check_cancelled};
use crate::format::tables::decode::Indexed;
use crate::format::wire::STORED;
use crate::read::metadata::Area;
use crate::read::{Image, ReadError};

/// Checks all tables. Returns the decompressed length in bytes of the directory table.
pub(super) fn all(image: &Image, settings: &VerifySettings, report: &mut Report<'_>) -> Result<u64, ReadError> {
    let tables = image.tables();
    let mut scan = Scan { image, settings, report };
    scan.table(&tables.inodes, None)?;
    let listed = scan.table(&tables.directories, None)?;
    for table in [tables.fragments.as_ref(), tables.exports.as_ref(), tables.ids.as_ref()].into_iter().flatten() {
        scan.table(&table.area, Some(table))?;
    }
    if let Some(xattrs) = &tables.xattrs {
        scan.table(&xattrs.values, None)?;
        scan.table(&xattrs.sets.area, Some(&xattrs.sets))?;
    }
    Ok(listed)
}

struct Scan<'s, 'x> {
    image: &'s Image,
    settings: &'s VerifySettings,
    report: &'s mut Report<'x>,
}

impl Scan<'_, '_> {
    /// Checks all blocks. Returns the decompressed length in bytes of the valid blocks.
    fn table(&mut self, area: &Area, index: Option<&Indexed>) -> Result<u64, ReadError> {
        let mut at = area.start;
        let mut total = 0;
        let mut number = 0;
        while at < area.end {
            check_cancelled(self.settings)?;
            if let Some(index) = index {
                self.index_entry(index, number, at)?;
            }
            let (next, length) = match self.image.store().block(area, at) {
                Ok(block) => {
                    self.window(area, at, block.next)?;
                    (block.next, block.bytes.len())
                }
                Err(error) => {
                    self.report.unread(None, error)?;
                    match self.next_of_broken(area, at)? {
                        Some(next) => (next, METADATA_BLOCK_SIZE),
                        None => return Ok(total),
                    }
                }
            };
            if length < METADATA_BLOCK_SIZE && next < area.end {
                let what = format!("{}: metadata block of {length} bytes that is not the last", area.name);
                self.report.fault(at, what, "8192 bytes in all but the last");
            }
            total += length as u64;
            number += 1;
            at = next;
            self.report.totals.metadata_blocks += 1;
        }
        self.report.totals.metadata_bytes += total;
        Ok(total)
    }

    /// Checks that Linux has the memory to decode the block at bytes `at..next`.
    fn window(&mut self, area: &Area, at: u64, next: u64) -> Result<(), ReadError> {
        if !matches!(self.image.codec(), Spec::Zstd(_)) {
            return Ok(());
        }
        let mut stored = vec![0; (next - at) as usize];
        self.image.store().read(at, &mut stored)?;
        let (header, payload) = stored.split_at(2);
        if self.image.layout().header_order.half([header[0], header[1]]) & STORED != 0 {
            return Ok(());
        }
        if let Err(cause) = self.image.check_window(payload) {
            let what = format!("{}: a metadata block that Linux cannot decode: {cause}", area.name);
            self.report.fault(at, what, "a window of at most a block");
        }
        Ok(())
    }

    /// Returns the position of the next block, which is known even if a block does not decompress.
    fn next_of_broken(&mut self, area: &Area, at: u64) -> Result<Option<u64>, ReadError> {
        let mut header = [0; 2];
        if at + 2 > area.end || self.image.store().read(at, &mut header).is_err() {
            return Ok(None);
        }
        let layout = self.image.layout();
        let length = u64::from(layout.header_order.half(header) & !STORED);
        let next = at + layout.header_bytes() + length;
        Ok((length > 0 && length <= METADATA_BLOCK_SIZE as u64 && next <= area.end).then_some(next))
    }

    /// Checks that a table's index refers to each of its blocks.
    fn index_entry(&mut self, index: &Indexed, number: u64, at: u64) -> Result<(), ReadError> {
        let place = index.index + number * index.offset_bytes;
        if place >= index.end_of_index() {
            let what = format!("{}: metadata block {number} that its index does not have", index.area.name);
            self.report.fault(at, what, "as many blocks as the index has");
            return Ok(());
        }
        match index.block(self.image.store(), number) {
            Ok(start) if start == at => {}
            Ok(start) => {
                let what = format!("{}: index entry {number} leads to byte {start}", index.area.name);
                self.report.fault(place, what, format!("byte {at}, where the block starts"));
            }
            Err(error) => self.report.unread(None, error)?,
        }
        Ok(())
    }
}
