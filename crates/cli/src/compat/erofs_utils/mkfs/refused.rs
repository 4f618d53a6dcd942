//! Options of mkfs.erofs that packline rejects, and how to go on.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::args::Invocation;
use crate::ui::failure::Failure;

/// The number of values of an option.
#[derive(Clone, Copy)]
enum Values {
    /// `--option[=VALUE]`.
    Optional,
    One,
}

/// The rejected options: name or letter, values, and how to go on.
const REFUSED: [(&str, Values, &str); 7] = [
    ("m", Values::One, "leave it out; metadata is not compressed"),
    ("gzinfo", Values::Optional, "leave it out"),
    ("oci", Values::Optional, "'packline pack oci:DIR IMAGE' packs a container image on this machine"),
    ("s3", Values::One, "copy the files to a directory first"),
    ("vmdk-desc", Values::One, "leave it out"),
    ("xattr-inode-digest", Values::Optional, "leave it out; 'packline verity' protects the content"),
    ("product-out", Values::One, "--fs-config-file takes owners and permissions from a file"),
];

/// The rejected options as arguments.
#[derive(Debug)]
pub struct Refused;

impl Args for Refused {
    fn augment_args(command: Command) -> Command {
        REFUSED.iter().fold(command, |command, (name, values, instead)| {
            let argument = Arg::new(*name).action(ArgAction::Set).hide_short_help(true);
            let argument = argument.help(format!("Not supported yet; {instead}")).value_name("VALUE");
            let argument = match name.as_bytes() {
                [letter] => argument.short(char::from(*letter)),
                _ => argument.long(*name),
            };
            command.arg(match values {
                Values::Optional => argument.num_args(0..=1).require_equals(true),
                Values::One => argument,
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Refused {
    fn from_arg_matches(_: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Refused)
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), clap::Error> {
        Ok(())
    }
}

impl Refused {
    /// Returns an error if a rejected option is given.
    pub fn refuse(&self, invocation: &Invocation) -> Result<(), Failure> {
        let given = REFUSED.iter().find(|(name, ..)| invocation.is_given(name));
        given.map_or(Ok(()), |(name, _, instead)| {
            let hyphens = if name.len() == 1 { "-" } else { "--" };
            Err(Failure::usage(format!("{hyphens}{name} is not supported yet; {instead}")))
        })
    }
}
