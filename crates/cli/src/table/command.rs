//! From the table to clap: the parser, and with it the help, the manual page and the completions.

use std::ffi::OsString;

use clap::builder::{OsStringValueParser, PossibleValuesParser};
use clap::{Arg, ArgAction, Command, ValueHint};

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

/// The command of the whole binary, with every applet below it.
pub fn command_of_all(applets: &'static [Applet]) -> Command {
    let command = Command::new("packline")
        .about("Packs directories, tar files and streams into compressed images")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands(applets.iter().map(command_of));
    with_help_and_version(command)
}

/// Both spellings print the same: one help text to read, not two.
fn with_help_and_version(command: Command) -> Command {
    let help = Arg::new("help")
        .long("help")
        .short('h')
        .short_alias('?')
        .action(ArgAction::HelpLong)
        .help("Print this help and exit");
    let version =
        Arg::new("version").long("version").short('V').action(ArgAction::Version).help("Print the version and exit");
    command.disable_help_flag(true).disable_version_flag(true).arg(help).arg(version)
}

fn argument_of(option: &'static Opt, drop_in: bool) -> Arg {
    let argument = Arg::new(option.long).long(option.long).help(help_of(option));
    let argument = match option.short {
        Some(short) => argument.short(short),
        None => argument,
    };
    let argument = argument.help_heading(option.group).visible_short_aliases(option.also.iter().copied());
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

/// The arguments with each `-NUMBER` as the option that it stands for, if the command has such. Those behind `--` are files.
pub fn without_digits(applet: &Applet, arguments: &[OsString]) -> Vec<OsString> {
    let Some(option) = applet.all_options().find(|option| option.digits) else { return arguments.to_vec() };
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let mut arguments = arguments.to_vec();
    for argument in &mut arguments[..end] {
        let number = argument.to_str().and_then(|text| text.strip_prefix('-'));
        if let Some(number) = number.filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())) {
            *argument = OsString::from(format!("--{}={number}", option.long));
        }
    }
    arguments
}

/// The arguments that clap parses: the program's name first.
pub fn with_name(name: &str, arguments: &[OsString]) -> Vec<OsString> {
    std::iter::once(OsString::from(name)).chain(arguments.iter().cloned()).collect()
}
