//! A zoo of hostile EROFS images: each breaks one rule of the format, or keeps all of them and is difficult nevertheless.
//!
//! A separate small builder can set every field freely and shares no code with the writer. [`all`] lists the images, [`sound`] is one without a
//! fault.

mod chunks;
mod clusters;
mod directories;
mod draft;
mod extents;
mod fragments;
mod frames;
mod indexes;
mod inodes;
mod plant;
mod superblocks;
mod xattrs;

pub use crate::specimen::Specimen;
pub use draft::sound;
pub use plant::{Part, planted, sound_parts};

/// Every specimen.
pub fn all() -> Vec<Specimen> {
    [
        superblocks::all(),
        inodes::all(),
        chunks::all(),
        directories::all(),
        xattrs::all(),
        indexes::all(),
        extents::all(),
        clusters::all(),
        fragments::all(),
    ]
    .concat()
}
