//! Compares the data area of an image with the checksum in its record, while blocks are read.
//!
//! Most codecs have no checksum of their own, so a damaged block often decodes to wrong bytes without an error. Each stored block that is read
//! adds its CRC-32 to a map of ranges. Adjacent ranges are joined, so blocks that are read in order form one range. At the end of a [`DataCheck`]
//! of everything, the bytes that no range covers (gaps, ranges beyond the limit) are read. The result therefore never depends on the order or on
//! timing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crc32fast::Hasher;
use packline_engine::CancelToken;
use packline_runtime::unless_cancelled;
use packline_volume::CheckScope;

use super::metadata::Store;
use super::{Image, ReadError};
use crate::format::record::Record;

/// Bytes that are read at a time.
const PIECE: u64 = 256 << 10;
/// Maximum number of ranges, about 1 MB. Further blocks that adjoin no range are read again at the end.
const RANGES_MOST: usize = 1 << 14;

/// The expected checksum of a data area, and the checksums of the ranges that have been read.
#[derive(Debug)]
pub(super) struct DataCheck {
    scope: CheckScope,
    area: Range,
    ranges: Mutex<BTreeMap<u64, Range>>,
}

/// Consecutive bytes of an image and their CRC-32.
#[derive(Debug, Clone, Copy)]
struct Range {
    start: u64,
    end: u64,
    crc: u32,
}

impl Range {
    /// Joins two ranges; `next` starts at the end of this one.
    fn joined(self, next: Range) -> Range {
        let mut both = Hasher::new_with_initial_len(self.crc, self.end - self.start);
        both.combine(&Hasher::new_with_initial_len(next.crc, next.end - next.start));
        Range { start: self.start, end: next.end, crc: both.finalize() }
    }
}

impl DataCheck {
    /// Returns the check of an image; `None` if it has no sound record.
    pub(super) fn of(image: &Image, scope: CheckScope) -> Option<DataCheck> {
        let Ok(Some(Record { data: crc, .. })) = Record::read(image) else { return None };
        let start = image.data_start();
        let area = Range { start, end: image.superblock().inode_table.max(start), crc };
        Some(DataCheck { scope, area, ranges: Mutex::default() })
    }

    /// Adds stored bytes that were read from `start` on. Bytes that were added before are ignored.
    pub(super) fn add(&self, start: u64, bytes: &[u8]) {
        let end = start + bytes.len() as u64;
        if bytes.is_empty() || start < self.area.start || end > self.area.end || !is_free(&self.ranges(), start, end) {
            return;
        }
        let range = Range { start, end, crc: crc32fast::hash(bytes) };
        insert(&mut self.ranges(), range);
    }

    /// Reads the bytes that were not added, and compares the checksum of the complete data area; see [`CheckScope`].
    pub(super) fn compare(&self, store: &Store, cancel: &CancelToken) -> Result<(), ReadError> {
        let area = self.area;
        if self.scope == CheckScope::IfAllWasRead && !self.covers_area() {
            return Ok(());
        }
        let mut all = Range { end: area.start, crc: 0, ..area };
        for range in std::mem::take(&mut *self.ranges()).into_values() {
            all = read_to(range.start, all, store, cancel)?.joined(range);
        }
        all = read_to(area.end, all, store, cancel)?;
        insert(&mut self.ranges(), all);
        if all.crc == area.crc {
            return Ok(());
        }
        // The offset follows: the start of the data, because nothing says where the change is.
        let what = format!("changed content, in an unknown file: checksum {:#010x} of the data, which begins", all.crc);
        let expected = format!("{:#010x}, the checksum that pack stored", area.crc);
        Err(ReadError::corrupt(area.start, what, expected))
    }

    fn covers_area(&self) -> bool {
        let whole = |range: &Range| range.start == self.area.start && range.end == self.area.end;
        self.ranges().values().next().is_some_and(whole)
    }

