//! Writing an image: contents are cut, hashed and deduplicated, compressed on workers and written in order; then the metadata.

mod area;
mod batch;
mod blocks;
mod decision;
mod digest;
mod feeder;
mod fragments;
mod ids;
mod inode_table;
mod matching;
pub(crate) mod metadata;
mod metadata_area;
mod metadata_compressor;
pub(crate) mod numbering;
mod pipeline_compressor;
mod slab;
#[cfg(test)]
mod tests;
mod work;
mod writer;

pub use decision::Saved;
pub use metadata_area::{ImageEnd, write_metadata};
pub use metadata_compressor::MetadataCompressor;
pub use writer::{Counts, Crew, Progress, Start, Summary, Writer, min_window};
