//! Tests of the commands in process: each gets its arguments and its streams, and is judged by what it leaves.

mod bench;
mod gensquashfs;
mod harness;
mod inspect;
mod lrzip;
mod mount;
mod pack;
mod patterns;
mod pln;
mod scheduling;
mod table;
mod tar2sqfs;
mod unpack;
