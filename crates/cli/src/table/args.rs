//! Parsed arguments, read through the table: values are checked against the ranges the table states.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::ArgMatches;

use crate::table::options::{Applet, Opt, Takes};
use crate::ui::failure::Failure;
use crate::ui::size::{parse_number, parse_size, show_size};

/// Parsed arguments of one command.
///
/// It remembers which options were asked for, so that a test can tell an option that nothing looks at.
pub struct Args {
    applet: &'static Applet,
    matches: ArgMatches,
    typed: Vec<OsString>,
    asked: RefCell<BTreeSet<&'static str>>,
}

impl Args {
    /// Wraps what clap made of the arguments of `applet`.
    pub fn new(applet: &'static Applet, matches: ArgMatches) -> Args {
        Args { applet, matches, typed: Vec::new(), asked: RefCell::default() }
    }

    /// The same, with the words they were made from.
    pub fn typed_as(mut self, words: &[OsString]) -> Args {
        self.typed = words.to_vec();
        self
    }

    /// The command's name.
    pub fn command(&self) -> &'static str {
        self.applet.name
    }

    /// The words after the command's name, as they were typed.
    pub fn typed(&self) -> &[OsString] {
        &self.typed
    }

    /// Whether a flag is on.
    pub fn flag(&self, long: &'static str) -> bool {
        self.option(long);
        self.matches.get_flag(long)
    }

    /// How often a flag that repeats was given.
    pub fn count(&self, long: &'static str) -> u8 {
        self.option(long);
        self.matches.get_count(long)
    }

    /// Whether an option was given, rather than left at its default.
    pub fn given(&self, long: &'static str) -> bool {
        self.option(long);
        self.matches.value_source(long) == Some(clap::parser::ValueSource::CommandLine)
    }

    /// Whether the command has an option at all: some share their code with others that have more.
    pub fn has(&self, long: &str) -> bool {
        self.applet.all_options().any(|option| option.long == long)
    }

    /// An option that was given and is not one of these.
    pub fn given_beside(&self, longs: &[&str]) -> Option<&'static str> {
        let others = self.applet.all_options().map(|option| option.long).filter(|long| !longs.contains(long));
        others.into_iter().find(|long| self.given(long))
    }

    /// Where among the arguments an option was given last, if it was: for options that undo each other.
    pub fn position(&self, long: &'static str) -> Option<usize> {
        self.matches.indices_of(long).filter(|_| self.given(long)).and_then(Iterator::last)
    }

    /// The value as it was written; the last one if there are several.
    pub fn raw(&self, long: &'static str) -> Option<&OsStr> {
        self.option(long);
        self.matches.get_raw(long).and_then(|mut values| values.next_back())
    }

    /// All values of an option that repeats, in order.
    pub fn all(&self, long: &'static str) -> Vec<OsString> {
        self.option(long);
        self.matches.get_raw(long).map(|values| values.map(OsStr::to_owned).collect()).unwrap_or_default()
    }

    /// The value as text; an error if it is not UTF-8.
    pub fn text(&self, long: &'static str) -> Result<Option<&str>, Failure> {
        self.raw(long).map(|raw| raw.to_str().ok_or_else(|| self.wrong(long, "the value is not UTF-8"))).transpose()
    }

    /// The value as a path.
    pub fn path(&self, long: &'static str) -> Option<PathBuf> {
        self.raw(long).map(PathBuf::from)
    }

    /// The value as a number of bytes, within the table's range.
    pub fn size(&self, long: &'static str) -> Result<Option<u64>, Failure> {
        let Takes::Size { least, most } = self.option(long).takes else { return Ok(None) };
        let Some(raw) = self.raw(long) else { return Ok(None) };
        let bytes = parse_size(raw).map_err(|what| self.wrong(long, &what))?;
        if !(least..=most).contains(&bytes) {
            let range = format!("expected {} to {}", show_size(least), show_size(most));
            return Err(self.wrong(long, &format!("{bytes} is out of range ({range})")));
        }
        Ok(Some(bytes))
    }

    /// The value as a whole number, within the table's range.
    pub fn number(&self, long: &'static str) -> Result<Option<i64>, Failure> {
        let Takes::Number { least, most } = self.option(long).takes else { return Ok(None) };
        let Some(raw) = self.raw(long) else { return Ok(None) };
        let number = parse_number(raw).map_err(|what| self.wrong(long, &what))?;
        if !(least..=most).contains(&number) {
            return Err(self.wrong(long, &format!("{number} is out of range (expected {least} to {most})")));
        }
        Ok(Some(number))
    }

    /// A positional argument.
    pub fn operand(&self, name: &'static str) -> Option<&OsStr> {
        self.matches.get_raw(name).and_then(|mut values| values.next())
    }

    /// All values of a positional argument that may be given several times, in order.
    pub fn operands(&self, name: &'static str) -> Vec<OsString> {
        self.matches.get_raw(name).map(|values| values.map(OsStr::to_owned).collect()).unwrap_or_default()
    }

    /// All positional arguments that name files of this machine.
    pub fn file_operands(&self) -> Vec<PathBuf> {
        let names = self.applet.operands.iter().map(|operand| operand.name);
        let names = names.filter(|name| !["PATH...", "PATTERN..."].contains(name));
        names.flat_map(|name| self.operands(name)).map(PathBuf::from).collect()
    }

    /// A positional argument that the table requires.
    pub fn required(&self, name: &'static str) -> Result<PathBuf, Failure> {
        self.operand(name).map(PathBuf::from).ok_or_else(|| Failure::usage(format!("missing argument: {name}")))
    }

    /// Wrong usage of an option, naming it as the user knows it.
    pub fn wrong(&self, long: &str, what: &str) -> Failure {
        Failure::usage(format!("--{long}: {what}"))
    }

    /// Options of the command that nothing has asked for yet.
    #[cfg(test)]
    pub fn unasked(&self) -> Vec<&'static str> {
        let asked = self.asked.borrow();
        self.applet.all_options().map(|option| option.long).filter(|long| !asked.contains(long)).collect()
    }

    /// The option's row in the table. Asking for one that is not there is a mistake in the command's code, which the
    /// tests of the table find; the answer is then a flag that is never set.
    fn option(&self, long: &'static str) -> &'static Opt {
        const NONE: Opt = Opt::flag("", "");
        self.asked.borrow_mut().insert(long);
        let found = self.applet.all_options().find(|option| option.long == long);
        debug_assert!(found.is_some(), "{} has no option --{long}", self.applet.name);
        found.unwrap_or(&NONE)
    }
}
