//! Builds the clap parser of a derived command, the source of help, manual page and completions.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

use super::help::{GENERAL, brief, full};
use super::value::{number, one_of, range_of};
use super::{Compat, Entry, LOG};
use crate::host::Host;
use crate::ui::exit_status;
use crate::ui::logging::LEVELS;
use crate::ui::wrap::wrap;

/// Returns the parser of a command, with ranges and defaults for the manual page and completions.
pub fn parser_of(entry: &Entry) -> Command {
    bare_parser_of(entry).mut_args(with_range_and_default)
}

/// Like [`parser_of`], with everything that the help shows, for a terminal with `columns` columns.
pub fn help_parser_of(entry: &Entry, columns: usize) -> Command {
    if !entry.compat.is_drop_in() {
        // clap shows the one for -h and the other for --help.
        let command = parser_of(entry).help_template("{before-help}").term_width(0);
        return command.before_help(brief(entry, columns)).before_long_help(full(entry, columns));
    }
    let mut parts = vec![(entry.details)()];
    if !entry.examples.is_empty() {
        parts.push(format!("Examples:\n  {}", entry.examples.join("\n  ")));
    }
    parts.push(exit_status::text(entry.compat));
    parts.retain(|part| !part.is_empty());
    parser_of(entry).term_width(columns).after_help(wrap(&parts.join("\n\n"), columns))
}

/// Like [`parser_of`], without the parts that only the help shows. This makes the start of every command a fifth faster.
pub fn bare_parser_of(entry: &Entry) -> Command {
    let drop_in = entry.compat.is_drop_in();
    let command = (entry.augment)(Command::new(entry.name))
        .bin_name(full_name(entry))
        .version(version_of(entry.compat))
        .infer_long_args(drop_in && entry.compat != Compat::SquashfsTools)
        .args_override_self(true)
        .visible_aliases(entry.aliases.iter().copied());
    if !drop_in {
        return with_general_options(command);
    }
    let command = with_help_and_version(command.mut_args(with_hyphens));
    match entry.compat {
        Compat::SquashfsTools => {
            let command = command.mut_arg("version", |version| version.visible_alias("v").help_heading("Help"));
            let command = command.mut_arg("help", |help| help.visible_aliases(["help-all", "ha"]).help_heading("Help"));
            let command = command.mut_args(|argument| {
                if argument.get_id() == "help-advanced" { argument.help_heading("Help") } else { argument }
            });
            let compresses = command.get_arguments().any(|argument| argument.get_id() == "comp");
            let command = command.next_help_heading("Help");
            command.args(help_arguments()).args(compresses.then(codec_help_argument))
        }
        _ => command,
    }
}

/// Returns the text of `--version` after the name. Callers of squashfs-tools, squashfuse and erofs-utils compare the version, so it is the
/// version whose options packline has.
fn version_of(compat: Compat) -> &'static str {
    match compat {
        Compat::SquashfsTools => concat!("version 4.7.5 (packline ", env!("CARGO_PKG_VERSION"), ")"),
        Compat::ErofsUtils => concat!(
            "(erofs-utils) 1.9.3 (packline ",
            env!("CARGO_PKG_VERSION"),
            ")\navailable compressors: lz4, lz4hc, lzma, deflate, libdeflate, zstd"
        ),
        Compat::DumpErofs => concat!("(erofs-utils) 1.9.3 (packline ", env!("CARGO_PKG_VERSION"), ")"),
        Compat::Squashfuse => concat!("0.6.1 (packline ", env!("CARGO_PKG_VERSION"), ")"),
        _ => env!("CARGO_PKG_VERSION"),
    }
}

/// Returns the words that a user types to run the command.
pub fn full_name(entry: &Entry) -> String {
    match entry.compat {
        Compat::Packline => format!("packline {}", entry.name),
        _ => entry.name.to_string(),
    }
}

/// Adds the options that every command of packline's own has.
pub fn with_general_options(command: Command) -> Command {
    let help = Arg::new("help").long("help").short_alias('?').action(ArgAction::Help);
    // `list` uses -h for something else.
    let is_free = command.get_arguments().all(|argument| argument.get_short() != Some('h'));
    let help = if is_free { help.short('h') } else { help };
    let help = help.help("Print help: -h for the most used options only");
    let command = command.disable_help_flag(true).disable_version_flag(true).next_help_heading(GENERAL);
    command.arg(help).arg(version_option()).arg(log_option())
}

fn version_option() -> Arg {
    Arg::new("version").long("version").short('V').action(ArgAction::Version).help("Print the version and exit")
}

