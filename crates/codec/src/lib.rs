//! Codecs: pure functions of (input, parameters), with their parameters, limits and memory stated.
//!
//! A codec is named `NAME[:key=value,...]` ([`Spec`]), the same way everywhere. A [`Spec`] makes [`Encoder`]s and
//! [`Decoder`]s. What an encoder returns never depends on what it did before.

mod error;
mod spec;
mod traits;

pub use error::CodecError;
pub use spec::Spec;
pub use traits::{Decoder, Encoder, Footprint, Outcome};
