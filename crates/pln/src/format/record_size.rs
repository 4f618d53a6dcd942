//! The size of records.

use std::fmt;

use packline_runtime::Unsupported;

use crate::Error;

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
