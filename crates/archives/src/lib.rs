//! Reads and writes archives as entries: tars and cpio archives with the compressed streams that contain them, zip archives, container
//! images, and layers that are merged into one tree.
//!
//! - `tar/` reads and writes tars of all dialects. `decompress/` opens a stream in any supported compression; `foreign.rs` names
//!   formats that are not read.
//! - `cpio/` reads cpio archives, plain or compressed, also the parts of an initramfs.
//! - `zip/` reads zip archives, with the decoders of `decompress/`.
//! - `oci/` finds the layers of a container image.
//! - `stack/` lists all layers, merges them and applies whiteouts. It then reads contents in the order of the result, or in a
//!   requested order (`content_order.rs`). `similarity/` places similar contents next to each other, by sketches of contents
//!   (docs/order.md).

mod absolute;
mod content_order;
pub mod cpio;
pub mod decompress;
mod foreign;
#[cfg(feature = "oci")]
pub mod oci;
mod part;
pub mod pipe;
mod similarity;
mod stack;
pub mod tar;
pub mod zip;

pub use content_order::{ContentOrder, FileList, RestOrder};
pub use foreign::{FOREIGN_HEAD, foreign_format};
pub use part::Part;
pub use stack::{Layer, StackOptions, StackSource, Whiteouts, is_whiteout_name};

/// The examples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
