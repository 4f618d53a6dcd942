//! A cache of compressed blocks. A block's compressed bytes are a pure function of its content, the codec's parameters and the
//! encoders' revision, so a block found in the cache is the block that the encoder would make.
//!
//! The cache trusts no bytes that it reads: an entry has a checksum, and its block is decoded and compared with the content
//! before use. A damaged cache costs time but changes no content. The cache does not check that our encoder made the bytes,
//! because this check would cost as much as the cache saves. A user who may write to a cache can therefore change how a block is
//! compressed, but not its content.
//!
//! Each entry is a file of its own, written under another name and then renamed, so that a killed process, or another process
//! that shares the cache, cannot damage entries.
//!
//! ```text
//! DIR/CACHEDIR.TAG       tells backup programs to leave the directory out
//! DIR/v1/lock            locked while entries are removed
//! DIR/v1/new/            entries that are being written
//! DIR/v1/00/ .. ff/      entries, by the first byte of their key; the name is the rest of the key, in hexadecimal
//! ```
//!
//! [`Lookup`] lists where blocks are looked up: first in other known blocks ([`KnownBlocks`]), then in the cache. Its
//! [`BlockEncoder`] compresses the blocks that are not found. After an error of the file system no further entry is written, and
//! the work continues; [`BlockCache::counts`] returns the first such error.
//!
//! Most containers have the blocks of [`Spec::encoder`](packline_codec::Spec::encoder), so that they share entries. A container with other blocks
//! gives the encoder a [`BlockCodec`]; a block may then be stored in [clusters](Cluster).
//!
//! [`Parts`] keeps what is read of files on servers in the same directory.
//!
//! A server that many machines share can follow the directory or replace it. A server is a [`Remote`], and its entries are
//! checked in the same way. The feature `http` provides [`http::Server`].
#![forbid(unsafe_code)]

mod cache;
mod cluster;
mod codec;
mod encoder;
mod entry;
mod error;
#[cfg(feature = "http")]
pub mod http;
mod key;
mod local;
mod lookup;
mod parts;
mod remote;
mod store;
#[cfg(test)]
mod tests;
mod trim;

pub use cache::{BlockCache, Counts};
pub use cluster::{Cluster, LargestBlock, STORED_BLOCK};
pub use codec::{BlockCodec, EncoderForm};
pub use encoder::{BlockEncoder, Digests};
pub use error::Error;
pub use key::{ContentDigest, ContentHasher, encoder_hash, encoder_hash_of_form};
pub use lookup::{KnownBlocks, Lookup};
pub use parts::Parts;
pub use remote::{Remote, RemoteCounts, RemoteMemory};
pub use store::{Contents, Store};
pub use trim::Trimmed;
