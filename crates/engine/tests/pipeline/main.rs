//! Pipelines and maps: with any number of workers their results must equal those of a loop.
#![allow(clippy::unwrap_used, clippy::panic)]

#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod cancel;
mod fake;
mod faults;
mod gate;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod matrix;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod memory;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod ordered_map;
mod reference;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod stress;
