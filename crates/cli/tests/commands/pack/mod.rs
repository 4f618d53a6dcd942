//! Tests of `packline pack`.

mod attributes;
mod base;
mod beside;
mod cache;
mod cache_server;
mod cpio;
mod images;
mod kept;
mod layout;
mod leave_out;
mod manifest;
mod mtree;
mod names;
mod offset;
mod order;
mod prepend;
mod reports;
mod sharing;
mod zip;
