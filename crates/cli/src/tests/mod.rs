//! Tests of the commands in process: each gets arguments and streams, and its outputs are checked.

mod bench;
mod compat_tables;
mod gensquashfs;
mod harness;
mod inspect;
mod lrzip;
mod mount;
mod pack;
mod packaging;
mod patterns;
mod pln;
mod scheduling;
mod table;
mod tar2sqfs;
mod unpack;
