//! Command lines: what a command is, and the groups of options that several commands have.
//!
//! To add a command:
//! 1. Derive its arguments in a separate file in `commands/` (packline's own) or `compat/` (a drop-in): `#[derive(clap::Args)] struct
//!    Pack`, one private field per argument. The doc comments of the struct and of its fields are the help. Add existing groups (`Machine`,
//!    `Reporting`, `SchedulingOptions`, `StreamArgs`, ...) with `#[command(flatten)]`.
//! 2. Parse and check values with [`value`]: `value_parser = size(4 << 10..=1 << 20)`. Type a default once, as `default_value`.
//!    [`parser`] appends ranges, choices and defaults to the help, so a doc comment names none of them. Only a default that is found at run
//!    time is written at its end: `[default: number of CPUs]`. A description has at most three lines in the help at 80 columns.
//! 3. Implement [`Command`]: the name, the options that `-h` shows, further text, and `run`, which takes the arguments by value.
//! 4. Add `Entry::of::<Pack>()` to the list in `dispatch/table.rs`, and the name to a group there. Help, manual page and completions
//!    follow from there.
//!
//! If `run` ignores an option, the field is never read, and the compiler reports it. clap rejects options that contradict each other
//! (`conflicts_with`), and [`Invocation::need`] options without the one that they need. [`Invocation`] has the explicit options, for other
//! checks. Options of a drop-in for tuning and testing have `hide_short_help = true`: only `--help-advanced` and the manual page show
//! them. Options of packline's own commands with `hide_long_help = true` are only in the manual page.

use std::ffi::{OsStr, OsString};

use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches};
use log::LevelFilter;

use crate::host::machine::address_space_limits_memory;
pub use crate::ui::exit_status::Compat;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

pub mod cache;
pub mod help;
pub mod image;
#[cfg_attr(not(feature = "encryption"), path = "no_keys.rs")]
pub mod keys;
pub mod parser;
pub mod patterns;
pub mod registry;
pub mod remote;
pub mod run_options;
pub mod single_dash;
pub mod text_list;
pub mod value;
pub mod verity;
pub mod work;

/// The id of `--log`, which changes no output: commands do not see whether it was given.
const LOG: &str = "log_level";

/// A command: its arguments, derived by clap, and its work.
pub trait Command: clap::Args + FromArgMatches {
    const NAME: &'static str;
    /// Other names of one of packline's own commands.
    const ALIASES: &'static [&'static str] = &[];
    const COMPAT: Compat = Compat::Packline;
    /// The long option that `-7` sets.
    const DIGITS: Option<&'static str> = None;

    /// Whether the command leaves nothing behind when a signal ends it: it writes no file, and starts no process.
    const LEAVES_NOTHING: bool = false;

    /// The intended differences between a drop-in and the program that it replaces; the manual page and the tables in `docs/compat` show
    /// them.
    const DIFFERENCES: &'static [&'static str] = &[];

    /// The long names of the options that `-h` shows, at most ten. If it is empty, `-h` shows all of them.
    const ESSENTIAL: &'static [&'static str] = &[];

    /// Command lines for the help and the manual page.
    const EXAMPLES: &'static [&'static str] = &[];

    /// Returns further text: formats, conditions. One paragraph per line. A line `# TITLE` begins a section that only the manual page of
    /// one of packline's own commands shows.
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
    pub leaves_nothing: bool,
    pub differences: &'static [&'static str],
    pub essential: &'static [&'static str],
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
            leaves_nothing: C::LEAVES_NOTHING,
            differences: C::DIFFERENCES,
            essential: C::ESSENTIAL,
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
    /// The words after the command, as typed.
    pub words: Vec<OsString>,
    matches: ArgMatches,
    /// The long names of the options on the command line; options with default values are not in the list.
    explicit_options: Vec<String>,
    /// The option that sets the memory limit.
    memory: Option<&'static str>,
}

