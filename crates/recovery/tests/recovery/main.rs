//! Files protected, damaged and repaired.
#![allow(clippy::unwrap_used, clippy::panic)] // a test may

mod damage;
mod documented;
mod hostile;
mod moved;
mod same;
mod support;
