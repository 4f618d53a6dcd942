//! Tests of `packline unpack`.

mod existing;
mod interop;
mod round_trip;
mod safety;
