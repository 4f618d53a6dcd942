//! Tars as a source: every common dialect, plain from a file or a pipe, or behind a decoder.
//!
//! Supported input, and the choices where archivers differ:
//! - v7, ustar, GNU (`L`, `K`, `S`, base-256), PAX (`x`, `g`, and Solaris's `X`) and star headers, recognised one by one, so concatenations
//!   of dialects work. Owners are the numbers; names of users and groups are for listings.
//! - A directory is type 5, GNU's `D`, or a regular file whose name ends in a slash. Type 7 is a regular file. `V` is skipped; `M` and other
//!   pieces of a multi-volume archive are errors, since the file is incomplete. Entries of any other type are skipped with a warning and
//!   counted, or refused ([`TarOptions::strict`]): extracting them as regular files, as some tools do, would put something else
//!   into the image.
//! - Two zero blocks end the archive, and what follows is ignored, unless [`TarOptions::ignore_zeros`]; a single one is skipped, or ends the
//!   archive with a warning if no header follows. An archive may also end where a header could start, after zeros of any number, and within
//!   the padding of a content. An end anywhere else is an error, and so is an input without a single block.
//! - An input that begins with two zero blocks is an empty archive if nothing but zeros follows, else an error that names its format.
//! - The same path may occur twice: the source reports both, and [`packline_tree::Namespace`] lets the last one win.
//! - A fault is an error. [`TarOptions::lenient`] turns those that lose no data into warnings; `docs/format/tar.md` has the list, compared
//!   with other programs.
//! - Attributes come from `SCHILY.xattr.`, `LIBARCHIVE.xattr.` and `RHT.security.selinux`; the last record of a name wins.

mod bookmark;
mod content;
mod escape;
mod fault;
mod header;
mod input;
mod member;
mod number;
mod open;
mod pax;
mod reader;
mod sparse;
mod write;

pub use bookmark::TarBookmark;
pub use fault::empty_input;
pub use open::{Meter, Metered, open_file, open_input, open_stream};
pub use reader::{MAX_EXTENDED, MAX_GLOBAL, MAX_LONG_NAME, TarSource};
pub use write::{MapSegment, MapShape, RECORD_BYTES, TarWriter, Unstorable, end_of_archive, is_xattr_name, padding};

/// Whether a file with this start is a tar: its first 512 bytes are a header with a valid checksum.
pub fn is_header(head: &[u8]) -> bool {
    head.first_chunk().is_some_and(|block| header::Header::new(block).is_some())
}

#[derive(Debug, Clone, Default)]
pub struct TarOptions {
    /// The input's name for messages: the path as the user gave it, or `standard input`.
    pub input_name: String,
    /// Counts compressed input bytes for the progress bar.
    pub meter: Option<Meter>,
    /// Warn instead of failing on a fault that loses no data: an extended header without an entry at the end of the archive, a directory
    /// without a name (it is the root), an invalid modification time (of a PAX record it is ignored, of a field it is 0).
    pub lenient: bool,
    /// Continue after the end mark with what follows: tars one after the other are read as one.
    pub ignore_zeros: bool,
    /// Fail where others get a warning without [`TarOptions::lenient`]: on entries of unknown types, a single block of zeros before other
    /// bytes, a missing padding, and letters after a time.
    pub strict: bool,
    /// Fail if the two blocks of zeros at the end are missing, without which a tar that was cut off between entries is not recognised.
    pub end_mark: bool,
}

impl TarOptions {
    pub fn named(input_name: impl Into<String>) -> Self {
        Self { input_name: input_name.into(), ..Self::default() }
    }
}
