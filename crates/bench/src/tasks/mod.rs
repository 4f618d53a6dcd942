//! The benchmarks: packing, unpacking, codecs in memory, and storage.

pub mod codec;
pub mod pack;
pub mod serial;
pub mod storage;
pub mod unpack;
