//! Options of mksquashfs without effect here, and options that are rejected.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::args::Invocation;
use crate::args::value::{Value, number, text};
use crate::ui::failure::Failure;

/// The options without effect, and the reasons.
const IDLE: [(&str, Option<Kind>, &str); 14] = [
    ("throttle", Some(Kind::Number(0, 99)), READING),
    ("limit", Some(Kind::Number(1, 100)), READING),
    ("single-reader", None, READING),
    ("small-readers", Some(Kind::Number(1, i32::MAX)), READING),
    ("block-readers", Some(Kind::Number(1, i32::MAX)), READING),
    ("overcommit", Some(Kind::Number(0, 100)), "Accepted without effect: as many threads run as -processors allows"),
    ("read-queue", Some(Kind::Number(1, i32::MAX)), QUEUES),
    ("write-queue", Some(Kind::Number(2, i32::MAX)), QUEUES),
    ("fragment-queue", Some(Kind::Number(1, i32::MAX)), QUEUES),
    ("reproducible", None, "Accepted without effect: an image depends only on its input and options"),
    ("not-reproducible", None, "Accepted without effect: an image depends only on its input and options"),
    ("no-recovery", None, RECOVERY),
    ("recovery-path", Some(Kind::Text), RECOVERY),
    ("numeric-owner", None, "Accepted without effect: names of users and groups in a tar are ignored"),
];
const READING: &str = "Accepted without effect: files are read ahead by a few threads, within the memory allowed";
const QUEUES: &str = "Accepted without effect: -mem bounds all queues together";
const RECOVERY: &str = "Accepted without effect: appending never changes an image in place";

#[derive(Clone, Copy)]
enum Kind {
    Number(i32, i32),
    Text,
}

/// The rejected options: their names, the number of their values, and an alternative.
const REFUSED: [(&[&str], usize, &str); 1] = [(
    &["recover"],
    1,
    "the mksquashfs that wrote the recovery file; this one keeps an image unchanged until the new one is complete",
)];

/// The options of both lists that sqfstar has too.
const OF_SQFSTAR: [&str; 6] = ["throttle", "limit", "overcommit", "reproducible", "not-reproducible", "numeric-owner"];

/// Both lists as arguments, or the part that sqfstar has.
#[derive(Debug)]
pub struct Idle<const SQFSTAR: bool>;

impl<const SQFSTAR: bool> Args for Idle<SQFSTAR> {
    fn augment_args(command: Command) -> Command {
        let has = |name: &str| !SQFSTAR || OF_SQFSTAR.contains(&name);
        let command = IDLE.iter().filter(|(name, ..)| has(name)).fold(command, |command, (name, kind, help)| {
            let argument = Arg::new(*name).long(*name).help(*help).hide_short_help(true);
            command.arg(match kind {
                None => argument.action(ArgAction::SetTrue),
                Some(kind) => argument.value_parser(kind.parser()),
            })
        });
        REFUSED.iter().filter(|(names, ..)| has(names[0])).fold(command, |command, (names, values, instead)| {
            let argument = Arg::new(names[0]).long(names[0]).aliases(&names[1..]).hide_short_help(true);
            let argument = argument.help(format!("Not supported yet; use {instead}"));
            command.arg(if *values == 0 { argument.action(ArgAction::SetTrue) } else { argument })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const SQFSTAR: bool> FromArgMatches for Idle<SQFSTAR> {
    fn from_arg_matches(_: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Idle)
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), clap::Error> {
        Ok(())
    }
}

impl<const SQFSTAR: bool> Idle<SQFSTAR> {
    /// Returns an error if a rejected option is given.
    pub fn refuse(&self, invocation: &Invocation) -> Result<(), Failure> {
        match REFUSED.iter().find(|(names, ..)| invocation.has(names[0])) {
            Some((names, _, instead)) => {
                Err(Failure::usage(format!("-{} is not supported yet; use {instead}", names[0])))
            }
            None => Ok(()),
        }
    }
}

impl Kind {
    fn parser(self) -> Value<()> {
        match self {
            Kind::Number(least, most) => number::<i64>(least.into()..=most.into()).and_then(|_| Ok(())),
            Kind::Text => text(|_| Ok::<_, String>(())),
        }
    }
}
