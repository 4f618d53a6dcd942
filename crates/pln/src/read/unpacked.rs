//! Results of reading.

/// Result of decompression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unpacked {
    /// Bytes of content handed out.
    pub bytes: u64,
    /// Records that were decompressed for that.
    pub records: u64,
    /// BLAKE3 of the whole content, where all of it was read.
    pub blake3: Option<[u8; 32]>,
}

/// Result of verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// Findings; none if the file is whole and right.
    pub findings: u64,
    /// Records that are right.
    pub records: u64,
    /// Bytes of their content.
    pub bytes: u64,
    /// Bytes of the file that were read.
    pub physical: u64,
    /// BLAKE3 of the content, where nothing is wrong.
    pub blake3: Option<[u8; 32]>,
}
