//! SquashFS 4.0 images: written by the ordered line, mounted by the Linux kernel.

mod error;
mod layout;
mod options;
mod press;
mod sink;

pub use error::Error;
pub use layout::{DataLayout, FileLayout, FragmentBlock, STORED_BLOCK, TailPlace};
pub use options::{
    DEFAULT_BLOCK_SIZE, DirectoryLinks, FileHints, Fragments, MAX_BLOCK_SIZE, MIN_BLOCK_SIZE, Options, Stored,
};
pub use press::Press;
pub use sink::Sink;
