//! Images written and read through the library. The tests are one program, because linking a program is slow.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod hostile;
mod metadata_images;
mod metadata_limits;
mod metadata_support;
mod old_versions;
mod others;
mod read_faults;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod read_images;
mod verify_images;
