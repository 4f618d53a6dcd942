//! From the table to clap: the parser, and with it the help, the manual page and the completions.

use clap::builder::{OsStringValueParser, PossibleValuesParser};
use clap::{Arg, ArgAction, Command, ValueHint};

use crate::args::parser::with_help_and_version;
use crate::table::options::{Applet, Manners, Operand, Opt, Takes};
use crate::ui::size::show_size;

/// The clap command of one applet.
pub fn command_of(applet: &'static Applet) -> Command {
    let drop_in = applet.manners.is_drop_in();
    let options = applet.all_options().map(|option| argument_of(option, drop_in));
    let command = Command::new(applet.name)
        .about(applet.about)
        .version(env!("CARGO_PKG_VERSION"))
        .override_usage(usage_of(applet))
        .after_help((applet.details)())
        .infer_long_args(drop_in)
        .args_override_self(drop_in)
        .args(options)
        .args(applet.operands.iter().map(operand_of));
    with_help_and_version(command)
}

/// How a command is called. A required operand is asked for by the command itself, after it has answered what needs none
/// (`-c CODEC:help`), so clap does not know that it is required.
fn usage_of(applet: &Applet) -> String {
    let options = applet.all_options().next().map_or("", |_| " [OPTIONS]");
    let operand = |operand: &Operand| match operand.required {
        true => format!(" <{}>", operand.name),
        false => format!(" [{}]", operand.name),
    };
    let operands: String = applet.operands.iter().map(operand).collect();
    format!("{}{options}{operands}", full_name(applet))
}

/// What a user types to run it.
pub fn full_name(applet: &Applet) -> String {
    match applet.manners {
        Manners::DropIn | Manners::DropInDiff => applet.name.to_string(),
        Manners::Packline => format!("packline {}", applet.name),
    }
}

fn argument_of(option: &'static Opt, drop_in: bool) -> Arg {
    let argument = Arg::new(option.long).long(option.long).help(help_of(option));
    let argument = match option.short {
        Some(short) => argument.short(short),
        None => argument,
    };
    let argument =
        argument.help_heading(option.group).visible_short_aliases(option.also.iter().copied()).aliases(option.alias);
    match option.takes {
        Takes::Nothing if option.repeats => argument.action(ArgAction::Count),
        Takes::Nothing => argument.action(ArgAction::SetTrue),
        Takes::Attached => valued(argument, option),
        _ => valued(argument, option).allow_hyphen_values(drop_in),
    }
}

fn valued(argument: Arg, option: &'static Opt) -> Arg {
    let action = if option.repeats { ArgAction::Append } else { ArgAction::Set };
    let argument = argument.action(action).value_name(option.value);
    let argument = match option.default {
        Some(value) => argument.default_value(value).hide_default_value(true),
        None => argument,
    };
    match option.takes {
        Takes::Choice(words) => argument.value_parser(PossibleValuesParser::new(words)).hide_possible_values(true),
        Takes::Attached => {
            let argument = argument.num_args(0..=1).require_equals(true).default_missing_value("");
            argument.value_parser(OsStringValueParser::new())
        }
        Takes::Path => argument.value_parser(OsStringValueParser::new()).value_hint(ValueHint::AnyPath),
        _ => argument.value_parser(OsStringValueParser::new()),
    }
}

fn operand_of(operand: &'static Operand) -> Arg {
    let name = operand.name.trim_end_matches("...");
    let argument = Arg::new(operand.name).value_name(name).help(operand.help);
    let argument = if operand.many() { argument.num_args(0..).action(ArgAction::Append) } else { argument };
    if operand.of.is_empty() {
        argument.value_parser(OsStringValueParser::new()).value_hint(ValueHint::AnyPath)
    } else {
        argument.value_parser(PossibleValuesParser::new(operand.of))
    }
}

/// The help text, with the range and the default that the table states.
fn help_of(option: &Opt) -> String {
    let mut help = option.help.to_string();
    if option.digits {
        help.insert_str(0, "Also -1, -2 and so on. ");
    }
    let range = match option.takes {
        Takes::Size { least: 0, most: u64::MAX } | Takes::Number { least: i64::MIN, most: i64::MAX } => None,
        Takes::Size { least, most: u64::MAX } => Some(format!("at least {}", show_size(least))),
        Takes::Size { least, most } => Some(format!("{} to {}", show_size(least), show_size(most))),
        Takes::Number { least, most: 0xffff_ffff } => Some(format!("{least} to 2^32-1")),
        Takes::Number { least, most } => Some(format!("{least} to {most}")),
        Takes::Choice(words) => Some(words.join(", ")),
        Takes::Nothing | Takes::Text | Takes::Attached | Takes::Path => None,
    };
    if let Some(range) = range {
        help.push_str(&format!(" [{range}]"));
    }
    if let Some(default) = option.default {
        help.push_str(&format!(" [default: {default}]"));
    }
    help
}
