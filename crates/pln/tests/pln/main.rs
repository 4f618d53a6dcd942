//! .pln files: written, read, damaged, truncated and forged.
#![allow(clippy::unwrap_used, clippy::panic)] // tests may panic

mod damage;
mod documented;
mod hostile;
mod spans;
mod support;
mod written;
