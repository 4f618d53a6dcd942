//! The size of records, and the division of a content into records and groups. It follows from the sizes of the content and of the records.

use crate::Error;
use packline_runtime::Unsupported;
use std::fmt;

/// The number of records in a group. The last group of a file may have fewer.
pub(crate) const GROUP: u64 = 1024;
/// Upper bound for the records of a file. With it, the size of the index fits in the index's head.
pub(crate) const RECORDS_MOST: u64 = 1 << 36;

/// The division of a content into records and groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The bytes of content in a record.
    pub(crate) record_size: RecordSize,
    /// The bytes of the content.
    pub(crate) logical: u64,
}

impl Shape {
    /// The number of records.
    pub(crate) fn records(&self) -> u64 {
        self.logical.div_ceil(self.record_size.bytes() as u64)
    }

    /// The number of groups.
    pub(crate) fn groups(&self) -> u64 {
        self.records().div_ceil(GROUP)
    }

    /// Returns the number of the group's first record, and the number of records in the group.
    pub(crate) fn group(&self, number: u64) -> (u64, u64) {
        let first = number * GROUP;
        (first, (self.records() - first).min(GROUP))
    }

    /// The bytes of content of an existing record.
    pub(crate) fn length(&self, record: u64) -> usize {
        let left = self.logical - (record << self.record_size.log());
        left.min(self.record_size.bytes() as u64) as usize
    }
}

/// The bytes of content in a record: a power of two from 4 KiB to 16 MiB. The last record of a file may have fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordSize {
    log: u8,
}

impl RecordSize {
    /// The minimum.
    pub const MIN: RecordSize = RecordSize { log: 12 };
    /// The maximum.
    pub const MAX: RecordSize = RecordSize { log: 24 };

    /// Checks a size in bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the size is not a power of two from 4 KiB to 16 MiB.
    pub fn new(bytes: u64) -> Result<RecordSize, Error> {
        let log = bytes.is_power_of_two().then(|| bytes.ilog2() as u8);
        log.and_then(RecordSize::from_log).ok_or_else(|| {
            Unsupported::new(format!("records of {bytes} bytes"), "a power of two from 4096 to 16777216").into()
        })
    }

    /// Returns the size with this binary logarithm, if it is valid.
    pub(crate) fn from_log(log: u8) -> Option<RecordSize> {
        (Self::MIN.log..=Self::MAX.log).contains(&log).then_some(RecordSize { log })
    }

    /// The binary logarithm of the size.
    pub(crate) fn log(self) -> u8 {
        self.log
    }

    /// The size in bytes.
    pub fn bytes(self) -> usize {
        1 << self.log
    }
}

impl Default for RecordSize {
    /// Returns 1 MiB, which is large enough for strong codecs and small enough to read ranges fast.
    fn default() -> RecordSize {
        RecordSize { log: 20 }
    }
}

impl fmt::Display for RecordSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.bytes())
    }
}
