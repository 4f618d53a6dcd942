//! A file of a zoo: its fault, and the required message.

#[derive(Debug, Clone, Copy)]
pub struct Specimen {
    /// `bad-...` if it breaks a rule, `odd-...` if it does not.
    pub name: &'static str,
    /// The fault or oddity, in one line.
    pub wrong: &'static str,
    /// Required part of a reader's message; empty if it is sound.
    pub says: &'static str,
    /// Whether everything except the data is sound: reading without decompressing finds no fault.
    pub lists: bool,
    make: fn() -> Vec<u8>,
}

impl Specimen {
    pub(crate) fn new(name: &'static str, says: &'static str, wrong: &'static str, make: fn() -> Vec<u8>) -> Specimen {
        Specimen { name, wrong, says, lists: says.is_empty(), make }
    }

    /// Marks a fault in the data alone.
    pub(crate) fn in_data(self) -> Specimen {
        Specimen { lists: true, ..self }
    }

    pub fn bytes(&self) -> Vec<u8> {
        (self.make)()
    }

    pub fn is_sound(&self) -> bool {
        self.says.is_empty()
    }
}
