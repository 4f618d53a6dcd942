//! Every codec, compared with other implementations. All tests are one program, because linking is slow.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bare;
mod common;
mod fit;
mod hostile;
mod huff0;
mod purity;
mod revision;
mod round_trip;
mod spec;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod streams;
mod zpaq;
