//! Tars as a source: all common dialects, from a file, a pipe or a decoder.
//!
//! Supported input, and the choices where archivers differ:
//! - v7, ustar, GNU (`L`, `K`, `S`, base-256), PAX (`x`, `g`, and Solaris's `X`) and star headers are recognised individually, so
//!   that concatenated dialects work. Owners are the numbers; names of users and groups are for listings.
//! - A directory is type 5, GNU's `D`, or a regular file whose name ends in a slash. Type 7 is a regular file. `V` is skipped.
//!   `M` and other parts of a multi-volume archive are errors, because the file is incomplete. Entries of any other type are
//!   skipped with a warning and counted, or are errors ([`TarOptions::strict`]). Some tools extract them as regular files, which
//!   would put wrong files into the image.
//! - Two zero blocks end the archive, and later bytes are ignored, unless [`TarOptions::ignore_zeros`] is set. A single zero
//!   block is skipped, or ends the archive with a warning if no header follows. An archive may also end where a header could start,
//!   after any number of zeros, and within the padding of a content. An end at any other position is an error, and so is an input
//!   without a single block.
//! - An input that begins with two zero blocks is an empty archive if only zeros follow. If not, the error names its format.
//! - More than 256 MiB of zeros in a row, outside of contents, are an error: `/dev/zero` has no end.
//! - A path may occur twice. The source reports both entries, and [`packline_tree::Namespace`] keeps the last one.
//! - A fault is an error. [`TarOptions::lenient`] turns faults that lose no data into warnings; `docs/format/tar.md` lists them,
//!   compared with other programs.
//! - Attributes come from `SCHILY.xattr.`, `LIBARCHIVE.xattr.` and `RHT.security.selinux`. The last record of a name is used.

mod content;
mod escape;
mod fault;
mod header;
mod input;
mod member;
mod number;
mod open;
mod pax;
mod positions;
mod reader;
mod sparse;
mod write;

pub(crate) use content::TarBookmark;
pub use fault::empty_input;
pub(crate) use fault::{ErrorPosition, ZEROS_MOST, unreadable};
pub(crate) use input::Input as SequentialInput;
pub use open::{Meter, Metered, open_ahead, open_file, open_input, open_stored, open_stream};
pub use positions::{open_positions, open_positions_at};
pub use reader::{MAX_EXTENDED, MAX_GLOBAL, MAX_LONG_NAME, TarSource};
pub use write::{MapSegment, MapShape, RECORD_BYTES, TarWriter, Unstorable, end_of_archive, is_xattr_name, padding};

/// Whether a file with this start is a tar: its first 512 bytes are a header with a valid checksum.
pub fn is_header(head: &[u8]) -> bool {
    head.first_chunk().is_some_and(|block| header::Header::new(block).is_some())
}

#[derive(Debug, Clone, Default)]
pub struct TarOptions {
    /// The input's name for messages: the path as given by the user, or `standard input`.
    pub input_name: String,
    /// Counts compressed input bytes for the progress bar.
    pub meter: Option<Meter>,
    /// Warn instead of failing on a fault that loses no data: an extended header without an entry at the end of the archive, a
    /// directory without a name (it is the root), an invalid modification time (ignored in a PAX record, 0 in a field).
    pub lenient: bool,
    /// Continue after the end mark, so that concatenated tars are read as one.
    pub ignore_zeros: bool,
    /// Fail on faults that cause only a warning even without [`TarOptions::lenient`]: entries of unknown types, a single zero
    /// block before other bytes, missing padding, and letters after a time.
    pub strict: bool,
    /// Fail if the two zero blocks at the end are missing. Without this, a tar without any zero block at its end, which may have been cut between
    /// two entries, causes a warning.
    pub end_mark: bool,
}

impl TarOptions {
    pub fn named(input_name: impl Into<String>) -> Self {
        Self { input_name: input_name.into(), ..Self::default() }
    }
}
