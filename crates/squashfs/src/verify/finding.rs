//! Findings of verification, and their receiver.

use crate::read::ReadError;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Breaks a rule of the format, or cannot be read.
    Fault,
    /// Legal, but nothing asks for it.
    Note,
}

/// Something that is wrong, or odd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The file concerned, if it is one file's content.
    pub path: Option<Vec<u8>>,
    /// Where it is, bytes from the start of the image.
    pub offset: u64,
    /// What was found.
    pub what: String,
    /// What would have been right; for a note what would have been usual.
    pub expected: String,
}

/// Receives the findings of verification. Every call comes on the caller's thread, in an order that depends on the image
/// alone.
pub trait Examiner {
    /// Something was found.
    fn found(&mut self, finding: Finding);
    /// So many bytes of content have been read of so many in all.
    fn advance(&mut self, _content: u64, _total: u64) {}
}

/// Totals of what was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verified {
    /// Inodes in the inode table.
    pub inodes: u64,
    /// Of these, regular files.
    pub files: u64,
    /// Of these, directories.
    pub directories: u64,
    /// Names, the root's not counted.
    pub names: u64,
    /// Metadata blocks.
    pub metadata_blocks: u64,
    /// Bytes of metadata, decompressed.
    pub metadata_bytes: u64,
    /// Stored data blocks, each as often as a file has it.
    pub blocks: u64,
    /// Fragment blocks.
    pub fragments: u64,
    /// Bytes of content, holes included; a file with several names counts once.
    pub content: u64,
    /// Faults.
    pub faults: u64,
    /// Notes.
    pub notes: u64,
}

/// Findings on their way to the examiner, and the totals.
pub(super) struct Report<'x> {
    pub(super) totals: Verified,
    pub(super) examiner: &'x mut dyn Examiner,
}

impl Report<'_> {
    /// A rule of the format is broken.
    pub(super) fn fault(&mut self, offset: u64, what: String, expected: impl Into<String>) {
        self.totals.faults += 1;
        let expected = expected.into();
        self.examiner.found(Finding { severity: Severity::Fault, path: None, offset, what, expected });
    }

    /// Something is legal but odd.
    pub(super) fn note(&mut self, offset: u64, what: String, expected: impl Into<String>) {
        self.totals.notes += 1;
        let expected = expected.into();
        self.examiner.found(Finding { severity: Severity::Note, path: None, offset, what, expected });
    }

    /// Something could not be read; goes on unless that is not the image's fault.
    pub(super) fn unread(&mut self, path: Option<&[u8]>, error: ReadError) -> Result<(), ReadError> {
        let (offset, what, expected) = match error {
            ReadError::Corrupt { offset, what, expected } => (offset, what, expected),
            ReadError::Input { offset, cause } => (offset, format!("unreadable data ({cause})"), "data".to_string()),
            other => return Err(other),
        };
        self.totals.faults += 1;
        let path = path.map(<[u8]>::to_vec);
        self.examiner.found(Finding { severity: Severity::Fault, path, offset, what, expected });
        Ok(())
    }
}
