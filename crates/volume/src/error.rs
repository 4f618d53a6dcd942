//! Errors of reading an image.

use std::sync::Arc;

use packline_runtime::{FormatFault, Unsupported, WorkFault};

/// How the fault of a file that ends before its image begins.
const CUT_OFF: &str = "the image is cut off";
/// The start of the message of [`ReadError::superblock_checksum`].
const DAMAGED_SUPERBLOCK: &str = "damaged superblock: checksum";
/// The start of the message of [`ReadError::without_device`].
const WITHOUT_DEVICE: &str = "an image without its device";

/// Why an image, or a part of it, could not be read. Offsets count from the first byte of the image.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// The image breaks a rule of the format.
    #[error(transparent)]
    Corrupt(#[from] FormatFault),
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// A system call failed.
    #[error("cannot read at byte {offset}: {cause}")]
    Input {
        /// Offset in bytes.
        offset: u64,
        #[source]
        cause: Arc<std::io::Error>,
    },
    /// Cancelled, or a bug in this program.
    #[error(transparent)]
    Work(#[from] WorkFault),
}

impl ReadError {
    pub fn corrupt(offset: u64, what: impl Into<String>, expected: impl Into<String>) -> ReadError {
        FormatFault::new(offset, what, expected).into()
    }

    /// A file has only `found` bytes of an image of `stated` bytes. The size is stored at `offset`, in the superblock.
    pub fn cut_off(offset: u64, found: u64, stated: u64) -> ReadError {
        ReadError::corrupt(offset, format!("{CUT_OFF}: {found} of {stated} bytes, by its superblock"), "")
    }

    /// The superblock has another checksum than the stored one.
    pub fn superblock_checksum(offset: u64, found: u32, stored: u32) -> ReadError {
        let what = format!("{DAMAGED_SUPERBLOCK} {found:#010x}");
        ReadError::corrupt(offset, what, format!("{stored:#010x}, the stored checksum"))
    }

    /// Whether this is an error of [`ReadError::superblock_checksum`].
    pub fn is_of_superblock(&self) -> bool {
        matches!(self, ReadError::Corrupt(fault) if fault.what.starts_with(DAMAGED_SUPERBLOCK))
    }

    /// A device with contents of the image was not given.
    pub fn without_device(tag: &[u8], expected: impl Into<String>) -> ReadError {
        let name = if tag.is_empty() { String::new() } else { format!(" \"{}\"", tag.escape_ascii()) };
        ReadError::unsupported(format!("{WITHOUT_DEVICE}{name}"), expected)
    }

    /// Whether this is an error of [`ReadError::without_device`].
    pub fn lacks_device(&self) -> bool {
        matches!(self, ReadError::Unsupported(found) if found.what.starts_with(WITHOUT_DEVICE))
    }

    /// Whether this is an error of [`ReadError::cut_off`].
    pub fn is_cut_off(&self) -> bool {
        matches!(self, ReadError::Corrupt(fault) if fault.what.starts_with(CUT_OFF))
    }

    pub fn unsupported(what: impl Into<String>, expected: impl Into<String>) -> ReadError {
        Unsupported::new(what, expected).into()
    }

    /// A system call failed to read at `offset`.
    pub fn input(offset: u64, cause: std::io::Error) -> ReadError {
        ReadError::Input { offset, cause: Arc::new(cause) }
    }
}
