//! EROFS images, which the Linux kernel mounts.
//!
//! - `format/` decodes each structure in one module.
//! - `read/` opens images, hostile ones too, and reads their metadata on demand.

mod format;
pub mod read;
