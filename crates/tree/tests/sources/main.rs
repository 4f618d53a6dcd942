//! Trees read from directories and tars, and written to tars. One program, since linking is slow.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod directory_common;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod directory_faults;
mod directory_links;
mod directory_source;
mod namespace_layers;
mod namespace_model;
mod namespace_rules;
mod stack;
mod tar_compressed;
mod tar_lenient;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod tar_support;
mod tar_tools;
mod tar_write;
mod tar_zoo;
