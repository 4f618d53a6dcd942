//! Errors of writing an image.

use packline_runtime::WorkFault;

/// Why an image could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Source(#[from] packline_tree::Error),
    /// A codec failed, or its parameters are invalid.
    #[error(transparent)]
    Codec(#[from] packline_codec::CodecError),
    #[error("cannot {action} the image at byte {offset}: {cause}")]
    Sink {
        /// `write`, `read back` or `sync`.
        action: &'static str,
        /// Offset in the image in bytes.
        offset: u64,
        #[source]
        cause: std::io::Error,
    },
    /// A part that is read back differs from what was written.
    #[error("{what} at byte {offset} {is}, not what was written (expected the bytes that were packed)")]
    ReadBack {
        /// Offset in bytes of the faulty part in the image.
        offset: u64,
        /// The part, with the path of the entry if one is affected.
        what: String,
        /// The fault, as a phrase: `has different bytes`.
        is: String,
    },
    /// The input does not fit into the format.
    #[error("{what} (expected {expected})")]
    Limit {
        /// The value that is too large, with the path of the entry if one is affected.
        what: String,
        /// The format's limit.
        expected: String,
    },
    /// Cancelled, or a bug in this program.
    #[error(transparent)]
    Work(#[from] WorkFault),
}