/// Adds `--help` and `--version` to a drop-in, and `--help-advanced` if some options are hidden from `--help`.
fn with_help_and_version(command: Command) -> Command {
    let advanced = command.get_arguments().any(Arg::is_hide_short_help_set);
    let help = Arg::new("help").long("help").short_alias('?').action(ArgAction::HelpShort);
    let is_free = command.get_arguments().all(|argument| argument.get_short() != Some('h'));
    let help = if is_free { help.short('h') } else { help };
    // Otherwise these options would be under the heading of the last group.
    let command = command.disable_help_flag(true).disable_version_flag(true).next_help_heading(None::<&'static str>);
    let command = command.arg(help.help("Print this help and exit")).arg(version_option());
    if !advanced {
        return command;
    }
    let advanced = Arg::new("help-advanced").long("help-advanced").action(ArgAction::HelpLong);
    command.arg(advanced.help("Print this help with the options for tuning and testing, and exit"))
}

/// `--log`, which every command of our own has, and the program before the name of a command.
fn log_option() -> Arg {
    let help = "Log decisions to standard error: error, warn, info, debug or trace [default: PACKLINE_LOG]";
    Arg::new(LOG).long("log").value_name("LEVEL").value_parser(one_of(LEVELS)).hide_possible_values(true).help(help)
}

/// Lets the value of a drop-in's option begin with a hyphen, as getopt does.
fn with_hyphens(argument: Arg) -> Arg {
    let option = argument.get_action().takes_values() && !argument.is_positional();
    if option && !argument.is_require_equals_set() { argument.allow_hyphen_values(true) } else { argument }
}

/// Appends range and default to the help of an argument, in that order.
fn with_range_and_default(argument: Arg) -> Arg {
    let help = help_of(&argument);
    if !argument.get_action().takes_values() {
        return argument.help(help);
    }
    let option = !argument.is_positional();
    // A negative number is then an error that names the option and its range.
    argument.help(help).hide_possible_values(true).hide_default_value(true).allow_negative_numbers(option)
}

fn help_of(argument: &Arg) -> String {
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let (help, written) = match help.split_once(" [default: ") {
        Some((help, rest)) => (help.to_string(), Some(rest.trim_end_matches(']').to_string())),
        None => (help, None),
    };
    let default = argument.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
    let takes_value = argument.get_action().takes_values();
    let default = default.filter(|_| takes_value).or(written).map(|value| format!(" [default: {value}]"));
    let range = range_of(argument).map(|range| format!(" [{range}]"));
    [Some(help), range, default].into_iter().flatten().collect()
}

/// Replaces each `-NUMBER` by `--LONG=NUMBER`, if the command has such an option: `-kf9` becomes `--LONG=9 -kf`. Words after `--` are
/// files.
pub fn without_digits(digits: Option<&str>, parser: &Command, words: &[OsString]) -> Vec<OsString> {
    let Some(long) = digits else { return words.to_vec() };
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let mut plain = Vec::new();
    for word in &words[..end] {
        match word.to_str().and_then(|text| text.strip_prefix('-')).filter(|cluster| !cluster.starts_with('-')) {
            Some(cluster) => plain.extend(split_cluster(long, parser, cluster).into_iter().map(OsString::from)),
            None => plain.push(word.clone()),
        }
    }
    plain.extend_from_slice(&words[end..]);
    plain
}

/// Returns the numbers in a cluster of short options, then its letters, because the value of the last letter may be in the next word.
fn split_cluster(long: &str, parser: &Command, cluster: &str) -> Vec<String> {
    let mut levels = Vec::new();
    let mut letters = String::from("-");
    let mut rest = cluster;
    while let Some(letter) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        if digits > 0 {
            levels.push(format!("--{long}={}", &rest[..digits]));
            rest = &rest[digits..];
        } else if takes_value(parser, letter) {
            letters.push_str(std::mem::take(&mut rest));
        } else {
            letters.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    let only_levels = letters == "-" && !levels.is_empty();
    levels.extend((!only_levels).then_some(letters));
    levels
}

fn takes_value(parser: &Command, letter: char) -> bool {
    let called_so = |argument: &&Arg| {
        argument.get_short() == Some(letter)
            || argument.get_all_short_aliases().is_some_and(|aliases| aliases.contains(&letter))
    };
    parser.get_arguments().find(called_so).is_some_and(|argument| argument.get_action().takes_values())
}

/// Returns the options of all programs of squashfs-tools: parts of the help, and the default memory limit.
pub fn help_arguments() -> [Arg; 5] {
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let option = |name: &'static str, value: &'static str| Arg::new(name).long(name).value_name(value);
    [
        option("help-option", "REGEX")
            .visible_alias("ho")
            .help("Print the help of the options whose names match a POSIX extended regular expression, and exit"),
        option("help-section", "REGEX")
            .visible_alias("hs")
            .help("Print the help of the sections whose names match, and exit; 'list' prints their names"),
        option("cols", "N")
            .value_parser(number::<usize>(0..=i64::from(i32::MAX)))
            .help("Set the width of the help in columns, at least 80 [default: width of the terminal]"),
        flag("no-pager").help("Accepted without effect: there is no pager"),
        flag("mem-default").help("Print the default of -mem in MiB and exit; 0 means no limit"),
    ]
}

/// Returns `-Xhelp`, for a parser with compressors.
pub fn codec_help_argument() -> Arg {
    Arg::new("Xhelp").long("Xhelp").action(ArgAction::SetTrue).help("Print the options of the compressor and exit")
}

/// Returns the width of the help: the width of the terminal, unless `-cols` is given.
pub fn help_columns(arguments: &[OsString], host: &Host) -> usize {
    let given = arguments.iter().rev().find_map(|word| word.to_str()?.strip_prefix("--cols=")?.parse::<usize>().ok());
    given.map_or(host.columns, |columns| columns.max(80))
}
