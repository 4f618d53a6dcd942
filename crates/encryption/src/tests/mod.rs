//! Tests of sealing and opening together.

mod forgery;
mod hostile;
mod keys;
mod padding;
mod round;
mod support;
