//! Reading: what lrzip wrote, and what nobody should have written.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests may")]

mod hostile;
mod peers;
mod support;
