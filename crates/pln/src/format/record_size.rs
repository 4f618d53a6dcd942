//! The size of records.

use std::fmt;

use packline_runtime::Unsupported;

use crate::Error;

/// Bytes of content in a record, except the last of a file: a power of two from 4 KiB to 16 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordSize {
    log: u8,
}

impl RecordSize {
    /// The minimum.
    pub const MIN: RecordSize = RecordSize { log: 12 };
    /// The maximum.
    pub const MAX: RecordSize = RecordSize { log: 24 };

    /// A size in bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for anything but a power of two from 4 KiB to 16 MiB.
    pub fn new(bytes: u64) -> Result<RecordSize, Error> {
        let log = bytes.is_power_of_two().then(|| bytes.ilog2() as u8);
        log.and_then(RecordSize::from_log).ok_or_else(|| {
            Unsupported::new(format!("records of {bytes} bytes"), "a power of two from 4096 to 16777216").into()
        })
    }

    /// From the binary logarithm of its bytes.
    pub(crate) fn from_log(log: u8) -> Option<RecordSize> {
        (Self::MIN.log..=Self::MAX.log).contains(&log).then_some(RecordSize { log })
    }

    /// The binary logarithm of its bytes.
    pub(crate) fn log(self) -> u8 {
        self.log
    }

    /// Bytes.
    pub fn bytes(self) -> usize {
        1 << self.log
    }
}

impl Default for RecordSize {
    /// 1 MiB: large enough for strong codecs, small enough for fast reading of a range.
    fn default() -> RecordSize {
        RecordSize { log: 20 }
    }
}

impl fmt::Display for RecordSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.bytes())
    }
}
