//! Results of reading.

/// Result of decompression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unpacked {
    /// Bytes of content written.
    pub bytes: u64,
    /// Records decompressed.
    pub records: u64,
    /// BLAKE3 of the whole content, if all of it was read.
    pub blake3: Option<[u8; 32]>,
}

/// Result of decompressing what is left of a damaged file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Salvaged {
    /// Bytes of content written.
    pub bytes: u64,
    /// Bytes of content that are lost, for which zeros were written.
    pub lost: u64,
    /// Findings.
    pub findings: u64,
}

/// Result of verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// Findings; 0 if the file is complete and valid.
    pub findings: u64,
    /// Valid records.
    pub records: u64,
    /// Bytes of their content.
    pub bytes: u64,
    /// Bytes of the file read.
    pub physical: u64,
    /// BLAKE3 of the content, if nothing is wrong.
    pub blake3: Option<[u8; 32]>,
}
