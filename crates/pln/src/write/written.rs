//! Statistics of writing a file.

/// Statistics of writing a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Bytes of content.
    pub logical: u64,
    /// Bytes of the file.
    pub physical: u64,
    /// Records.
    pub records: u64,
    /// Records that are stored, possibly with slack.
    pub stored_records: u64,
    /// BLAKE3 of the content.
    pub blake3: [u8; 32],
    /// Workers allowed by memory; 0 if the caller's thread did everything.
    pub workers: usize,
}
