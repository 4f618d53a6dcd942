//! Extents of a file with encoded extents.

use std::sync::{Mutex, PoisonError};

use packline_volume::ReadError;

use super::extent::{Coded, Extent, ExtentKind, Form, Stored};
use super::window::Window;
use super::{MapImage, MapInode};
use crate::format::corrupt;
use crate::format::extents::{POSITION_BYTES, RECORD_MOST, Record};
use crate::format::map_header::{ExtentsHeader, HEADER_BYTES};
use crate::format::superblock::incompat;

/// Records between two known positions at first, where positions are sums.
const FIRST_STEP: u64 = 1024;
/// Maximum number of known positions. When it is reached, every other one is dropped.
const MARKS: usize = 4096;

/// The records of a file.
#[derive(Debug)]
pub(super) struct Records {
    header: ExtentsHeader,
    /// Size of the file in bytes.
    size: u64,
    /// Address of the first record.
    start: u64,
    /// Number of extents.
    count: u64,
    /// Known positions of records of 4 bytes; `None` for other records, which have their own positions.
    sums: Option<Mutex<Sums>>,
}

/// The next extent of a sequential reader.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordPlace {
    number: u64,
    /// Offset in the file.
    offset: u64,
    /// Position of the stored bytes, if it is a sum.
    position: u64,
}

impl Records {
    /// `start`: address of the map header.
    ///
    /// # Errors
    /// Errors of reading the first position.
    pub(super) fn open(
        header: ExtentsHeader,
        inode: MapInode,
        start: u64,
        window: &mut Window,
    ) -> Result<Records, ReadError> {
        let mut first = (start + HEADER_BYTES as u64).next_multiple_of(header.record_bytes.into());
        let mut sums = None;
        if header.record_bytes == 4 {
            let position = u64::from_le_bytes(window.entry(first)?);
            sums = Some(Mutex::new(Sums { step: FIRST_STEP, marks: vec![position] }));
            first += POSITION_BYTES;
        }
        let equal = inode.size.div_ceil(1 << header.extent_bits);
        let count = if header.record_bytes <= 8 { equal } else { header.count };
        Ok(Records { header, size: inode.size, start: first, count, sums })
    }

    /// Returns a bound of the numbers of records.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the address of the first byte after the records.
    pub(super) fn end(&self) -> u64 {
        self.address(self.count)
    }

    /// Returns the features that the image must have.
    pub(super) fn features(&self) -> u32 {
        incompat::WIDE | if self.header.has_fragment { incompat::FRAGMENTS } else { 0 }
    }

    fn address(&self, number: u64) -> u64 {
        self.start.saturating_add(number.saturating_mul(self.header.record_bytes.into()))
    }

    /// Whether the records have their offsets in the file.
    fn has_starts(&self) -> bool {
        self.header.record_bytes > 8
    }

    fn load(&self, window: &mut Window, number: u64) -> Result<Record, ReadError> {
        let address = self.address(number);
        Ok(match self.header.record_bytes {
            4 => Record::decode(&window.entry::<4>(address)?),
            8 => Record::decode(&window.entry::<8>(address)?),
            16 => Record::decode(&window.entry::<16>(address)?),
            _ => Record::decode(&window.entry::<RECORD_MOST>(address)?),
        })
    }

    /// Returns the offset in the file of an extent; the size of the file after the last one.
    fn offset_of(&self, window: &mut Window, number: u64) -> Result<u64, ReadError> {
        if number >= self.count {
            return Ok(self.size);
        }
        if self.has_starts() {
            return Ok(self.load(window, number)?.start);
        }
        Ok(number << self.header.extent_bits)
    }

    /// Returns the start of the file.
    pub(super) fn first(&self) -> RecordPlace {
        let position = self.sums.as_ref().and_then(|sums| lock(sums).marks.first().copied());
        RecordPlace { number: 0, offset: 0, position: position.unwrap_or(0) }
    }

