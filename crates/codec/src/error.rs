//! Errors of codecs.

use thiserror::Error;

/// Why a codec could not be created or could not process a block.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CodecError {
    #[error("unknown codec '{found}' (expected one of {known})")]
    UnknownCodec {
        /// The name as typed.
        found: String,
        /// The known names, separated by commas.
        known: String,
    },
    #[error("{format} has no {codec} (expected one of {known})")]
    NotOfFormat {
        codec: &'static str,
        format: &'static str,
        /// The codecs of that format, separated by commas.
        known: String,
    },
    #[error("{codec}: unknown parameter '{found}' (expected {})", choice(.known))]
    UnknownParameter {
        codec: &'static str,
        /// The name as typed.
        found: String,
        /// The known parameters, separated by commas.
        known: &'static str,
    },
    /// A parameter value is out of range or malformed.
    #[error("{codec}: {parameter} is '{found}' (expected {expected})")]
    Value {
        codec: &'static str,
        parameter: String,
        /// The value as typed.
        found: String,
        /// Description of valid values.
        expected: String,
    },
    /// Parameters that are valid separately but exclude each other.
    #[error("{codec}: {found}{}", expectation(.expected))]
    Conflict {
        codec: &'static str,
        /// The parameters as typed, or why they exclude each other.
        found: String,
        /// Description of valid combinations; empty if `found` gives the reason.
        expected: String,
    },
    /// The block size is out of range for the codec.
    #[error("{codec}: block size {found} (expected 1 to {limit})")]
    BlockSize {
        codec: &'static str,
        /// The requested size in bytes.
        found: usize,
        /// The largest size in bytes.
        limit: usize,
    },
    /// A block is larger than the size the encoder was created for.
    #[error("block of {found} bytes (expected at most {limit}, the encoder's block size)")]
    BlockTooLarge {
        /// The block's size in bytes.
        found: usize,
        /// The encoder's block size in bytes.
        limit: usize,
    },
    #[error("destination of {found} bytes (expected at least {expected}, the size of the block)")]
    DestinationTooSmall {
        /// The destination's size in bytes.
        found: usize,
        /// The minimum size in bytes.
        expected: usize,
    },
    #[error("{codec}: bad compressed data of {size} bytes: {reason}")]
    Malformed {
        codec: &'static str,
        /// The size of the compressed data in bytes.
        size: usize,
        reason: &'static str,
    },
    /// The compressed data expands to more than the destination holds.
    #[error("{codec}: compressed data of {size} bytes holds more than {capacity} bytes")]
    TooLong {
        codec: &'static str,
        /// The size of the compressed data in bytes.
        size: usize,
        /// The destination's size in bytes.
        capacity: usize,
    },
    /// Decompressing needs more memory than allowed.
    #[error("{codec}: decompressing needs {needed} bytes of memory (expected at most {limit})")]
    Memory {
        codec: &'static str,
        /// Bytes of memory needed; 0 if the library does not report it.
        needed: u64,
        /// Bytes of memory allowed.
        limit: u64,
    },
    #[error("{codec}: out of memory")]
    OutOfMemory { codec: &'static str },
    /// A library call failed although its documentation rules that out: a bug in this crate or in the library.
    #[error("{codec}: {function} failed with code {code}")]
    Library {
        codec: &'static str,
        function: &'static str,
        /// Return value of the function.
        code: i64,
    },
}

/// Returns the known names, which are separated by commas, as the valid choices.
fn choice(known: &str) -> String {
    if known.contains(',') { format!("one of {known}") } else { known.to_owned() }
}

fn expectation(expected: &str) -> String {
    if expected.is_empty() { String::new() } else { format!(" (expected {expected})") }
}
