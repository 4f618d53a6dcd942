//! Messages about wrong usage: errors of clap in packline's words, and unknown commands.

use std::ffi::OsStr;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use packline_runtime::escape;
use strsim::levenshtein;

use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

/// Options of other programs, and the packline option that does the same.
const ELSEWHERE: [(&[&str], &str); 7] = [
    (&["--compression", "--comp", "--compressor", "--algo"], "--codec"),
    (&["--level", "-l", "--compression-level", "--fast", "--best", "--ultra"], "--codec NAME:level=N"),
    (&["--threads", "--processors", "--num-jobs", "--cores", "-T", "-p"], "--jobs"),
    (&["--memory", "--mem-limit", "--maxram"], "--mem"),
    (&["-c", "--to-stdout"], "--stdout"),
    (&["-e", "-E", "--ignore", "--exclude-dir"], "--exclude"),
    (&["-s", "--sort"], "--order"),
];

/// Options of mksquashfs, and what `pack` has for them under another name.
const OF_MKSQUASHFS: [(&[&str], &str); 15] = [
    (&["noappend"], "--force"),
    (&["comp"], "--codec"),
    (&["processors"], "--jobs"),
    (&["Xcompression-level", "Xpreset"], "--codec NAME:level=N"),
    (&["Xbcj"], "--codec xz:FILTER"),
    (&["Xdict-size"], "--codec xz:dict-size=SIZE"),
    (&["mkfs-time", "fstime"], "--time"),
    (&["inode-time", "all-time"], "--mtime"),
    (&["e"], "--exclude"),
    (&["ef"], "--exclude-from"),
    (&["sort"], "--order"),
    (&["p", "pf"], "--manifest"),
    (&["force-uid"], "--uid"),
    (&["force-gid"], "--gid"),
    (&["cpiostyle"], "--files-from"),
];

/// Returns the hint for an option of mksquashfs, given without its hyphens, which `pack` has under another name.
pub fn hint_for_mksquashfs(name: &str) -> Option<String> {
    if name == "wildcards" {
        return Some("patterns of pack always have wildcards; ".to_string());
    }
    let (_, ours) = OF_MKSQUASHFS.into_iter().find(|(names, _)| names.contains(&name))?;
    Some(format!("did you mean '{ours}'? "))
}

/// Options of other programs and commands that these commands do not have, and how to go on.
const NOT_HERE: [(&[&str], &[&str], &str); 7] = [
    (&["packline pack"], &["-o", "-O", "--output", "--out"], "the image is the last argument"),
    (
        &["packline pack"],
        &["-T"],
        "--time sets the time of the image, --mtime the time of all entries, --jobs the number of workers",
    ),
    (
        &["packline pack"],
        &["-E"],
        "--kernel chooses features, as -E of mkfs.erofs; --exclude leaves out entries, as -E of tar2sqfs",
    ),
    (
        &["packline pack"],
        &["--encrypt", "--recipient", "--passphrase", "--password", "--identity"],
        "images are not encrypted; 'packline compress --recipient KEY' encrypts a file",
    ),
    (
        &["packline unpack", "packline mount", "packline diff"],
        &["--identity", "--passphrase-file"],
        "decrypt the file first: 'packline decompress --identity KEY -o IMAGE FILE'",
    ),
    (
        &["packline unpack"],
        &["-d", "-C", "-o", "--output", "--directory", "--dest"],
        "the directory is the second argument",
    ),
    (&["packline list"], &["-a", "-R", "-r", "--recursive"], "all entries are listed"),
];

/// How a command was called, for messages about it.
pub struct Called<'c> {
    /// The program's name, which begins each message.
    pub by: &'c str,
    /// The words that a user types to run the command.
    pub name: String,
    /// Long names of the command's options.
    pub longs: Vec<String>,
    /// Whether long options have one hyphen, as in squashfs-tools.
    pub one_hyphen: bool,
}

