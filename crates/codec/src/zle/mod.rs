//! ZLE: run-length coding of zeros. The format is that of OpenZFS (`module/zfs/zle.c`) with n = 64.
//!
//! A block is a sequence of tokens of a byte each:
//!
//! | token | followed by | content |
//! |---|---|---|
//! | 0 to 63 | token + 1 bytes | these bytes |
//! | 64 to 255 | nothing | token - 63 zeros |
//!
//! A single zero is one of the bytes of a token below 64; two zeros in a row end the token. The output equals that of OpenZFS byte for byte
//! wherever OpenZFS has enough space.

mod decode;
mod encode;
#[allow(unsafe_code)] // words of 16 bytes
mod window;

pub(crate) use decode::ZleDecoder;
pub(crate) use encode::ZleEncoder;

pub(crate) const NAME: &str = "zle";

pub(crate) const HELP: &str = "\
zle: run-length coding of zeros, as in OpenZFS; no parameters
";

/// Maximum number of bytes after a token, and the first token of a run of zeros.
const N: usize = 64;
/// Maximum number of zeros of one token.
const MOST_ZEROS: usize = 256 - N;

#[cfg(test)]
mod tests;
