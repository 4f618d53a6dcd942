//! The tars and images that a pack reads at offsets, to detect a change after all contents were read.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use crate::error::Error;

pub(super) const CHANGED: &str = "changed while it was read";
pub(super) const UNCHANGED: &str = "a file that nothing writes to";

/// Whether an input may have been written to since it was opened.
type Rewritten = Box<dyn Fn() -> std::io::Result<bool>>;

/// The tars and images that are read. Workers read their contents long after their entries, so a change could mix old and new bytes
/// in one file, and what is written after the end is not read.
#[derive(Default)]
pub(crate) struct ReadInputs(RefCell<Vec<(PathBuf, Rewritten)>>);

impl ReadInputs {
    pub(crate) fn add(&self, path: PathBuf, rewritten: impl Fn() -> std::io::Result<bool> + 'static) {
        self.0.borrow_mut().push((path, Box::new(rewritten)));
    }

    /// Compares all inputs with their state when they were opened. Must be called after everything was read.
    ///
    /// # Errors
    /// [`Error::Target`] for the first input that changed, [`Error::Source`] for one that cannot be examined.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        self.0.borrow().iter().try_for_each(|(path, rewritten)| check(path, rewritten))
    }
}

fn check(path: &Path, rewritten: &Rewritten) -> Result<(), Error> {
    let path = path.to_path_buf();
    match rewritten() {
        Ok(false) => Ok(()),
        Ok(true) => {
            let what = CHANGED.to_string();
            Err(Error::Target { path, what, expected: UNCHANGED.into() })
        }
        Err(cause) => Err(Error::Source { path, action: "cannot examine", cause }),
    }
}
