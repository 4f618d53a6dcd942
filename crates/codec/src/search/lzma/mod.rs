//! Our own LZMA encoder for blocks of up to 1 MiB. It finds one of the shortest encodings by the cost of each symbol.
//!
//! A block is processed in parts:
//!
//! 1. [`candidates`](crate::search::candidates) are found for each position of a part;
//! 2. the cheapest path is found window by window ([`path`]) at prices ([`prices`]) that follow from the probabilities so far ([`model`]);
//! 3. the symbols of the path are coded ([`coder`], [`range`]), which changes the probabilities.
//!
//! LZMA2 puts the coded data in [`chunks`].

mod chunks;
mod coder;
mod effort;
mod encoder;
mod model;
mod path;
mod prices;
mod range;
mod recode;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use effort::search_of;
pub(crate) use encoder::{LARGEST, LzmaSearch};
pub(crate) use model::Contexts;

/// Bytes after the block that may be loaded.
const PADDING: usize = 16;
