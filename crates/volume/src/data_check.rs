//! Compares the data of an image with the checksum in its record, while blocks are read.
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

use crate::{CheckScope, ReadError};

/// Bytes that are read at a time.
const PIECE: u64 = 256 << 10;
/// Maximum number of ranges, about 1 MB. Further blocks that adjoin no range are read again at the end.
const RANGES_MOST: usize = 1 << 14;

/// Fills a buffer with bytes of the image from an offset on.
pub type ReadAt<'r> = &'r dyn Fn(u64, &mut [u8]) -> Result<(), ReadError>;

/// The expected checksum of the bytes of an image, and the checksums of the ranges that have been read.
#[derive(Debug)]
pub struct DataCheck {
    scope: CheckScope,
    area: Range,
    contents_end: u64,
    changed: &'static str,
    ranges: Mutex<BTreeMap<u64, Range>>,
}

/// The bytes whose checksum an image has.
#[derive(Debug, Clone, Copy)]
pub struct Covered {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset of the end.
    pub end: u64,
    /// Offset of the end of the contents of files. Metadata may follow.
    pub contents_end: u64,
    /// The CRC-32 that the image has.
    pub crc: u32,
    /// What has changed if the bytes have another checksum, such as `changed content, in an unknown file`.
    pub changed: &'static str,
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
    /// A check of the bytes that a record covers.
    pub fn new(scope: CheckScope, covered: Covered) -> DataCheck {
        let Covered { start, end, contents_end, crc, changed } = covered;
        let area = Range { start, end: end.max(start), crc };
        DataCheck { scope, area, contents_end, changed, ranges: Mutex::default() }
    }

    /// Adds stored bytes that were read from `start` on. Bytes that were added before are ignored.
    pub fn add(&self, start: u64, bytes: &[u8]) {
        let end = start + bytes.len() as u64;
        if bytes.is_empty() || start < self.area.start || end > self.area.end || !is_free(&self.ranges(), start, end) {
            return;
        }
        let range = Range { start, end, crc: crc32fast::hash(bytes) };
        insert(&mut self.ranges(), range);
    }

    /// Reads the bytes that were not added, and compares the checksum of all bytes; see [`CheckScope`].
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the checksum differs; errors of `read`; [`ReadError::Work`].
    pub fn compare(&self, read: ReadAt<'_>, cancel: &CancelToken) -> Result<(), ReadError> {
        let area = self.area;
        if self.scope == CheckScope::IfAllWasRead && !self.has_all_contents() {
            return Ok(());
        }
        let mut all = Range { end: area.start, crc: 0, ..area };
        for range in std::mem::take(&mut *self.ranges()).into_values() {
            all = read_to(range.start, all, read, cancel)?.joined(range);
        }
        all = read_to(area.end, all, read, cancel)?;
        insert(&mut self.ranges(), all);
        if all.crc == area.crc {
            return Ok(());
        }
        // The offset follows: the start of the data, because nothing says where the change is.
        let what = format!("{}: checksum {:#010x} of the data, which begins", self.changed, all.crc);
        let expected = format!("{:#010x}, the checksum that pack stored", area.crc);
        Err(ReadError::corrupt(area.start, what, expected))
    }

