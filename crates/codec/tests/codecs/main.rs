//! Every codec, beside its peers. One program, since linking one is dear.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;
mod hostile;
mod huff0;
mod purity;
mod round_trip;
mod spec;
mod streams;
mod zpaq;
