//! A zoo of hostile .lrz files: each breaks one rule of the format, or keeps all of them and is difficult nevertheless.
//!
//! A separate small builder can set every field freely and shares no code with the reader or the writer. [`all`] lists them.

mod blocks;
mod chunks;
mod draft;
mod magics;
mod opcodes;
mod sound;

pub use crate::specimen::Specimen;
pub use sound::sound;

pub fn all() -> Vec<Specimen> {
    let opcodes = opcodes::all().into_iter().map(Specimen::in_data).collect();
    [magics::all(), chunks::all(), blocks::all(), opcodes, sound::all()].concat()
}
