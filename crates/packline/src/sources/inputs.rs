//! The tars and images that a pack reads at offsets, to detect a change after all contents were read.

use std::cell::RefCell;
use std::io;

use packline_tree::Error;

/// Whether an input may have been written to since it was opened.
type Rewritten = Box<dyn Fn() -> io::Result<bool>>;

/// The tars and images that are read, by their names in messages. Workers read their contents long after their entries, so a change
/// could mix old and new bytes in one file, and what is written after the end is not read.
#[derive(Default)]
pub(crate) struct ReadInputs(RefCell<Vec<(String, Rewritten)>>);

impl ReadInputs {
    pub(crate) fn add(&self, name: String, rewritten: impl Fn() -> io::Result<bool> + 'static) {
        self.0.borrow_mut().push((name, Box::new(rewritten)));
    }

    /// Compares all inputs with their state when they were opened. Must be called after everything was read.
    ///
    /// # Errors
    /// Returns the error of [`must_be_unchanged`] for the first input that changed.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        self.0.borrow().iter().try_for_each(|(name, rewritten)| must_be_unchanged(name, rewritten()))
    }
}

/// Returns an error if an input was written to since it was opened, or cannot be examined.
pub(super) fn must_be_unchanged(name: &str, rewritten: io::Result<bool>) -> Result<(), Error> {
    match rewritten {
        Ok(false) => Ok(()),
        Ok(true) => Err(Error::Input {
            input: name.to_string(),
            what: "changed while it was read".to_string(),
            expected: "a file that nothing writes to".to_string(),
        }),
        Err(cause) => Err(Error::Io { path: name.into(), action: "cannot examine", cause }),
    }
}
