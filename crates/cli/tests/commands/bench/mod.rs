//! Tests of `packline bench`.

mod pack;
mod unpack;
