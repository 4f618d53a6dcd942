//! EROFS images, which the Linux kernel mounts.
//!
//! - `base/` reuses blocks of earlier images.
//! - `format/` encodes and decodes each structure in one module.
//! - `read/` opens images, hostile ones too, and reads their metadata on demand.
//! - `verify/` reads every byte and checks every rule of the format.
//! - `write/` writes images, in the form that is smallest for the oldest kernel that must mount them.

mod base;
mod format;
mod options;
pub mod read;
pub mod verify;
mod write;
mod xattrs;

pub use base::Base;
pub use format::kernel::Kernel;
pub use options::{Inline, Options, Place, Uuid};
pub use packline_blocks::{
    Align, BlockSize, Counts, Error, FileHints, Fragments, Override, Progress, ReadBack, Saved, Start,
};
pub use write::{DeviceWriter, ImageEnd, Summary, Writer};
pub use xattrs::XattrTable;
