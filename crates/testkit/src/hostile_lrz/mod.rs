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

pub use sound::sound;

/// One file of the zoo.
#[derive(Debug, Clone, Copy)]
pub struct Specimen {
    /// `bad-...` if it breaks a rule, `odd-...` if it does not.
    pub name: &'static str,
    /// What is wrong, or odd, in one line.
    pub wrong: &'static str,
    /// What the message of a reader has to contain; empty if it is sound.
    pub says: &'static str,
    /// Whether all heads and records are as they should be: who decompresses nothing sees nothing wrong.
    pub lists: bool,
    make: fn() -> Vec<u8>,
}

impl Specimen {
    fn new(name: &'static str, says: &'static str, wrong: &'static str, make: fn() -> Vec<u8>) -> Specimen {
        Specimen { name, wrong, says, lists: says.is_empty(), make }
    }

    /// The same, wrong in nothing but what blocks hold and what comes of them.
    fn in_data(self) -> Specimen {
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

/// All of them.
pub fn all() -> Vec<Specimen> {
    let opcodes = opcodes::all().into_iter().map(Specimen::in_data).collect();
    [magics::all(), chunks::all(), blocks::all(), opcodes, sound::all()].concat()
}
