//! A zoo of hostile .pln files: each breaks one rule of the format, or keeps all of them and is odd all the same.
//!
//! They are built by a small builder of their own that can place every field freely, with right sums, and shares no code with the
//! reader or the writer. [`all`] lists them.

mod draft;
mod lists;
mod records;
mod sound;

pub use sound::{content, sound};

use draft::Draft;

/// One file of the zoo.
#[derive(Debug, Clone, Copy)]
pub struct Specimen {
    /// `bad-...` if it breaks a rule, `odd-...` if it does not.
    pub name: &'static str,
    /// What is wrong, or odd, in one line.
    pub wrong: &'static str,
    /// What the message of a reader has to contain; empty if it is sound.
    pub says: &'static str,
    /// Whether head, tables, index and trailer are as they should be: who reads no record sees nothing wrong.
    pub lists: bool,
    make: fn() -> Vec<u8>,
}

impl Specimen {
    fn new(name: &'static str, says: &'static str, wrong: &'static str, make: fn() -> Vec<u8>) -> Specimen {
        Specimen { name, wrong, says, lists: says.is_empty(), make }
    }

    /// The same, wrong in nothing but a record.
    fn in_record(self) -> Specimen {
        Specimen { lists: true, ..self }
    }

    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        (self.make)()
    }

    /// Whether it is to be read as it is.
    pub fn is_sound(&self) -> bool {
        self.says.is_empty()
    }
}

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
