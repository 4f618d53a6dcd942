//! Images written and read through the library. One program, since linking one is dear.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod hostile;
mod metadata_images;
mod metadata_limits;
mod metadata_support;
mod others;
mod read_faults;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod read_images;
mod verify_images;
