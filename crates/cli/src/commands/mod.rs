//! packline's own commands.

pub mod bench;
pub mod cat;
pub mod completions;
pub mod compress;
pub mod diff;
pub mod info;
pub mod links;
pub mod list;
pub mod man;
pub mod mount;
pub mod pack;
pub mod umount;
pub mod unpack;
pub mod verify;
