//! Tests of sealing and opening as a whole.

mod forgery;
mod hostile;
mod keys;
mod padding;
mod ranges;
mod round;
mod support;
