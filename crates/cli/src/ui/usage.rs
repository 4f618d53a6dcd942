//! What a user reads after wrong usage: errors of clap in our words, and commands that do not exist.

use std::ffi::OsStr;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use packline_runtime::escape;
use strsim::levenshtein;

use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

/// Options of other programs, and what does the same here.
const ELSEWHERE: [(&[&str], &str); 5] = [
    (&["--compression", "--comp", "--compressor", "--algo"], "--codec"),
    (&["--level", "-l", "--compression-level", "--fast", "--best", "--ultra"], "--codec NAME:level=N"),
    (&["--threads", "--processors", "--num-jobs", "--cores", "-T", "-p"], "--jobs"),
    (&["--memory", "--mem-limit", "--maxram"], "--mem"),
    (&["-c", "--to-stdout"], "--stdout"),
];

/// How a command was called, and what its messages say about it.
pub struct Called<'c> {
    /// The program's name, with which each message starts.
    pub by: &'c str,
    /// What a user types to run the command.
    pub name: String,
    /// Long names of the command's options.
    pub longs: Vec<String>,
    /// Long options have one hyphen, as those of squashfs-tools.
    pub one_hyphen: bool,
}

impl Called<'_> {
    /// The text of clap, with options as the user types them.
    pub fn rendered(&self, error: &clap::Error) -> String {
        let text = error.render().to_string();
        self.as_typed(text.trim_start_matches("error: "))
    }

    /// The message for an error of the command line.
    pub fn message(&self, error: &clap::Error) -> String {
        match self.short(error) {
            Some(text) => self.as_typed(&text),
            None => self.rendered(error).trim_end().to_string(),
        }
    }

    fn as_typed(&self, text: &str) -> String {
        if self.one_hyphen { text.replace("--", "-") } else { text.to_string() }
    }

    /// Our words for an error of clap, where those are shorter, or those with which commands report the same error.
    fn short(&self, error: &clap::Error) -> Option<String> {
        let names = |kind| match error.get(kind)? {
            ContextValue::String(name) => Some(vec![name.clone()]),
            ContextValue::Strings(names) => Some(names.clone()),
            _ => None,
        };
        let wrong = names(ContextKind::InvalidArg)?;
        let first = wrong.first()?;
        let bare = |name: &String| {
            let name = name.trim_matches(['<', '>', '[', ']', '.']);
            name.split([' ', '[', '=']).next().unwrap_or_default().to_string()
        };
        let usage = || error.get(ContextKind::Usage).map_or(String::new(), |usage| format!("\n{usage}"));
        let help = format!("'{} --help' lists the options", self.name);
        match error.kind() {
            ErrorKind::MissingRequiredArgument => {
                // One argument may be several operands.
                let operands = |name: &String| name.trim_matches(['<', '>', '[', ']', '.']).replace("... ", ", ");
                let name = |name: &String| if name.starts_with("<") { operands(name) } else { bare(name) };
                let missing: Vec<String> = wrong.iter().map(name).collect();
                Some(format!("missing argument: {}{}\n{help}", missing.join(", "), usage()))
            }
            ErrorKind::ArgumentConflict => {
                let other = bare(names(ContextKind::PriorArg)?.first()?);
                (bare(first) != other).then(|| format!("{}: cannot be used with {other}", bare(first)))
            }
            ErrorKind::UnknownArgument if first.starts_with('-') => {
                let near = names(ContextKind::SuggestedArg).and_then(|near| near.into_iter().next());
                let near = near.or_else(|| self.elsewhere(first).map(str::to_string));
                let hint = near.map_or(String::new(), |near| format!("did you mean '{near}'? "));
                Some(format!("unknown option '{first}' ({hint}{help})"))
            }
            ErrorKind::UnknownArgument => Some(format!("unexpected argument '{first}'{}", usage())),
            ErrorKind::InvalidValue => {
                let value = names(ContextKind::InvalidValue)?.first()?.clone();
                let known = names(ContextKind::ValidValue).filter(|known| !known.is_empty());
                if let (Some(known), "--comp", false) = (&known, bare(first).as_str(), value.is_empty()) {
                    return Some(unknown_compressor(self.by, &value, known));
                }
                let known = known.map(|known| format!(" (expected one of {})", known.join(", ")));
                let known = known.unwrap_or_default();
                // Where -c is the codec, who typed it alone means what zstd(1) and gzip(1) call so.
                let stdout = bare(first) == "--codec" && self.has_option("stdout");
                Some(match value.is_empty() {
                    true if stdout => {
                        format!("{}: a value is missing (--stdout writes to standard output)", bare(first))
                    }
                    true => format!("{}: a value is missing{known}", bare(first)),
                    false => format!("{}: unknown value '{value}'{known}", bare(first)),
                })
            }
            _ => None,
        }
    }

    /// What an option of another program is called here, if the command has it.
    fn elsewhere(&self, typed: &str) -> Option<&'static str> {
        let is_level = typed.len() > 1 && typed[1..].bytes().all(|byte| byte.is_ascii_digit());
        let known = |names: &[&str]| names.contains(&typed) || is_level && names.contains(&"--level");
        let (_, ours) = ELSEWHERE.into_iter().find(|(names, _)| known(names))?;
        let long = ours.split(' ').next()?.trim_start_matches('-');
        self.has_option(long).then_some(ours)
    }

    fn has_option(&self, long: &str) -> bool {
        self.longs.iter().any(|known| known == long)
    }
}

