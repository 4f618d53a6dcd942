//! Command lines: what a command is, and the groups of options that several commands have.
//!
//! To add a command:
//! 1. Derive its arguments in a file of its own in `commands/` (ours) or `compat/` (a drop-in): `#[derive(clap::Args)] struct Pack`,
//!    one private field an argument. The doc comments of the struct and of its fields are the help. Groups that
//!    exist already (`Machine`, `Reporting`, `Scheduling`, `ImagePlace`, ...) are added with `#[command(flatten)]`.
//! 2. Values are parsed and checked by [`value`]: `value_parser = size(4 << 10..=1 << 20)`. A default is typed once, as
//!    `default_value`. [`parser`] appends ranges, choices and defaults to the help, so a doc comment names none; only a
//!    default that is found at run time is written there, at its end: `[default: number of CPUs]`.
//! 3. Implement [`Command`]: its name, what follows the options in the help, and `run`, which takes the arguments by value.
//! 4. Add `Entry::of::<Pack>()` to the list in `dispatch/table.rs`. Help, manual page and completions follow from there.
//!
//! An option that `run` does not read is a field that is never read: the compiler finds it. clap refuses
//! options that contradict each other (`conflicts_with`, `requires`); [`Invocation`] has the options that were given, for other checks.
//! An option for tuning or tests has `hide_short_help = true`: only `--help-advanced` and the manual page show it.

use std::ffi::{OsStr, OsString};

use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches};

pub use crate::ui::exit_status::Compat;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

pub mod cache;
pub mod help_options;
pub mod image;
#[cfg_attr(not(feature = "encryption"), path = "no_keys.rs")]
pub mod keys;
pub mod machine;
pub mod parser;
pub mod patterns;
pub mod reporting;
pub mod run_options;
pub mod single_dash;
pub mod text_list;
pub mod value;
pub mod verity;
pub mod work;

/// A command: its arguments, as clap derives them, and what it does.
pub trait Command: clap::Args + FromArgMatches {
    const NAME: &'static str;
    /// Other names for it, of commands of our own only.
    const ALIASES: &'static [&'static str] = &[];
    /// Whose conventions it follows.
    const COMPAT: Compat = Compat::Packline;
    /// The long option that `-7` is a value of.
    const DIGITS: Option<&'static str> = None;

    /// Where a drop-in differs on purpose from the program that it replaces; the manual page and the tables in `docs/compat` show them.
    const DIFFERENCES: &'static [&'static str] = &[];

    /// Command lines, which help and manual page show.
    const EXAMPLES: &'static [&'static str] = &[];

    /// What follows the options in the help: formats, conditions. A paragraph a line.
    fn details() -> String {
        String::new()
    }

    /// # Errors
    /// A failure becomes the exit status and a message on standard error.
    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure>;
}

/// A row of the list of commands.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub compat: Compat,
    pub digits: Option<&'static str>,
    pub differences: &'static [&'static str],
    pub examples: &'static [&'static str],
    pub details: fn() -> String,
    /// Adds the arguments to a parser.
    pub augment: fn(clap::Command) -> clap::Command,
    /// Runs the command with the parsed arguments.
    pub run: fn(&Invocation, &mut Io) -> Result<(), Failure>,
}

impl Entry {
    pub const fn of<C: Command>() -> Entry {
        Entry {
            name: C::NAME,
            aliases: C::ALIASES,
            compat: C::COMPAT,
            digits: C::DIGITS,
            differences: C::DIFFERENCES,
            examples: C::EXAMPLES,
            details: C::details,
            augment: C::augment_args,
            run: |invocation, io| match C::from_arg_matches(&invocation.matches) {
                Ok(command) => command.run(invocation, io),
                Err(error) => Err(Failure::usage(error.to_string())),
            },
        }
    }
}

/// A parsed command line, apart from the typed arguments.
#[derive(Debug)]
pub struct Invocation {
    pub command: &'static str,
    /// The words after it, as they were typed.
    pub words: Vec<OsString>,
    matches: ArgMatches,
    /// Long names of the options that were given, rather than left at their defaults.
    given: Vec<String>,
    /// The option that sets the limit on memory.
    memory: Option<&'static str>,
}

impl Invocation {
    /// The command line that `parser` took apart.
    pub fn new(command: &'static str, words: &[OsString], parser: &clap::Command, matches: ArgMatches) -> Invocation {
        let was_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let options = parser.get_arguments().filter_map(|argument| Some((argument.get_id(), argument.get_long()?)));
        let given = options.filter(|(id, _)| matches.ids().any(|known| known == *id) && was_given(id.as_str()));
        let given = given.map(|(_, long)| long.to_string()).collect();
        let has = |long: &&str| parser.get_arguments().any(|argument| argument.get_long() == Some(*long));
        let memory = ["mem", "maxram"].into_iter().find(has);
        Invocation { command, words: words.to_vec(), matches, given, memory }
    }

    /// Whether an option was given.
    pub fn has(&self, long: &str) -> bool {
        self.given.iter().any(|given| given == long)
    }

    /// Index among the arguments at which an option was given last: for options of which the last one counts.
    pub fn position(&self, long: &str) -> Option<usize> {
        self.matches.indices_of(&long.replace('-', "_")).filter(|_| self.has(long))?.next_back()
    }

    /// Indices of all its values among the arguments, if an option was given.
    pub fn positions(&self, long: &str) -> impl Iterator<Item = usize> {
        let indices = self.matches.indices_of(&long.replace('-', "_")).filter(|_| self.has(long));
        indices.into_iter().flatten()
    }

    /// An option that was given and is not one of these.
    pub fn given_beside(&self, longs: &[&str]) -> Option<&str> {
        self.given.iter().map(String::as_str).find(|long| !longs.contains(long))
    }

    /// The value of an option as it was typed, or its default: for reports. `None` if the command has no such option.
    pub fn text(&self, long: &str) -> Option<&OsStr> {
        self.matches.try_get_raw(&long.replace('-', "_")).ok().flatten()?.next_back()
    }

    /// Whether `--json` was given.
    pub fn wants_json(&self) -> bool {
        self.has("json")
    }

    /// The failure, with the option that allows more memory if the command has one.
    pub fn advise(&self, failure: Failure) -> Failure {
        failure.advised(self.memory)
    }
}

/// Wrong usage of an option, by its long name.
pub fn wrong(long: &str, what: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("--{long}: {what}"))
}
