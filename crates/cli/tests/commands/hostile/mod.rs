//! Tests with hostile files.

mod images;
mod lrz;
mod mounts;
pub(crate) mod support;
