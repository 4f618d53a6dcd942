//! Files protected, damaged and repaired.
#![allow(clippy::unwrap_used, clippy::panic)] // tests may panic

mod damage;
mod documented;
mod hostile;
mod moved;
mod same;
mod support;
