//! Deltas reproduce any new file byte for byte, and damaged deltas are errors.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod images;
mod plain;
mod support;
