//! Tests of the drop-ins for squashfs-tools-ng.

mod gensquashfs_order;
mod gensquashfs_peer;
mod rdsquashfs;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod sqfs2tar_options;
mod sqfs2tar_trees;
