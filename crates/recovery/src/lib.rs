//! Recovery data: Reed-Solomon shards that repair lost, changed, moved or inserted bytes of any file.
//!
//! A file is cut into shards of one size. Recovery shards, and a table with hashes of all shards, are stored as packets: in a file of
//! their own, or behind the bytes that they protect. As many lost shards can be repaired as there are recovery shards, whichever they
//! are. `docs/format/recovery.md` says every byte. Nothing here knows what the protected file is.

mod code;
mod columns;
mod error;
mod examine;
mod find;
mod footer;
mod packet;
mod pass;
mod protect;
mod readable;
mod rebuild;
mod redundancy;
mod repair;
mod rolling;
mod scan;
mod set;
mod shape;
mod strip;
mod survey;
mod table;

pub use error::Error;
pub use examine::{Examined, examine};
pub use footer::{FOOTER_BYTES, is_footer};
pub use packet::MAGIC;
pub use protect::{Place, Protected, protect, protect_again};
pub use redundancy::Redundancy;
pub use repair::{prove, repair};
pub use set::RecoverySet;
pub use shape::Shape;
pub use strip::{Stripped, Summary, strip};
