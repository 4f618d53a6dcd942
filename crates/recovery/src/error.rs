//! Errors of protecting and repairing files.

use std::io;

use packline_runtime::{MemoryFault, TaskError, Unsupported, WorkFault};

/// Why a file cannot be protected or repaired.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
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
    #[error(transparent)]
    Memory(#[from] MemoryFault),
    /// Cancelled, or a bug in this program.
    #[error(transparent)]
    Work(#[from] WorkFault),
}

/// The code's library refuses what it was given: a bug, since all counts were checked before.
impl From<reed_solomon_simd::Error> for Error {
    fn from(cause: reed_solomon_simd::Error) -> Error {
        Error::internal(format!("Reed-Solomon: {cause}"))
    }
}
