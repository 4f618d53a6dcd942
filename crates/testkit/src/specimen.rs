//! A file of a zoo: what is wrong with it, and what a reader has to say.

/// One file of the zoo.
#[derive(Debug, Clone, Copy)]
pub struct Specimen {
    /// `bad-...` if it breaks a rule, `odd-...` if it does not.
    pub name: &'static str,
    /// What is wrong, or odd, in one line.
    pub wrong: &'static str,
    /// What the message of a reader has to contain; empty if it is sound.
    pub says: &'static str,
    /// Whether all that is not data is as it should be: who decompresses nothing sees nothing wrong.
    pub lists: bool,
    make: fn() -> Vec<u8>,
}

impl Specimen {
    pub(crate) fn new(name: &'static str, says: &'static str, wrong: &'static str, make: fn() -> Vec<u8>) -> Specimen {
        Specimen { name, wrong, says, lists: says.is_empty(), make }
    }

    /// The same, wrong in nothing but the data and what comes of it.
    pub(crate) fn in_data(self) -> Specimen {
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
