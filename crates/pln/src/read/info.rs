//! Summary of a file.

use crate::{CodecId, RecordSize};

/// Summary of a file, from its tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// Version of the format.
    pub version: u8,
    /// Bytes of a record.
    pub record_size: RecordSize,
    /// Records.
    pub records: u64,
    /// Groups of records, each with a table.
    pub groups: u64,
    /// Bytes of content.
    pub logical: u64,
    /// Bytes of the file.
    pub physical: u64,
    /// BLAKE3 of the content.
    pub blake3: [u8; 32],
    /// How records are stored, in the order of the codecs' numbers, without slack first.
    pub kinds: Vec<Kind>,
}

/// Records that are stored in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Their codec.
    pub codec: CodecId,
    /// Whether trailing zeros were removed.
    pub slack: bool,
    /// Their number.
    pub records: u64,
    /// Bytes of their content.
    pub logical: u64,
    /// Bytes stored for them.
    pub stored: u64,
}
