//! Errors of protecting and repairing files.

use std::io;

use packline_runtime::TaskError;

/// Why a file cannot be protected or repaired.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option, or the size of the file, is not possible.
    #[error("{what} (expected {expected})")]
    Unsupported {
        /// What was asked for.
        what: String,
        /// The possible ones.
        expected: String,
    },
    /// There is no whole packet of recovery data.
    #[error(
        "there is no recovery data in it, or none that is whole (expected it behind a .pln file, or in a file of its own: FILE.recovery)"
    )]
    NoData,
    /// Too much of the table of shards is lost.
    #[error(
        "the table of its shards is lost: {found} of its {pieces} pieces are whole (expected {needed} at least); nothing can be located"
    )]
    TableLost {
        /// Pieces that are whole.
        found: usize,
        /// Pieces in all.
        pieces: usize,
        /// Pieces that suffice.
        needed: usize,
    },
    /// More shards are lost than the recovery data can repair.
    #[error(
        "{lost} of {shards} shards of {shard_bytes} bytes are lost, and {repairable} can be repaired with the {repairable} of {recovery} \
         recovery shards that are whole (expected at most that many); nothing was changed"
    )]
    Beyond {
        /// Shards that were not found.
        lost: usize,
        /// Shards of the file.
        shards: usize,
        /// Bytes of a shard.
        shard_bytes: u64,
        /// Recovery shards that are whole.
        repairable: usize,
        /// Recovery shards in all.
        recovery: usize,
    },
    /// The repaired file does not have the hash of the protected one.
    #[error("the repaired file does not have the hash that the recovery data states; nothing was changed")]
    Unproven,
    /// The protected file could not be read.
    #[error("cannot read: {0}")]
    Input(#[source] io::Error),
    /// The recovery data could not be read.
    #[error("cannot read the recovery data: {0}")]
    Packets(#[source] io::Error),
    /// The file has changed since it was opened.
    #[error("the file changed while it was read (expected it to stay as it is)")]
    Changed,
    /// The output could not be written.
    #[error("cannot write: {0}")]
    Output(#[source] io::Error),
    /// The memory limit is too low.
    #[error("{allowed} bytes of memory are not enough for {what} (expected at least {needed} bytes)")]
    Memory {
        /// Bytes allowed.
        allowed: u64,
        /// Minimum that suffices, bytes.
        needed: u64,
        /// What needs it.
        what: &'static str,
    },
    /// The cancel token was set.
    #[error("stopped")]
    Cancelled,
    /// A bug in this program.
    #[error("internal error: {0}")]
    Internal(String),
}

impl TaskError for Error {
    fn cancelled() -> Error {
        Error::Cancelled
    }

    fn internal(what: String) -> Error {
        Error::Internal(what)
    }
}

/// The code's library refuses what it was given: a bug, since all counts were checked before.
impl From<reed_solomon_simd::Error> for Error {
    fn from(cause: reed_solomon_simd::Error) -> Error {
        Error::Internal(format!("Reed-Solomon: {cause}"))
    }
}
