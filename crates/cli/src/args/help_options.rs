//! Options of all programs of squashfs-tools: parts of the help, and the default memory limit.

use std::ffi::OsString;

use clap::{Arg, ArgAction};

use super::value::number;
use crate::host::Host;

pub fn arguments() -> [Arg; 5] {
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
pub fn codec_argument() -> Arg {
    Arg::new("Xhelp").long("Xhelp").action(ArgAction::SetTrue).help("Print the options of the compressor and exit")
}

/// Returns the width of the help: the width of the terminal, unless `-cols` is given.
pub fn columns(arguments: &[OsString], host: &Host) -> usize {
    let given = arguments.iter().rev().find_map(|word| word.to_str()?.strip_prefix("--cols=")?.parse::<usize>().ok());
    given.map_or(host.columns, |columns| columns.max(80))
}
