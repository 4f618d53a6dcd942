//! Tests of sealing and opening as a whole.

mod forgery;
mod keys;
mod ranges;
mod round;
mod support;
