//! A zoo of hostile .pln files: each breaks one rule of the format, or keeps all of them and is odd all the same.
//!
//! They are built by a small builder of their own that can place every field freely, with right sums, and shares no code with the
//! reader or the writer. [`all`] lists them.

mod draft;
mod lists;
mod records;
mod sound;

pub use crate::specimen::Specimen;
pub use sound::{content, sound};

use draft::Draft;

/// A sound file with a change.
fn with(change: fn(&mut Draft)) -> Vec<u8> {
    let mut draft = sound::draft();
    change(&mut draft);
    draft.bytes()
}

/// All of them.
pub fn all() -> Vec<Specimen> {
    [lists::all(), records::all(), sound::all()].concat()
}
