//! The vocabulary of the option table: what an option is called, what it takes, and how a command is described.
//!
//! One table makes the parser, `--help`, the manual pages and the completions, so none of them can drift from the others.

use crate::args::Args;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: it is on or off.
    Nothing,
    /// Any text.
    Text,
    /// Any text, but only behind a `=`; without it the value is empty.
    Attached,
    /// A path, which need not be UTF-8.
    Path,
    /// A number of bytes from `least` to `most`, with an optional suffix K, M, G or T (powers of 1024).
    Size {
        /// Smallest value accepted.
        least: u64,
        /// Largest value accepted.
        most: u64,
    },
    /// A whole number from `least` to `most`.
    Number {
        /// Smallest value accepted.
        least: i64,
        /// Largest value accepted.
        most: i64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// One option of the table. Its long name is its identity within a command.
#[derive(Debug, Clone, Copy)]
pub struct Opt {
    /// Long name, without dashes.
    pub long: &'static str,
    /// Short name.
    pub short: Option<char>,
    /// Other short names.
    pub also: &'static [char],
    /// A former long name, still accepted.
    pub alias: Option<&'static str>,
    /// What it takes.
    pub takes: Takes,
    /// How the value is called in the help.
    pub value: &'static str,
    /// The value when the option is not given, as text: parsed like one that is given.
    pub default: Option<&'static str>,
    /// Whether it may be given several times, each value counting, or each time where it takes nothing.
    pub repeats: bool,
    /// Whether `-7` says `--level=7`, where this is `level`.
    pub digits: bool,
    /// Heading under which the help lists it.
    pub group: &'static str,
    /// What it does, one or two sentences.
    pub help: &'static str,
}

impl Opt {
    /// An option that is on or off.
    pub const fn flag(long: &'static str, help: &'static str) -> Opt {
        Opt {
            long,
            short: None,
            also: &[],
            alias: None,
            takes: Takes::Nothing,
            value: "",
            default: None,
            repeats: false,
            digits: false,
            group: "Options",
            help,
        }
    }

    /// An option with a value; `value` is how the help calls it.
    pub const fn with(long: &'static str, value: &'static str, takes: Takes, help: &'static str) -> Opt {
        let mut option = Opt::flag(long, help);
        option.value = value;
        option.takes = takes;
        option
    }

    /// With a short name.
    pub const fn short(mut self, short: char) -> Opt {
        self.short = Some(short);
        self
    }

    /// With a former long name, which the help does not show.
    pub const fn alias(mut self, alias: &'static str) -> Opt {
        self.alias = Some(alias);
        self
    }

    /// With further short names.
    pub const fn also(mut self, also: &'static [char]) -> Opt {
        self.also = also;
        self
    }

    /// With a default, written as a user would.
    pub const fn default(mut self, value: &'static str) -> Opt {
        self.default = Some(value);
        self
    }

    /// May be given several times.
    pub const fn repeats(mut self) -> Opt {
        self.repeats = true;
        self
    }

    /// May be given as a dash and the number.
    pub const fn digits(mut self) -> Opt {
        self.digits = true;
        self
    }

    /// Under a heading of the help.
    pub const fn group(mut self, group: &'static str) -> Opt {
        self.group = group;
        self
    }
}

/// One positional argument.
#[derive(Debug, Clone, Copy)]
pub struct Operand {
    /// Its name in capitals, also its identity. One that ends in `...` may be given any number of times.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Whether it must be given; the command asks for it with [`Args::required`] once it knows that it needs it.
    pub required: bool,
    /// Words it must be one of; empty for any value (a path).
    pub of: &'static [&'static str],
}

impl Operand {
    /// Whether it may be given any number of times.
    pub fn many(&self) -> bool {
        self.name.ends_with("...")
    }
}

/// Whose habits a command follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manners {
    /// Ours: wrong usage exits with 2, an option given twice is refused unless it repeats.
    Packline,
    /// Those of squashfs-tools-ng (GNU getopt): wrong usage exits with 1, long names may be shortened, the last of several
    /// wins, a value may begin with a dash. The command is also found by the name the binary is called by.
    DropIn,
    /// As [`Manners::DropIn`], but wrong usage exits with 2, as that of diff(1), where 1 says that something differs, and lrzip(1).
    DropInDiff,
}

impl Manners {
    /// Whether the command stands in for another program.
    pub fn is_drop_in(self) -> bool {
        self != Manners::Packline
    }
}

/// One command, as a table.
#[derive(Debug, Clone, Copy)]
pub struct Applet {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// What the help says after the options: formats, examples.
    pub details: fn() -> String,
    /// Its options, in the order of the help; tables shared between commands come as parts.
    pub options: &'static [&'static [Opt]],
    /// Its positional arguments, in order.
    pub operands: &'static [Operand],
    /// Whose habits it follows.
    pub manners: Manners,
    /// Does the work.
    pub run: fn(&Args, &mut Io) -> Result<(), Failure>,
}

impl Applet {
    /// All options, parts joined.
    pub fn all_options(&self) -> impl Iterator<Item = &'static Opt> {
        self.options.iter().flat_map(|part| part.iter())
    }

    /// Exit status of wrong usage.
    pub fn usage_status(&self) -> u8 {
        match self.manners {
            Manners::Packline | Manners::DropInDiff => 2,
            Manners::DropIn => 1,
        }
    }
}
