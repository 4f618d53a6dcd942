//! Errors of writing an image.

use packline_runtime::{WorkFault, WriteError, expectation};

/// Why an image could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Source(#[from] packline_tree::Error),
    /// A codec failed, or its parameters are invalid.
    #[error(transparent)]
    Codec(#[from] packline_codec::CodecError),
    /// Names the offset of the call, unless the cause names the offset of the write that failed: a sink may write later.
    #[error("cannot {action} the image{}: {cause}", place(*offset, cause))]
    Sink {
        /// `write`, `read back` or `sync`.
        action: &'static str,
        /// Offset in the image in bytes.
        offset: u64,
        #[source]
        cause: std::io::Error,
    },
    /// A part that is read back differs from what was written.
    #[error("{what} at byte {offset} {is}, not what was written")]
    ReadBack {
        /// Offset in bytes of the faulty part in the image.
        offset: u64,
        /// The part, with the path of the entry if one is affected.
        what: String,
        /// The fault, as a phrase: `has different bytes`.
        is: String,
    },
    /// The input does not fit into the format.
    #[error("{what}{}", expectation(.expected))]
    Limit {
        /// The value that is too large, with the path of the entry if one is affected.
        what: String,
        /// The format's limit; empty after a hint.
        expected: String,
    },
    /// Cancelled, or a bug in this program.
    #[error(transparent)]
    Work(#[from] WorkFault),
}

fn place(offset: u64, cause: &std::io::Error) -> String {
    if WriteError::is_in(cause) { String::new() } else { format!(" at byte {offset}") }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use packline_runtime::ScratchError;

    use super::*;

    #[test]
    fn a_failed_write_is_named_with_one_offset() {
        let failed = || io::Error::other(WriteError { offset: 7, bytes: 5, cause: io::Error::other("it is full") });
        let message = |cause| Error::Sink { action: "write", offset: 96, cause }.to_string();
        assert_eq!(message(failed()), "cannot write the image: it is full, writing 5 bytes at byte 7");
        assert_eq!(message(io::Error::other("it is full")), "cannot write the image at byte 96: it is full");
        assert!(!message(ScratchError::wrap(Path::new("tmp"), failed())).contains("96"));
    }
}
