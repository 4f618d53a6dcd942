//! What can go wrong with a codec, and whose fault it is.

use thiserror::Error;

/// Why a codec could not be made, or could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The user named a codec that does not exist.
    #[error("unknown codec '{found}' (expected one of {known})")]
    UnknownCodec {
        /// What the user typed.
        found: String,
        /// The names there are, separated by commas.
        known: String,
    },
    /// The user chose a codec that the format to be written does not have.
    #[error("{format} has no {codec} (expected one of {known})")]
    NotOfFormat {
        /// The codec.
        codec: &'static str,
        /// The format.
        format: &'static str,
        /// The names of those that it has, separated by commas.
        known: String,
    },
    /// The user named a parameter that the codec does not have.
    #[error("{codec}: unknown parameter '{found}' (expected one of {known})")]
    UnknownParameter {
        /// The codec.
        codec: &'static str,
        /// What the user typed.
        found: String,
        /// The parameters there are, separated by commas.
        known: &'static str,
    },
    /// The user gave a parameter a value that it can not take.
    #[error("{codec}: {parameter} is '{found}' (expected {expected})")]
    Value {
        /// The codec.
        codec: &'static str,
        /// The parameter.
        parameter: String,
        /// What the user typed.
        found: String,
        /// What would have been right.
        expected: String,
    },
    /// The user chose parameters, each right by itself, that do not go together.
    #[error("{codec}: {found} (expected {expected})")]
    Conflict {
        /// The codec.
        codec: &'static str,
        /// The parameters as the user would type them.
        found: String,
        /// What would have been right.
        expected: String,
    },
    /// The block size does not suit the codec. The caller's fault.
    #[error("{codec}: block size {found} (expected 1 to {limit})")]
    BlockSize {
        /// The codec.
        codec: &'static str,
        /// The size asked for, bytes.
        found: usize,
        /// The largest size, bytes.
        limit: usize,
    },
    /// A block is larger than the encoder was made for. The caller's fault.
    #[error("block of {found} bytes (expected at most {limit}, what the encoder was made for)")]
    BlockTooLarge {
        /// The block's size, bytes.
        found: usize,
        /// The size the encoder was made for, bytes.
        limit: usize,
    },
    /// The destination is shorter than the source. The caller's fault.
    #[error("destination of {found} bytes (expected at least {expected}, the size of the block)")]
    DestinationTooSmall {
        /// The destination's size, bytes.
        found: usize,
        /// The least size, bytes.
        expected: usize,
    },
    /// The compressed data is not what the codec's format says. The input's fault.
    #[error("{codec}: bad compressed data of {size} bytes: {reason}")]
    Malformed {
        /// The codec.
        codec: &'static str,
        /// The size of the compressed data, bytes.
        size: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The compressed data holds more than there is room for. The input's fault.
    #[error("{codec}: compressed data of {size} bytes holds more than {room} bytes")]
    TooLong {
        /// The codec.
        codec: &'static str,
        /// The size of the compressed data, bytes.
        size: usize,
        /// The destination's size, bytes.
        room: usize,
    },
    /// Decompressing needs more memory than allowed.
    #[error("{codec}: decompressing needs {needed} bytes of memory (expected at most {limit})")]
    Memory {
        /// The codec.
        codec: &'static str,
        /// What it would take, bytes; 0 if the library does not say.
        needed: u64,
        /// What was allowed, bytes.
        limit: u64,
    },
    /// The system has no more memory.
    #[error("{codec}: out of memory")]
    OutOfMemory {
        /// The codec.
        codec: &'static str,
    },
    /// A library did what its documentation rules out. Our fault.
    #[error("{codec}: {function} failed with code {code}")]
    Library {
        /// The codec.
        codec: &'static str,
        /// The library's function.
        function: &'static str,
        /// What it returned.
        code: i64,
    },
}
