//! Prints findings about a file when they are found, and shows the progress.

use std::cell::{Cell, RefCell};
use std::path::Path;

use packline::{Observer, Progress};
use serde_json::Value;

use super::Verify;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::progress::Bar;

/// Prints findings until printing fails.
pub struct Printer<'p> {
    io: RefCell<&'p mut Io>,
    bar: Option<Bar>,
    path: &'p Path,
    verify: &'p Verify,
    /// The failure of printing, after which nothing is printed.
    failed: Cell<Option<Failure>>,
}

impl<'p> Printer<'p> {
    pub fn new(verify: &'p Verify, path: &'p Path, io: &'p mut Io) -> Printer<'p> {
        let bar = (io.terminal && !verify.quiet && !verify.json).then(|| Bar::new(&io.drawn));
        Printer { io: RefCell::new(io), bar, path, verify, failed: Cell::new(None) }
    }

    /// Prints a finding, as an object or as text.
    pub fn found(&self, object: Value, text: &str) {
        let failed = self.failed.take();
        if failed.is_some() {
            return self.failed.set(failed);
        }
        let json = self.verify.json;
        let line = if json {
            format!("{}\n", self.verify.named(self.path, object))
        } else {
            format!("{}: {text}\n", self.path.escaped())
        };
        let print = || self.io.borrow_mut().print_as(json, &line);
        self.failed.set(self.aside(print).err());
    }

    /// Removes the bar, and returns whether everything was printed.
    pub fn end(self) -> Result<(), Failure> {
        if let Some(bar) = self.bar {
            bar.clear();
        }
        self.failed.into_inner().map_or(Ok(()), Err)
    }

    fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.aside(work),
            None => work(),
        }
    }
}

impl Observer for &Printer<'_> {
    fn advance(&mut self, progress: &Progress) {
        if let Some(bar) = &self.bar {
            bar.show(progress);
        }
    }

    fn warning(&mut self, message: &str) {
        self.aside(|| self.io.borrow_mut().warn(message));
    }
}
