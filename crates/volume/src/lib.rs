//! A read-only file system image, whatever its container: a tree of nodes ([`Inode`]), directory entries, extended attributes, and contents.
//!
//! A container implements [`Volume`]. The content of a file is a sequence of pieces ([`Piece`]): holes, and ranges of units. A [`Unit`] is
//! whatever is decoded at once. An own unit has content of one file; a shared unit has content of many files.
//!
//! The crate has what works for every container. [`Walk`] visits a tree without recursion, each directory once. [`Reading`] decodes ahead on
//! workers and returns contents in the order of the requests. [`Files`] serves any offset to any thread, for mounts.
//!
//! [`Reading`] decodes a shared unit at its first use and keeps it until its last use, which a first pass determines ([`SharedUses`]). If the
//! units do not fit into memory, the unit needed last is evicted: its decoded bytes go to an unnamed temporary file ([`Scratch`]), from which
//! later files read. The file is bounded by 64 times the size of the image (or 64 MiB). If the file cannot be created, written or read, the unit
//! is decoded again.

mod base;
mod data_check;
mod error;
mod finding;
mod node;
mod opening;
mod random;
mod reading;
mod scratch;
mod unit;
mod volume;
mod walk;

pub use base::{BaseCounts, BaseError, BaseSettings, BaseUses};
pub use data_check::{Covered, DataCheck, ReadAt, checksum};
pub use error::ReadError;
pub use finding::{Examiner, Finding, Report, Severity, Verified};
pub use node::{
    DirEntry, Directory, Entries, EntryFields, FileData, Inode, Listing, Node, NodeId, NodeType, OpaquePosition,
};
pub use opening::{Opening, Origin, SuperblockSearch};
pub use random::{Files, OpenFile, RandomSettings};
pub use reading::{BlockListener, Chunk, Event, ReadSettings, Reading, Request, SharedCounts, SharedUses};
pub use scratch::{Scratch, SpilledBlock};
pub use unit::{Missing, PLAIN, Piece, Pieces, SharedPlace, Unit, UnitDecoder, check_length};
pub use volume::{CheckScope, ContentPlace, Facts, InodeReader, SharedVolume, ToVolume, Volume, type_fault};
pub use walk::{MOST_DIRECTORIES, Visit, Walk};

/// Spreads a number over all bits (Fibonacci hashing, Knuth, The Art of Computer Programming 3, section 6.4).
pub fn spread(number: u64) -> u64 {
    let product = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 29
}
