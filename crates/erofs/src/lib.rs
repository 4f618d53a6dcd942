//! EROFS images, which the Linux kernel mounts.
//!
//! - `format/` decodes each structure in one module.
//! - `read/` opens images, hostile ones too, and reads their metadata on demand.
//! - `verify/` reads every byte and checks every rule of the format.

mod format;
pub mod read;
pub mod verify;