    /// The map is consistent even if a thread panicked.
    fn ranges(&self) -> MutexGuard<'_, BTreeMap<u64, Range>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether no range has a byte of `start..end`.
fn is_free(ranges: &BTreeMap<u64, Range>, start: u64, end: u64) -> bool {
    ranges.range(..end).next_back().is_none_or(|(_, before)| before.end <= start)
}

/// Inserts a range, unless another thread was faster, and joins it with its neighbours.
fn insert(ranges: &mut BTreeMap<u64, Range>, mut range: Range) {
    if !is_free(ranges, range.start, range.end) {
        return;
    }
    let before = ranges.range(..range.start).next_back().map(|(_, before)| *before);
    if let Some(before) = before.filter(|before| before.end == range.start) {
        range = before.joined(range);
    }
    if let Some(after) = ranges.remove(&range.end) {
        range = range.joined(after);
    }
    if ranges.len() < RANGES_MOST || ranges.contains_key(&range.start) {
        ranges.insert(range.start, range);
    }
}

/// Extends a range to byte `end` by reading the image.
fn read_to(end: u64, mut range: Range, store: &Store, cancel: &CancelToken) -> Result<Range, ReadError> {
    if range.end >= end {
        return Ok(range);
    }
    let mut checksum = Hasher::new_with_initial_len(range.crc, range.end - range.start);
    let mut piece = vec![0; (end - range.end).min(PIECE) as usize];
    while range.end < end {
        unless_cancelled(cancel)?;
        let bytes = &mut piece[..(end - range.end).min(PIECE) as usize];
        store.read(range.end, bytes)?;
        checksum.update(bytes);
        range.end += bytes.len() as u64;
    }
    Ok(Range { crc: checksum.finalize(), ..range })
}

/// Returns the CRC-32 of an image's data area.
///
/// # Errors
/// [`ReadError::Input`], [`ReadError::Work`].
pub(crate) fn data_checksum(image: &Image, cancel: &CancelToken) -> Result<u32, ReadError> {
    let start = image.data_start();
    let none = Range { start, end: start, crc: 0 };
    read_to(image.superblock().inode_table, none, image.store(), cancel).map(|range| range.crc)
}

#[cfg(test)]
mod tests {
    use packline_runtime::FormatFault;

    use super::*;
    use crate::read::{Opening, Origin};
    use crate::test_image::{file, image};
    use packline_testkit::Random;
    use std::sync::Arc;

    /// An image with a record, and its bytes.
    fn sample() -> (Image, Vec<u8>) {
        let noise = Random::new(1).noise(60_000);
        let bytes = image([file("a", &noise)], "lz4", |options| options.pad = 4096);
        let opening = Opening { origin: Origin::At(0), metadata_cache: 1 << 20 };
        (Image::open(Arc::new(bytes.clone()), opening).unwrap(), bytes)
    }

    fn compare(check: &DataCheck, image: &Image) -> Result<(), ReadError> {
        check.compare(image.store(), &CancelToken::default())
    }

    #[test]
    fn ranges_in_any_order_have_the_checksum_of_the_whole() {
        let (image, bytes) = sample();
        let area = DataCheck::of(&image, CheckScope::Everything).unwrap().area;
        assert!(area.end - area.start > 50_000);
        for step in [997, 4096, 50_000] {
            for stride in [1usize, 3, 7] {
                let check = DataCheck::of(&image, CheckScope::Everything).unwrap();
                let starts: Vec<u64> = (area.start..area.end).step_by(step).collect();
                for first in 0..stride {
                    for start in starts.iter().skip(first).step_by(stride).rev() {
                        let end = (start + step as u64).min(area.end);
                        check.add(*start, &bytes[*start as usize..end as usize]);
                        // Bytes that overlap known bytes, and bytes outside the area, are ignored.
                        check.add(*start, &bytes[*start as usize..end as usize]);
                        check.add(*start + 1, &[0; 2]);
                        check.add(area.end - 1, &[0; 2]);
                    }
                }
                assert_eq!(check.ranges().len(), 1, "{step} {stride}");
                compare(&check, &image).unwrap();
            }
        }
    }

    #[test]
    fn bytes_that_were_not_added_are_read() {
        let (image, bytes) = sample();
        let check = DataCheck::of(&image, CheckScope::Everything).unwrap();
        compare(&check, &image).unwrap();
        let check = DataCheck::of(&image, CheckScope::Everything).unwrap();
        let start = check.area.start + 1000;
        check.add(start, &bytes[start as usize..][..5000]);
        compare(&check, &image).unwrap();
        assert_eq!(data_checksum(&image, &CancelToken::default()).unwrap(), check.area.crc);
    }

    #[test]
    fn a_wrong_byte_is_found() {
        let (image, bytes) = sample();
        let check = DataCheck::of(&image, CheckScope::Everything).unwrap();
        let start = check.area.start + 1000;
        let mut block = bytes[start as usize..][..5000].to_vec();
        block[4999] ^= 1;
        check.add(start, &block);
        let error = compare(&check, &image).unwrap_err();
        assert!(
            matches!(error, ReadError::Corrupt(FormatFault { offset, .. }) if offset == check.area.start),
            "{error}"
        );
    }

    #[test]
    fn no_more_ranges_are_kept_than_the_limit() {
        let mut ranges = BTreeMap::new();
        for number in 0..2 * RANGES_MOST as u64 {
            insert(&mut ranges, Range { start: 10 * number, end: 10 * number + 1, crc: 0 });
        }
        assert_eq!(ranges.len(), RANGES_MOST);
        insert(&mut ranges, Range { start: 1, end: 2, crc: 0 });
        assert_eq!((ranges.len(), ranges[&0].end), (RANGES_MOST, 2));
    }
}
