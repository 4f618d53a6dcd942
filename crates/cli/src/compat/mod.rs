//! Drop-ins: commands under the names, and with the options, output and exit codes, of other programs.

pub mod erofs_utils;
pub mod lrzip;
pub mod squashfs_tools;
#[cfg(feature = "mount")]
pub mod squashfuse;
pub mod tools_ng;
