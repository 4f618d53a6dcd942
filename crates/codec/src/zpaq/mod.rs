//! ZPAQ (`The ZPAQ Open Standard Format for Highly Compressed Data`, level 2): context mixing, with models that are stored with the data.
//!
//! ```text
//! block    [13-byte tag] "zPQ" level 1 | u16 size, header | segments | FF
//! segment  01 | name 00 | comment 00 | 00 | coded data, 00 00 00 00 | FE, or FD and a SHA-1
//! data     00 | content   or   01 | u16 size, program | input of the program
//! ```
//! Each bit is coded with a probability that a network of components ([`model::component`]) predicts. A program in the header computes
//! their contexts from the bytes so far ([`machine`]). Encoder and decoder do the same work, so that decompressing is not faster than
//! compressing.
//!
//! The encoder writes the three models of libzpaq before version 6, which lrzip uses. These models are compiled code ([`model::known`]);
//! other models are interpreted ([`model::general`]).

mod coder;
mod encoder;
mod fault;
mod header;
mod machine;
mod model;
mod post;
mod reader;
mod source;

pub use encoder::ZpaqEncoder;
pub use reader::ZpaqReader;

const NAME: &str = "zpaq";
