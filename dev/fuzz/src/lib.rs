//! Fuzz targets: functions that take any bytes and panic if they find a bug. `tests/targets` runs each on its seeds and on changes of the seeds. The
//! programs of `dev/fuzz/libfuzzer` run each with libFuzzer.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a target reports a bug by panicking")]

mod action;
mod cache_answer;
mod cpio;
mod decompress;
mod delta;
mod encode;
mod encrypted;
mod erofs;
mod erofs_recipe;
mod erofs_write;
mod huff0;
mod layers;
mod lrz;
mod mtree;
mod oci;
mod pln;
mod pseudo_file;
mod recovery;
pub mod seeds;
mod squashfs;
mod tar_reader;
mod verity;
mod zip;

pub use action::action;
pub use cache_answer::cache_answer;
pub use cpio::cpio;
pub use decompress::decompress;
pub use delta::delta;
pub use encode::encode;
pub use encrypted::encrypted;
pub use erofs::{erofs, erofs_index, erofs_xattr};
pub use erofs_write::erofs_writer;
pub use huff0::huff0;
pub use layers::layers;
pub use lrz::lrz;
pub use mtree::mtree;
pub use oci::oci;
pub use pln::pln;
pub use pseudo_file::pseudo_file;
pub use recovery::recovery;
pub use squashfs::{directory, image, inode, metadata, squashfs_old, superblock};
pub use tar_reader::tar_reader;
pub use verity::verity;
pub use zip::zip;

use std::fmt::Display;

/// The value of a successful call. An internal error is a bug.
fn no_bug<T, E: Display>(outcome: Result<T, E>) -> Option<T> {
    let checked = |error: E| {
        let text = error.to_string();
        assert!(!text.is_empty() && !text.starts_with("internal error"), "{text:?}");
    };
    outcome.map_err(checked).ok()
}
