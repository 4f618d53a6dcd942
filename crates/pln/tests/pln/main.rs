//! .pln files written, read, damaged, cut and forged.
#![allow(clippy::unwrap_used, clippy::panic)] // a test may

mod damage;
mod documented;
mod hostile;
mod spans;
mod support;
mod written;
