//! Recovery data: Reed-Solomon shards that repair lost, changed, moved or inserted bytes of any file.
//!
//! A file is cut into shards of one size. Recovery shards, and a table with hashes of all shards, are stored as packets: in a file of their
//! own, or after the bytes that they protect. The recovery shards can repair any lost shards, as many as there are recovery shards.
//! `docs/format/recovery.md` specifies every byte. The code does not depend on the format of the protected file.

mod code;
mod error;
mod format;
mod hashing;
mod pass;
mod protect;
mod readable;
mod repair;
mod set;

pub use error::Error;
pub use format::footer::{FOOTER_BYTES, is_footer};
pub use format::packet::MAGIC;
pub use format::redundancy::Redundancy;
pub use format::shape::Shape;
pub use protect::{PacketLocation, Protected, protect, protect_again};
pub use repair::examine::{Examined, examine};
pub use repair::{prove, repair};
pub use set::RecoverySet;
pub use set::strip::{Stripped, Summary, strip};

/// The examples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
