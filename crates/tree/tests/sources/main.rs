//! Trees that are read from directories and merged. One program, because linking is slow.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod directory_common;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod directory_faults;
mod directory_links;
mod directory_source;
mod namespace_layers;
mod namespace_model;
mod namespace_rules;
