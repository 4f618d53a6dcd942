//! A zoo of hostile .pln files: each breaks one rule of the format, or keeps all of them and is unusual nevertheless.
//!
//! A separate small builder can set every field freely, with correct sums, and shares no code with the reader or the writer. [`all`] lists
//! them.

mod draft;
mod lists;
mod records;

pub use crate::specimen::Specimen;
pub use draft::{content, sound};

use draft::Draft;

/// A sound file with a change.
fn with(change: fn(&mut Draft)) -> Vec<u8> {
    let mut draft = draft::draft();
    change(&mut draft);
    draft.bytes()
}

pub fn all() -> Vec<Specimen> {
    [lists::all(), records::all(), draft::all()].concat()
}
