//! Recovery data, byte for byte: how a file is cut into shards, the packets, the table of shards and the footer.

pub(crate) mod footer;
pub(crate) mod packet;
pub(crate) mod redundancy;
pub(crate) mod shape;
pub(crate) mod table;
