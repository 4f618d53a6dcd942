//! A zoo of hostile .lrz files: each breaks one rule of the format, or keeps all of them and is nasty all the same.
//!
//! They are built by a small builder of their own that can place every field freely and shares no code with the reader or the
//! writer. [`all`] lists them.

mod blocks;
mod chunks;
mod draft;
mod magics;
mod opcodes;
mod sound;

pub use crate::specimen::Specimen;
pub use sound::sound;

/// All of them.
pub fn all() -> Vec<Specimen> {
    let opcodes = opcodes::all().into_iter().map(Specimen::in_data).collect();
    [magics::all(), chunks::all(), blocks::all(), opcodes, sound::all()].concat()
}
