//! Deltas bring the new file back, byte for byte, whatever the files are; and damaged ones do no harm.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod images;
mod plain;
mod support;