    /// Returns the place of the extent with a byte of the file.
    ///
    /// # Errors
    /// Errors of reading the records.
    pub(super) fn find(&self, window: &mut Window, offset: u64) -> Result<RecordPlace, ReadError> {
        if !self.has_starts() {
            return self.place_of(window, offset >> self.header.extent_bits);
        }
        // Numbers of records: those before `low` start at or before the offset, those from `high` on after it.
        let mut low = 0;
        let mut high = self.count;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.load(window, middle)?.start <= offset {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        match low.checked_sub(1) {
            Some(number) => self.place_of(window, number),
            None => Ok(self.first()),
        }
    }

    /// Whether a sequential reader better starts at the beginning than at a byte, because no position before it is known.
    pub(super) fn is_far(&self, offset: u64) -> bool {
        self.sums.is_some() && offset >> self.header.extent_bits > FIRST_STEP
    }

    /// Returns the place of an extent.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if there is no such extent; errors of reading the records.
    pub(super) fn place_of(&self, window: &mut Window, number: u64) -> Result<RecordPlace, ReadError> {
        if number >= self.count {
            let what = format!("extent {number}");
            return Err(corrupt(self.start, what, format!("one of the {} extents of the file", self.count)));
        }
        let offset = self.offset_of(window, number)?;
        let position = match &self.sums {
            Some(sums) => lock(sums).position(number, |number| self.load(window, number))?,
            None => 0,
        };
        Ok(RecordPlace { number, offset, position })
    }

    /// Returns the extent at a place, and the place after it.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the offsets of records do not increase; errors of reading the records.
    pub(super) fn span(&self, window: &mut Window, place: RecordPlace) -> Result<RecordSpan, ReadError> {
        let RecordPlace { number, offset, position } = place;
        let start = self.offset_of(window, number)?;
        if start > offset {
            // Content before the first record is a hole.
            let end = start.min(self.size);
            return Ok(RecordSpan { start: offset, end, record: None, next: RecordPlace { offset: end, ..place } });
        }
        let record = self.load(window, number)?;
        let end = self.offset_of(window, number + 1)?;
        if end <= start || end > self.size {
            let what = format!("extent at {end} after the one at {start}");
            let expected = format!("an offset after {start}, at most the size {}", self.size);
            return Err(corrupt(self.address(number + 1), what, expected));
        }
        let after = position.saturating_add(record.stored().into());
        let next = RecordPlace { number: number + 1, offset: end, position: after };
        Ok(RecordSpan { start, end, record: Some((number, record, position)), next })
    }

    /// Returns an extent with the position of its content.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the extent breaks a rule.
    pub(super) fn extent(&self, span: RecordSpan, image: &MapImage) -> Result<Extent, ReadError> {
        let RecordSpan { start, end, record, .. } = span;
        let key = record.map_or(0, |(number, ..)| number);
        let extent = |kind| Extent { start, length: end - start, key, entry: self.address(key), kind };
        let Some((number, record, position)) = record else { return Ok(extent(ExtentKind::Hole)) };
        if self.header.has_fragment && number + 1 == self.count {
            return Ok(extent(ExtentKind::Fragment(record.fragment())));
        }
        let bytes = record.stored();
        if bytes == 0 {
            return Ok(extent(ExtentKind::Hole));
        }
        let offset = if self.sums.is_some() { position } else { record.position };
        let block = 1u64 << image.block_bits;
        let form = match record.algorithm() {
            Some(algorithm) => Form::Coded(Coded { algorithm, is_partial: record.is_partial() }),
            None if self.header.is_interlaced && (offset | u64::from(bytes)) % block == 0 => Form::Interlaced,
            None => Form::Plain,
        };
        extent(ExtentKind::Stored(Stored { offset, bytes, form })).check(image)
    }
}

/// An extent as the records have it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordSpan {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Number, record and summed position; `None` for a hole before the first record.
    record: Option<(u64, Record, u64)>,
    pub(super) next: RecordPlace,
}

/// Positions of some extents that are stored one after another.
#[derive(Debug)]
struct Sums {
    /// Records between two marks.
    step: u64,
    /// Positions of the records 0, `step`, 2 * `step`, ...
    marks: Vec<u64>,
}

fn lock(sums: &Mutex<Sums>) -> std::sync::MutexGuard<'_, Sums> {
    // The marks are consistent at any time, so a poisoned lock is harmless.
    sums.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sums {
    /// Returns the position of a record.
    fn position(
        &mut self,
        number: u64,
        mut load: impl FnMut(u64) -> Result<Record, ReadError>,
    ) -> Result<u64, ReadError> {
        let mark = (number / self.step).min(self.marks.len() as u64 - 1);
        let mut position = self.marks.get(mark as usize).copied().unwrap_or(0);
        let mut at = mark * self.step;
        while at < number {
            position = position.saturating_add(load(at)?.stored().into());
            at += 1;
            self.mark(at, position);
        }
        Ok(position)
    }

    fn mark(&mut self, at: u64, position: u64) {
        if at != self.marks.len() as u64 * self.step {
            return;
        }
        if self.marks.len() == MARKS {
            let mut number = 0;
            self.marks.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.step *= 2;
        }
        if at == self.marks.len() as u64 * self.step {
            self.marks.push(position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_right_after_marks_were_dropped() {
        let stored = |number: u64| number * 7 % 1000 + 1;
        let mut sums = Sums { step: 2, marks: vec![50] };
        let expected = |number: u64| 50 + (0..number).map(stored).sum::<u64>();
        let mut loads = 0;
        for number in [9, 3, 20_000, 19_000, 20_001, 7, 30_000] {
            let load = |number| {
                loads += 1;
                Ok(Record::decode(&(stored(number) as u32).to_le_bytes()))
            };
            assert_eq!(sums.position(number, load).unwrap(), expected(number));
        }
        assert!(loads < 31_000, "{loads} records were read");
        assert!(sums.marks.len() < MARKS && sums.step > 2);
    }
}
