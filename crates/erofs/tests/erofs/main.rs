//! Images of mkfs.erofs 1.9.3, read through the library. The tests are one program, because linking a program is slow.
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a test fails by panicking")]

mod compressed;
mod devices;
mod hostile;
mod independent;
mod kinds;
mod support;
mod units;
mod verification;
mod zoo;
