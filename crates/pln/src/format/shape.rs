//! The division of a file, which follows from the sizes of its content and of its records.

use super::RecordSize;

/// Records of a group, except the last of a file.
pub(crate) const GROUP: u64 = 1024;
/// Maximum number of records of a file: the length of the index fits its header.
pub(crate) const RECORDS_MOST: u64 = 1 << 36;

/// The division of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bytes of a record.
    pub(crate) record_size: RecordSize,
    /// Bytes of the content.
    pub(crate) logical: u64,
}

impl Shape {
    /// Number of records.
    pub(crate) fn records(&self) -> u64 {
        self.logical.div_ceil(self.record_size.bytes() as u64)
    }

    /// Number of groups of records.
    pub(crate) fn groups(&self) -> u64 {
        self.records().div_ceil(GROUP)
    }

    /// The first record of a group, and their number.
    pub(crate) fn group(&self, number: u64) -> (u64, u64) {
        let first = number * GROUP;
        (first, (self.records() - first).min(GROUP))
    }

    /// Bytes of content of an existing record.
    pub(crate) fn length(&self, record: u64) -> usize {
        let left = self.logical - (record << self.record_size.log());
        left.min(self.record_size.bytes() as u64) as usize
    }
}
