//! Tests with the readers and sources of other programs.

mod codecs;
mod sources;
