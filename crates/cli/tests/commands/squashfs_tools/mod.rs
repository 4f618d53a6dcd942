//! Tests of the drop-ins for squashfs-tools.

mod actions;
mod append;
mod links;
pub(crate) mod mksquashfs;
mod pseudo;
mod sources;
pub(crate) mod unsquashfs;
