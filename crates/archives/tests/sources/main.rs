//! Reads tars, zip archives and layers, and writes tars. One program, because linking is slow.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod stack;
mod tar_compressed;
mod tar_lenient;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod tar_support;
mod tar_tools;
mod tar_write;
mod tar_zoo;
mod zip;
