//! packline's own commands.

#[cfg(feature = "bench")]
pub mod bench;
pub mod cache;
pub mod cat;
#[cfg(feature = "pln")]
pub mod compress;
#[cfg(feature = "delta")]
pub mod delta;
pub mod diff;
pub mod info;
pub mod list;
#[cfg(feature = "mount")]
pub mod mount;
pub mod pack;
#[cfg(feature = "recovery")]
pub mod recovery;
#[cfg(feature = "mount")]
pub mod umount;
pub mod unpack;
pub mod verify;
#[cfg(feature = "verity")]
pub mod verity;
