//! Tests of malformed tars and failing sources.

#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod sources;
mod tars;
