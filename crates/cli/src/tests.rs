//! Tests of the commands in process: each gets arguments and streams, and its outputs are checked.

#[cfg(feature = "bench")]
mod bench;
mod gensquashfs;
mod harness;
mod inspect;
mod lrzip;
#[cfg(feature = "mount")]
mod mount;
mod pack;
mod packaging;
mod patterns;
mod pln;
mod scheduling;
mod table;
mod tar2sqfs;
mod unpack;
