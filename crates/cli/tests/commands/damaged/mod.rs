//! Tests of damaged images.

mod content;
mod unnoticed;
