//! The hashes of shards: the nodes of a BLAKE3 tree, and a rolling checksum that finds shards which moved.

pub(crate) mod rolling;
pub(crate) mod shards;