impl Called<'_> {
    /// Returns the text of clap, with options as the user types them.
    pub fn rendered(&self, error: &clap::Error) -> String {
        let text = error.render().to_string();
        self.as_typed(text.trim_start_matches("error: "))
    }

    /// Returns the help or the version that clap renders as an error, with one line feed at its end.
    pub fn help(&self, error: &clap::Error) -> String {
        format!("{}\n", self.rendered(error).trim_end())
    }

    /// Returns the message for an error of the command line.
    pub fn message(&self, error: &clap::Error) -> String {
        match self.short(error) {
            Some(text) => self.as_typed(&text),
            None => self.rendered(error).trim_end().to_string(),
        }
    }

    fn as_typed(&self, text: &str) -> String {
        if self.one_hyphen { text.replace("--", "-") } else { text.to_string() }
    }

    /// Returns packline's message for an error of clap, if it is shorter, or is the message that commands print for the same error.
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
                Some(format!("unknown option '{first}' ({}{help})", self.hint_for_unknown(first, near)))
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
                // If -c is the codec, a user who types it alone means --stdout, as in zstd(1) and gzip(1).
                let stdout = bare(first) == "--codec" && self.has_option("stdout");
                let problem = if !value.is_empty() {
                    format!("unknown value '{value}'{known}")
                } else if stdout {
                    "a value is missing (--stdout writes to standard output)".to_string()
                } else {
                    format!("a value is missing{known}")
                };
                Some(format!("{}: {problem}", bare(first)))
            }
            _ => None,
        }
    }

    /// Returns the hint for an unknown option, or an empty text; `near` is a similar option.
    fn hint_for_unknown(&self, typed: &str, near: Option<String>) -> String {
        if let Some((_, _, reason)) =
            NOT_HERE.iter().find(|row| row.0.contains(&self.name.as_str()) && row.1.contains(&typed))
        {
            return format!("{reason}; ");
        }
        let of_mksquashfs = hint_for_mksquashfs(typed.trim_start_matches('-'));
        if let Some(hint) = of_mksquashfs.filter(|_| self.name == "packline pack") {
            return hint;
        }
        let near = self.elsewhere(typed).map(str::to_string).or(near);
        near.map_or(String::new(), |near| format!("did you mean '{near}'? "))
    }

    /// Returns the option of this command that does the same as an option of another program.
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

/// Commands of other programs, and what packline has for them.
const ELSEWHERE_COMMANDS: [(&[&str], &str); 4] = [
    (&["encrypt", "age", "gpg"], "'packline compress --recipient KEY' encrypts"),
    (&["decrypt"], "'packline decompress --identity FILE' decrypts"),
    (&["zip", "gzip", "zstd", "archive"], "'packline pack' packs a directory, 'packline compress' compresses a file"),
    (&["du", "size", "tree"], "'packline list -l' prints sizes, 'packline info' the totals"),
];

/// The most names that a message suggests.
const SUGGESTED: usize = 3;

/// Returns the error for an unknown command, with the nearest of the `known` names.
pub fn unknown_command(name: &OsStr, known: &[&str]) -> Failure {
    let text = name.to_string_lossy();
    let begins = |known: &str| text.len() >= 3 && known.starts_with(&*text);
    let mut near: Vec<&str> = known.iter().copied().filter(|known| is_near(&text, known) || begins(known)).collect();
    near.sort_by_key(|known| levenshtein(&text, known));
    let near: Vec<String> = near.iter().take(SUGGESTED).map(|near| format!("'{near}'")).collect();
    let elsewhere = ELSEWHERE_COMMANDS.into_iter().find(|(names, _)| names.contains(&&*text));
    let hint = match (elsewhere, near.is_empty()) {
        (Some((_, ours)), _) => format!("{ours}; "),
        (None, false) => format!("did you mean {}? ", near.join(" or ")),
        (None, true) => String::new(),
    };
    Failure::usage(format!("unknown command '{}' ({hint}'packline help' lists the commands)", name.escaped()))
}

/// Returns whether one name is likely to be a misspelling of the other.
fn is_near(name: &str, known: &str) -> bool {
    levenshtein(name, known) <= name.len().min(known.len()).div_ceil(3)
}

/// Returns the message for an unknown compressor in the words of squashfs-tools: the tests of snapd expect further lines.
fn unknown_compressor(by: &str, name: &str, known: &[String]) -> String {
    let list = known.join("\n\t").replacen('\n', " (default)\n", 1);
    format!("Compressor \"{name}\" is not supported!\n{by}: Compressors available:\n\t{list}")
}

/// Returns the error without suggestions of options that are not near. Each argument is escaped to one line, because arguments may
/// contain line feeds.
pub fn escaped(mut error: clap::Error) -> clap::Error {
    let is_far = match (error.get(ContextKind::InvalidArg), error.get(ContextKind::SuggestedArg)) {
        (Some(ContextValue::String(typed)), Some(ContextValue::String(near))) => !is_near(typed, near),
        _ => false,
    };
    if is_far {
        error.remove(ContextKind::SuggestedArg);
        // The error contains the suggestion too.
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
