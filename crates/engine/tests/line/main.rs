//! The lines against each other: the parallel one must give what the serial one gives.
#![allow(clippy::unwrap_used, clippy::panic)]

mod cancel;
mod fake;
mod faults;
mod gate;
mod matrix;
mod memory;
mod stress;
