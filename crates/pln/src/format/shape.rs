//! The division of a content into records and groups. It follows from the sizes of the content and of the records.

use super::RecordSize;

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
