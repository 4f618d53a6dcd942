//! How a file is divided: what follows from the size of its content and of its records alone.

use super::RecordSize;

/// Records of a group, the last of a file excepted.
pub(crate) const GROUP: u64 = 1024;
/// Records of a file, at most: so the index has a length that its head can say.
pub(crate) const RECORDS_MOST: u64 = 1 << 36;

/// How the content of a file is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bytes of a record.
    pub(crate) record_size: RecordSize,
    /// Bytes of the content.
    pub(crate) logical: u64,
}

impl Shape {
    /// Records.
    pub(crate) fn records(&self) -> u64 {
        self.logical.div_ceil(self.record_size.bytes() as u64)
    }

    /// Groups of records.
    pub(crate) fn groups(&self) -> u64 {
        self.records().div_ceil(GROUP)
    }

    /// The records of a group: the first, and how many there are.
    pub(crate) fn group(&self, number: u64) -> (u64, u64) {
        let first = number * GROUP;
        (first, (self.records() - first).min(GROUP))
    }

    /// Bytes of content of a record that there is.
    pub(crate) fn length(&self, record: u64) -> usize {
        let left = self.logical - (record << self.record_size.log());
        left.min(self.record_size.bytes() as u64) as usize
    }
}
