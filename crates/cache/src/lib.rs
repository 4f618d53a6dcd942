//! A cache of compressed blocks: what a block compresses to is a pure function of its content, the codec's parameters and the encoders'
//! revision, so that a block found here is the block that would be compressed anew.
//!
//! Nothing that is read is trusted: an entry has a checksum, and its block is decoded and compared with the content before it is used. A
//! damaged cache costs time, and changes no content. That the bytes are those that our encoder would make is not checked, which would cost what
//! the cache saves: whoever may write to a cache can change how a block is compressed, never what it contains. Entries are files of their own, so that a process that is killed, or that shares the
//! cache with others, can damage none: each is written beside the entries and renamed.
//!
//! ```text
//! DIR/CACHEDIR.TAG       tells backup programs to leave the directory out
//! DIR/v1/lock            locked while entries are removed
//! DIR/v1/new/            entries that are being written
//! DIR/v1/00/ .. ff/      entries, by the first byte of their key; the name is the rest of it, in hexadecimal
//! ```
//!
//! [`Lookup`] says where blocks are looked up: in those that are known otherwise ([`KnownBlocks`]), then in the cache; and its
//! [`BlockEncoder`] compresses what is found nowhere. After an error of the file system nothing more is written, and the work goes on:
//! [`BlockCache::counts`] has the first such error.
//!
//! A server that many machines share can follow the directory or replace it: a [`Remote`], whose entries are checked in the same way. The
//! feature `http` has the one that there is ([`http::Server`]).
#![forbid(unsafe_code)]

mod cache;
mod encoder;
mod entry;
mod error;
#[cfg(feature = "http")]
pub mod http;
mod key;
mod local;
mod lookup;
mod remote;
mod store;
#[cfg(test)]
mod tests;
mod trim;

pub use cache::{BlockCache, Counts};
pub use encoder::BlockEncoder;
pub use error::Error;
pub use key::{ContentDigest, encoder_hash};
pub use lookup::{KnownBlocks, Lookup};
pub use remote::{Remote, RemoteCounts, RemoteMemory};
pub use store::{Contents, Store};
pub use trim::Trimmed;
