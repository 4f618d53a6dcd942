//! Findings of verification, and their receiver.

use packline_runtime::FormatFault;

use crate::ReadError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Breaks a rule of the format, or cannot be read.
    Fault,
    /// Legal, but unusual.
    Note,
}

/// A fault, or something unusual.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    /// The path of the affected file or directory, if the fault affects the content of one, and its path is known.
    pub path: Option<Vec<u8>>,
    /// Offset in bytes from the start of the image.
    pub offset: u64,
    pub what: String,
    /// Valid values; for a note, usual values.
    pub expected: String,
}

/// Receives the findings of verification. All calls are on the caller's thread, in an order that depends on the image alone.
pub trait Examiner {
    fn found(&mut self, finding: Finding);
    /// Called when `content` of `total` bytes of content have been read.
    fn advance(&mut self, _content: u64, _total: u64) {}
}

/// Totals of what was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verified {
    /// Inodes in the inode table.
    pub inodes: u64,
    /// Regular files among the inodes.
    pub files: u64,
    /// Directories among the inodes.
    pub directories: u64,
    /// Symbolic links among the inodes.
    pub symlinks: u64,
    /// Names, without the root's.
    pub names: u64,
    pub metadata_blocks: u64,
    /// Bytes of metadata, decompressed.
    pub metadata_bytes: u64,
    /// Stored data blocks, counted for each file that contains them.
    pub blocks: u64,
    pub fragments: u64,
    /// Bytes of content, holes included; a file with several names counts once.
    pub content: u64,
    pub faults: u64,
    pub notes: u64,
    /// Data blocks and fragment blocks without any checksum, in which changes are not noticed; in an EROFS image, files.
    pub unchecked: u64,
}

/// The start of a hash tree of dm-verity.
const HASH_TREE: &[u8] = b"verity\0\0";
/// Offset of the number of data blocks in it.
const DATA_BLOCKS: usize = 72;
/// Bytes of a block of a hash tree, and hashes in it.
const TREE_BLOCK: u64 = 4096;
const HASHES: u64 = 128;

/// Whether the last `length` bytes of a file, which begin with `start`, are a hash tree of SHA-256 and blocks of 4096 bytes, and nothing else.
fn is_hash_tree(start: &[u8], length: u64) -> bool {
    let Some(mut blocks) =
        start.get(DATA_BLOCKS..).and_then(|bytes| bytes.first_chunk()).map(|b| u64::from_le_bytes(*b))
    else {
        return false;
    };
    // The superblock, and the levels.
    let mut tree = 1u64;
    while blocks > 1 {
        blocks = blocks.div_ceil(HASHES);
        tree = tree.saturating_add(blocks);
    }
    start.starts_with(HASH_TREE) && tree.saturating_mul(TREE_BLOCK) == length
}

/// Passes findings to the examiner, and counts them.
pub struct Report<'x> {
    pub totals: Verified,
    pub examiner: &'x mut dyn Examiner,
}

impl Report<'_> {
    /// Reports a violated rule.
    pub fn fault(&mut self, offset: u64, what: String, expected: impl Into<String>) {
        self.totals.faults += 1;
        let expected = expected.into();
        self.examiner.found(Finding { severity: Severity::Fault, path: None, offset, what, expected });
    }

    /// Reports something legal but unusual.
    pub fn note(&mut self, offset: u64, what: String, expected: impl Into<String>) {
        self.totals.notes += 1;
        let expected = expected.into();
        self.examiner.found(Finding { severity: Severity::Note, path: None, offset, what, expected });
    }

    /// Reports an owner or group that no file can have: the system interprets this number as "do not change".
    pub fn unusable_owner(&mut self, offset: u64) {
        self.note(offset, format!("owner or group {}", u32::MAX), "0 to 4294967294, which files can have");
    }

    /// Reports bytes after an image that are neither padding nor a hash tree of dm-verity. They start at `end`, and there are `length` of them;
    /// `bytes` are the first ones.
    pub fn bytes_after(&mut self, end: u64, length: u64, bytes: &[u8]) {
        let first = bytes.iter().position(|byte| *byte != 0);
        if let Some(at) = first.filter(|at| !is_hash_tree(&bytes[*at..], length - *at as u64)) {
            self.note(end + at as u64, format!("{length} bytes after the image, not all zero"), "padding");
        }
    }

    /// Reports unreadable data; returns errors that are not faults of the image.
    pub fn unread(&mut self, path: Option<&[u8]>, error: ReadError) -> Result<(), ReadError> {
        let (offset, what, expected) = match error {
            ReadError::Corrupt(FormatFault { offset, what, expected }) => (offset, what, expected),
            ReadError::Input { offset, cause } => (offset, format!("unreadable data ({cause})"), "data".to_string()),
            other => return Err(other),
        };
        self.totals.faults += 1;
        let path = path.map(<[u8]>::to_vec);
        self.examiner.found(Finding { severity: Severity::Fault, path, offset, what, expected });
        Ok(())
    }
}