    fn has_all_contents(&self) -> bool {
        let contents = |range: &Range| range.start == self.area.start && range.end >= self.contents_end;
        self.ranges().values().next().is_some_and(contents)
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
fn read_to(end: u64, mut range: Range, read: ReadAt<'_>, cancel: &CancelToken) -> Result<Range, ReadError> {
    if range.end >= end {
        return Ok(range);
    }
    let mut checksum = Hasher::new_with_initial_len(range.crc, range.end - range.start);
    let mut piece = vec![0; (end - range.end).min(PIECE) as usize];
    while range.end < end {
        unless_cancelled(cancel)?;
        let bytes = &mut piece[..(end - range.end).min(PIECE) as usize];
        read(range.end, bytes)?;
        checksum.update(bytes);
        range.end += bytes.len() as u64;
    }
    Ok(Range { crc: checksum.finalize(), ..range })
}

/// Returns the CRC-32 of the bytes from `start` to `end`.
///
/// # Errors
/// Errors of `read`; [`ReadError::Work`].
pub fn checksum(start: u64, end: u64, read: ReadAt<'_>, cancel: &CancelToken) -> Result<u32, ReadError> {
    read_to(end, Range { start, end: start, crc: 0 }, read, cancel).map(|range| range.crc)
}

#[cfg(test)]
mod tests {
    use packline_runtime::FormatFault;

    use super::*;

    const START: u64 = 96;
    const END: u64 = 60_000;

    /// Bytes of an image, and a check of a part of them.
    fn sample() -> (Vec<u8>, DataCheck) {
        let bytes: Vec<u8> = (0..70_000u32).map(|at| (at.wrapping_mul(at) >> 5) as u8).collect();
        let crc = crc32fast::hash(&bytes[START as usize..END as usize]);
        let covered = Covered { start: START, end: END, contents_end: END - 500, crc, changed: "content" };
        (bytes, DataCheck::new(CheckScope::Everything, covered))
    }

    fn read(bytes: &[u8]) -> impl Fn(u64, &mut [u8]) -> Result<(), ReadError> {
        |at, buffer| {
            buffer.copy_from_slice(&bytes[at as usize..][..buffer.len()]);
            Ok(())
        }
    }

    fn compare(check: &DataCheck, bytes: &[u8]) -> Result<(), ReadError> {
        check.compare(&read(bytes), &CancelToken::default())
    }

    #[test]
    fn ranges_in_any_order_have_the_checksum_of_the_whole() {
        for step in [997, 4096, 50_000] {
            for stride in [1usize, 3, 7] {
                let (bytes, check) = sample();
                let starts: Vec<u64> = (START..END).step_by(step).collect();
                for first in 0..stride {
                    for start in starts.iter().skip(first).step_by(stride).rev() {
                        let end = (start + step as u64).min(END);
                        check.add(*start, &bytes[*start as usize..end as usize]);
                        // Bytes that overlap known bytes, and bytes outside the area, are ignored.
                        check.add(*start, &bytes[*start as usize..end as usize]);
                        check.add(*start + 1, &[0; 2]);
                        check.add(END - 1, &[0; 2]);
                    }
                }
                assert_eq!(check.ranges().len(), 1, "{step} {stride}");
                compare(&check, &bytes).unwrap();
            }
        }
    }

    #[test]
    fn bytes_that_were_not_added_are_read() {
        let (bytes, check) = sample();
        compare(&check, &bytes).unwrap();
        let (_, check) = sample();
        let start = START + 1000;
        check.add(start, &bytes[start as usize..][..5000]);
        compare(&check, &bytes).unwrap();
        assert_eq!(checksum(START, END, &read(&bytes), &CancelToken::default()).unwrap(), check.area.crc);
    }

    #[test]
    fn a_part_is_not_compared_if_only_the_whole_is_to_be() {
        let (mut bytes, check) = sample();
        let check = DataCheck { scope: CheckScope::IfAllWasRead, ..check };
        bytes[5000] ^= 1;
        check.add(START, &bytes[START as usize..10_000]);
        compare(&check, &bytes).unwrap();
        check.add(10_000, &bytes[10_000..END as usize - 501]);
        compare(&check, &bytes).unwrap();
        check.add(END - 501, &bytes[END as usize - 501..][..1]);
        compare(&check, &bytes).unwrap_err();
    }

    #[test]
    fn a_wrong_byte_is_found() {
        let (bytes, check) = sample();
        let start = START + 1000;
        let mut block = bytes[start as usize..][..5000].to_vec();
        block[4999] ^= 1;
        check.add(start, &block);
        let error = compare(&check, &bytes).unwrap_err();
        assert!(matches!(error, ReadError::Corrupt(FormatFault { offset: START, .. })), "{error}");
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
