//! Prints parts of the help, as the programs of squashfs-tools do, and the default memory limit.

use std::ffi::OsString;

use clap::Arg;

use super::{mksquashfs, posix_regex};
use crate::args::Entry;
use crate::args::parser::{help_columns, parser_of};
use crate::host::Host;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

const ALL_SECTIONS: &str = "list";
const MISCELLANEOUS: &str = "Options";

/// Returns the text that a help option among the arguments requests, if there is one; then the command does nothing else. `arguments`
/// have two hyphens, and each value is joined to its option.
///
/// # Errors
/// [`Failure::Usage`] for an expression that is malformed or matches nothing, and for an unknown compressor.
pub fn requested_help(entry: &Entry, arguments: &[OsString], host: &Host) -> Result<Option<String>, Failure> {
    let mut compressor = "gzip";
    for word in arguments.iter().filter_map(|word| word.to_str()?.strip_prefix("--")) {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        return match name {
            "" => break,
            "help-option" | "ho" => options_matching(entry, value, help_columns(arguments, host)).map(Some),
            "help-section" | "hs" => sections_matching(entry, value, help_columns(arguments, host)).map(Some),
            "mem-default" => Ok(Some(format!("{}\n", host.resources().memory.unwrap_or(0) >> 20))),
            "Xhelp" => mksquashfs::compressor_help(compressor).map(Some).map_err(Failure::usage),
            _ => {
                compressor = if name == "comp" { value } else { compressor };
                continue;
            }
        };
    }
    Ok(None)
}

fn options_matching(entry: &Entry, expression: &str, columns: usize) -> Result<String, Failure> {
    let regex = compile("help-option", expression)?;
    let of = |argument: &Arg| {
        let longs = argument.get_long().into_iter().chain(argument.get_all_aliases().unwrap_or_default());
        let value = argument.get_value_names().filter(|_| argument.get_action().takes_values());
        let value = value.map_or(String::new(), |names| format!(" <{}>", names.join("> <")));
        longs.map(|long| format!("-{long}{value}")).any(|text| regex.is_match(text.as_bytes()))
    };
    help_of(entry, of, columns).ok_or_else(|| {
        Failure::usage(format!(
            "-help-option '{}' matches no option; -help lists all options",
            expression.as_bytes().escaped()
        ))
    })
}

fn sections_matching(entry: &Entry, expression: &str, columns: usize) -> Result<String, Failure> {
    let parser = parser_of(entry);
    let mut sections: Vec<String> =
        parser.get_arguments().filter(|argument| !argument.is_positional()).map(section).collect();
    sections.sort_unstable();
    sections.dedup();
    if expression == ALL_SECTIONS {
        return Ok(format!("{}\n", sections.join("\n")));
    }
    let regex = compile("help-section", expression)?;
    let of = |argument: &Arg| regex.is_match(section(argument).as_bytes());
    help_of(entry, of, columns).ok_or_else(|| {
        let expected = format!("expected one of: {}", sections.join(", "));
        Failure::usage(format!("-help-section '{}' matches no section ({expected})", expression.as_bytes().escaped()))
    })
}

/// Returns the section of an option, given as typed.
fn section(argument: &Arg) -> String {
    argument.get_help_heading().unwrap_or(MISCELLANEOUS).to_lowercase()
}

fn compile(option: &str, expression: &str) -> Result<regex::bytes::Regex, Failure> {
    posix_regex::compile(expression.as_bytes())
        .map_err(|fault| Failure::usage(format!("-{option}: '{}': {fault}", expression.as_bytes().escaped())))
}

/// Returns the help of some options with the headings of their sections; `None` if there are none. Options that only `-help-advanced`
/// lists are included.
fn help_of(entry: &Entry, chosen: impl Fn(&Arg) -> bool, columns: usize) -> Option<String> {
    let mut found = false;
    let parser = parser_of(entry).mut_args(|argument| {
        let shown = !argument.is_positional() && chosen(&argument);
        found |= shown;
        argument.hide(!shown).hide_short_help(!shown)
    });
    let help = parser.term_width(columns).help_template("{all-args}").render_help().to_string();
    found.then(|| format!("{}\n", help.trim_end().replace("--", "-")))
}