/// The error for a command that does not exist: the nearest of the `known` names, or the names that are `listed`.
pub fn unknown_command(name: &OsStr, known: &[&str], listed: &[&str]) -> Failure {
    let text = name.to_string_lossy();
    let near = known.iter().filter(|known| is_near(&text, known));
    let hint = match near.min_by_key(|known| levenshtein(&text, known)) {
        Some(near) => format!("did you mean '{near}'? 'packline --help' lists the commands"),
        None => format!("commands: {}", listed.join(", ")),
    };
    Failure::usage(format!("unknown command '{}' ({hint})", name.escaped()))
}

/// Whether one name is likely to be a misspelling of the other.
fn is_near(name: &str, known: &str) -> bool {
    levenshtein(name, known) <= name.len().min(known.len()).div_ceil(3)
}

/// The message for an unknown compressor, as squashfs-tools print it: the tests of snapd expect further lines.
fn unknown_compressor(by: &str, name: &str, known: &[String]) -> String {
    let list = known.join("\n\t").replacen('\n', " (default)\n", 1);
    format!("Compressor \"{name}\" is not supported!\n{by}: Compressors available:\n\t{list}")
}

/// The error with each argument in it escaped to one line, because arguments may hold line feeds, and without suggestions of options that
/// are not near.
pub fn escaped(mut error: clap::Error) -> clap::Error {
    let is_far = match (error.get(ContextKind::InvalidArg), error.get(ContextKind::SuggestedArg)) {
        (Some(ContextValue::String(typed)), Some(ContextValue::String(near))) => !is_near(typed, near),
        _ => false,
    };
    if is_far {
        error.remove(ContextKind::SuggestedArg);
        // It names the suggestion too.
        error.remove(ContextKind::Usage);
    }
    let context: Vec<_> = error.context().map(|(kind, value)| (kind, value.clone())).collect();
    let line = |text: String| escape::line(&text).into_owned();
    for (kind, value) in context {
        let value = match value {
            ContextValue::String(text) => ContextValue::String(line(text)),
            ContextValue::Strings(texts) => ContextValue::Strings(texts.into_iter().map(line).collect()),
            ContextValue::StyledStrs(texts) => {
                let tips = texts.into_iter().map(|text| line(text.to_string()).into());
                ContextValue::StyledStrs(tips.collect())
            }
            _ => continue,
        };
        error.insert(kind, value);
    }
    error
}
