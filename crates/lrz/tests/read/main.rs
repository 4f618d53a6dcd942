//! Reads files that lrzip wrote, and malformed files.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests may")]

mod hostile;
mod kept;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod peers;
mod support;
