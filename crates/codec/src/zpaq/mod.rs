//! ZPAQ (`The ZPAQ Open Standard Format for Highly Compressed Data`, level 2): context mixing, by models that the data brings.
//!
//! ```text
//! block    [13-byte tag] "zPQ" level 1 | u16 size, header | segments | FF
//! segment  01 | name 00 | comment 00 | 00 | coded data, 00 00 00 00 | FE, or FD and a SHA-1
//! data     00 | content   or   01 | u16 size, program | what the program makes content of
//! ```
//! Each bit is coded with the probability that a network of components gives it ([`component`]), each of which knows a context
//! that a program in the header computes from the bytes so far ([`machine`]). Encoder and decoder do the same work, and a block
//! can not be decompressed faster than it was compressed.
//!
//! Written are the three models that libzpaq had before version 6, which are what lrzip writes. They are code here
//! ([`known`]); other models are read and interpreted ([`general`]).

mod coder;
mod component;
mod decoder;
mod encoder;
mod fault;
mod general;
mod header;
mod known;
mod machine;
mod model;
mod position;
mod post;
mod predictor;
mod reader;
mod source;
mod states;
mod tables;
#[cfg(test)]
mod tests;

pub use decoder::ZpaqDecoder;
pub use encoder::ZpaqEncoder;
pub use reader::ZpaqReader;
