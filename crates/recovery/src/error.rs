//! The errors of protecting and repairing files.

use std::io;

use packline_runtime::{MemoryFault, TaskError, Unsupported, WorkFault};

/// Why a file cannot be protected or repaired.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The file has no intact packet of recovery data.
    #[error(
        "no intact recovery data found (expected it at the end of a .pln file, or in a separate file: FILE.recovery)"
    )]
    NoData,
    /// Too many pieces of the table of shards are lost.
    #[error(
        "the table of shards is lost: {found} of its {pieces} pieces are intact (expected at least {needed}), so no shard can be located"
    )]
    TableLost {
        /// Intact pieces.
        found: usize,
        /// All pieces of the table.
        pieces: usize,
        /// The number of pieces that are enough.
        needed: usize,
    },
    /// More shards are lost than the recovery data can repair.
    #[error(
        "{lost} of {shards} shards of {shard_bytes} bytes are lost, but only {repairable} can be repaired: {repairable} of {recovery} \
         recovery shards are intact; nothing was changed"
    )]
    Beyond {
        /// Shards that were not found.
        lost: usize,
        /// Shards of the file.
        shards: usize,
        /// Bytes of a shard.
        shard_bytes: u64,
        /// Intact recovery shards.
        repairable: usize,
        /// All recovery shards.
        recovery: usize,
    },
    /// The repaired file does not have the hash of the protected one.
    #[error("the repaired file does not match the hash in the recovery data; nothing was changed")]
    Unproven,
    /// The protected file could not be read.
    #[error("cannot read: {0}")]
    Input(#[source] io::Error),
    /// The recovery data could not be read.
    #[error("cannot read the recovery data: {0}")]
    Packets(#[source] io::Error),
    /// The file has changed since it was opened.
    #[error("the file changed while it was read")]
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

/// An error of the Reed-Solomon library is a bug in this program, because all counts are checked before.
impl From<reed_solomon_simd::Error> for Error {
    fn from(cause: reed_solomon_simd::Error) -> Error {
        Error::internal(format!("Reed-Solomon: {cause}"))
    }
}
