//! Groups of options that several commands have.

pub use crate::table::args::Args;

pub mod image;
pub mod patterns;
pub mod scheduling;