impl Invocation {
    /// Returns the command line that `parser` parsed.
    pub fn new(command: &'static str, words: &[OsString], parser: &clap::Command, matches: ArgMatches) -> Invocation {
        let was_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let options = parser.get_arguments().filter_map(|argument| Some((argument.get_id(), argument.get_long()?)));
        let options = options.filter(|(id, _)| id.as_str() != LOG);
        let explicit = options.filter(|(id, _)| matches.ids().any(|known| known == *id) && was_given(id.as_str()));
        let explicit_options = explicit.map(|(_, long)| long.to_string()).collect();
        let has = |long: &&str| parser.get_arguments().any(|argument| argument.get_long() == Some(*long));
        let memory = ["mem", "maxram"].into_iter().find(has);
        Invocation { command, words: words.to_vec(), matches, explicit_options, memory }
    }

    /// Returns whether an option is on the command line.
    pub fn has(&self, long: &str) -> bool {
        self.explicit_options.iter().any(|explicit| explicit == long)
    }

    /// Returns whether the argument with an id is on the command line, also if it has no long name.
    pub fn is_given(&self, id: &str) -> bool {
        let is_known = self.matches.try_contains_id(id).is_ok();
        is_known && self.matches.value_source(id) == Some(ValueSource::CommandLine)
    }

    /// Returns the index of the last occurrence of an option among the arguments, for options of which the last one counts.
    pub fn position(&self, long: &str) -> Option<usize> {
        self.matches.indices_of(&long.replace('-', "_")).filter(|_| self.has(long))?.next_back()
    }

    /// Returns the indices of all values of an option among the arguments.
    pub fn positions(&self, long: &str) -> impl Iterator<Item = usize> {
        let indices = self.matches.indices_of(&long.replace('-', "_")).filter(|_| self.has(long));
        indices.into_iter().flatten()
    }

    /// Returns an option on the command line that is not one of `longs`.
    pub fn explicit_except(&self, longs: &[&str]) -> Option<&str> {
        self.explicit_options.iter().map(String::as_str).find(|long| !longs.contains(long))
    }

    /// Rejects the first option of a pair without the second one.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an option that has an effect only with another one.
    pub fn need(&self, pairs: &[(&str, &str)]) -> Result<(), Failure> {
        match pairs.iter().find(|(long, other)| self.has(long) && !self.has(other)) {
            Some((long, other)) => Err(wrong(long, format!("has no effect without --{other}"))),
            None => Ok(()),
        }
    }

    /// Returns the value of an option as typed, or its default, for reports; `None` if the command has no such option.
    pub fn text(&self, long: &str) -> Option<&OsStr> {
        self.matches.try_get_raw(&long.replace('-', "_")).ok().flatten()?.next_back()
    }

    /// The level of `--log`.
    pub fn log_level(&self) -> Option<LevelFilter> {
        self.matches.try_get_one(LOG).ok().flatten().copied()
    }

    pub fn wants_json(&self) -> bool {
        self.has("json")
    }

    /// Adds the origin of the memory limit, and how to raise it, to a failure for lack of memory.
    pub fn advise(&self, failure: Failure) -> Failure {
        failure.advised(&|| self.way_to_more_memory())
    }

    /// Returns how to raise the memory limit, if this command can. A larger --mem than `ulimit -v` allows would abort the program.
    fn way_to_more_memory(&self) -> Option<String> {
        let is_default = self.memory.is_none_or(|long| !self.has(long));
        let runs_alone = self.text("jobs").is_some_and(|jobs| jobs == "0");
        if !is_default || !address_space_limits_memory(usize::from(!runs_alone)) {
            return self.memory.map(|long| match self.text(long).and_then(OsStr::to_str) {
                Some(typed) if long == "mem" && typed.parse::<u16>().is_ok() => {
                    format!("--{long} {typed} is in bytes; did you mean {typed}M?")
                }
                _ => format!("give a larger --{long}"),
            });
        }
        // A mount needs workers.
        let can_run_alone = self.matches.try_contains_id("jobs").is_ok() && self.command != "mount" && !runs_alone;
        Some(if can_run_alone {
            "the limit comes from ulimit -v; raise it, or use -j 0, which needs no address space for workers".into()
        } else {
            "the limit comes from ulimit -v; raise it".into()
        })
    }
}

/// Returns the failure for wrong usage of an option, given by its long name.
pub fn wrong(long: &str, what: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("--{long}: {what}"))
}
