//! packline's own commands.

pub mod bench;
pub mod cache;
pub mod cat;
pub mod compress;
pub mod delta;
pub mod diff;
pub mod du;
pub mod info;
pub mod list;
#[cfg(feature = "mount")]
pub mod mount;
pub mod pack;
pub mod recovery;
pub mod streams;
pub mod unpack;
pub mod verify;
pub mod verity;
