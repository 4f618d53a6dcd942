//! A line of a file_contexts file, and the substitutions of path prefixes in the files `.subs` and `.subs_dist` next to it.

use super::pattern::Pattern;
use packline_tree::text::{TextLine, is_blank, lines, quote};
use packline_tree::{Bytes, Error, Kind};
use regex::bytes::Regex;
use std::sync::OnceLock;

#[derive(Debug)]
pub(super) struct Spec {
    /// The line number. Later lines win.
    pub number: u64,
    /// The context; `None` for `<<none>>`.
    pub context: Option<String>,
    /// The type as the letter in the line; `None` for all types.
    letter: Option<u8>,
    /// The expression. A specification without wildcards has none, and is found by its path.
    pattern: Option<Pattern>,
    /// The compiled expression. It is compiled on first use, since a policy has thousands and an image uses few.
    compiled: OnceLock<Option<Regex>>,
}

/// The paths to which a specification applies.
#[derive(Debug)]
pub(super) enum Target {
    Literal(Bytes),
    /// All paths below one directory of the root, such as `/usr`.
    Below(Bytes),
    Anywhere,
}

impl Spec {
    /// Whether the specification matches a path, which starts with a slash.
    pub fn matches(&self, full: &[u8], kind: &Kind) -> bool {
        self.letter.is_none_or(|letter| letter == letter_of(kind)) && self.matches_path(full)
    }

    fn matches_path(&self, full: &[u8]) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        if !full.starts_with(&pattern.prefix) {
            return false;
        }
        let compiled = self.compiled.get_or_init(|| pattern.compile().ok());
        compiled.as_ref().is_some_and(|regex| regex.is_match(full))
    }
}

/// Returns the directory `/a` of a path `/a/...`.
pub(super) fn first_directory(full: &[u8]) -> Option<&[u8]> {
    let below = full.strip_prefix(b"/")?;
    memchr::memchr(b'/', below).map(|end| &full[..=end])
}

/// Parses a line that is neither empty nor a comment.
pub(super) fn parse(place: TextLine<'_>, line: &[u8], number: u64) -> Result<(Target, Spec), Error> {
    let mut fields = line.split(|&byte| is_blank(byte)).filter(|field| !field.is_empty());
    let path = text(place, fields.next().unwrap_or_default())?;
    let (letter, context) = match (fields.next(), fields.next()) {
        (Some(letter), Some(context)) => (Some(type_letter(place, letter)?), context),
        (Some(context), None) => (None, context),
        _ => return Err(place.error(format!("{} has no context", quote(line)), "pathname [type] context")),
    };
    let context = Some(text(place, context)?).filter(|&context| context != "<<none>>").map(str::to_owned);
    let (target, pattern) = aim(place, path)?;
    Ok((target, Spec { number, context, letter, pattern, compiled: OnceLock::new() }))
}

fn aim(place: TextLine<'_>, path: &str) -> Result<(Target, Option<Pattern>), Error> {
    let pattern = Pattern::translate(path).map_err(|fault| refused(place, path, fault))?;
    if pattern.is_literal {
        return Ok((Target::Literal(pattern.prefix), None));
    }
    pattern.check().map_err(|fault| refused(place, path, &fault))?;
    let target = first_directory(&pattern.prefix).map_or(Target::Anywhere, |below| Target::Below(below.to_vec()));
    Ok((target, Some(pattern)))
}

fn refused(place: TextLine<'_>, path: &str, fault: &str) -> Error {
    place.error(
        format!("pathname {}: {fault}", quote(path.as_bytes())),
        "a regular expression without back references and look-around",
    )
}

/// Returns a field as text. libselinux requires ASCII.
fn text<'a>(place: TextLine<'_>, field: &'a [u8]) -> Result<&'a str, Error> {
    let plain = std::str::from_utf8(field).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii() && byte != 0));
    plain.ok_or_else(|| place.error(format!("{} is not ASCII", quote(field)), "ASCII characters"))
}

fn type_letter(place: TextLine<'_>, field: &[u8]) -> Result<u8, Error> {
    match field {
        [b'-', letter @ (b'-' | b'b' | b'c' | b'd' | b'l' | b'p' | b's')] => Ok(*letter),
        _ => Err(place.error(format!("file type {}", quote(field)), "--, -b, -c, -d, -l, -p or -s")),
    }
}

fn letter_of(kind: &Kind) -> u8 {
    match kind {
        Kind::File { .. } | Kind::HardLink(_) => b'-',
        Kind::Dir => b'd',
        Kind::Symlink(_) => b'l',
        Kind::BlockDevice(_) => b'b',
        Kind::CharDevice(_) => b'c',
        Kind::Fifo => b'p',
        Kind::Socket => b's',
    }
}

/// The substitutions of several files. Each file is applied once, in the order in which the files were added.
#[derive(Debug, Default)]
pub(super) struct Substitutions {
    files: Vec<Vec<(Bytes, Bytes)>>,
}

impl Substitutions {
    /// Adds the lines `FROM TO` of a text. If more than one line applies to a path, the last line wins.
    pub fn add(&mut self, input: &str, text: &[u8]) -> Result<(), Error> {
        let mut pairs = Vec::new();
        for (place, line) in lines(input, text) {
            let mut fields = line.split(|&byte| is_blank(byte)).filter(|field| !field.is_empty());
            let (Some(from), Some(to)) = (fields.next(), fields.next()) else {
                return Err(place.error(format!("{} has no second path", quote(line)), "two paths"));
            };
            pairs.push((from.to_vec(), to.to_vec()));
        }
        self.files.push(pairs);
        Ok(())
    }

    /// Applies the substitutions to a path.
    pub fn apply(&self, full: Bytes) -> Bytes {
        self.files.iter().fold(full, |full, pairs| substitute(pairs, &full).unwrap_or(full))
    }
}

fn substitute(pairs: &[(Bytes, Bytes)], full: &[u8]) -> Option<Bytes> {
    pairs.iter().rev().find_map(|(from, to)| {
        let rest = full.strip_prefix(&from[..])?;
        match (rest.first(), &to[..]) {
            (None, _) => Some(to.clone()),
            (Some(b'/'), b"/") => Some(rest.to_vec()),
            (Some(b'/'), _) => Some([&to[..], rest].concat()),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(texts: &[&str], path: &str) -> String {
        let mut substitutions = Substitutions::default();
        for text in texts {
            substitutions.add("subs", text.as_bytes()).unwrap();
        }
        String::from_utf8(substitutions.apply(path.into())).unwrap()
    }

    #[test]
    fn replaces_only_complete_components() {
        let subs = "# comment\n/run /var/run\n/srv /var/srv\n/srv/x /\n";
        assert_eq!(apply(&[subs], "/run/lock"), "/var/run/lock");
        assert_eq!(apply(&[subs], "/run"), "/var/run");
        assert_eq!(apply(&[subs], "/runner"), "/runner");
        assert_eq!(apply(&[subs], "/srv/x/y"), "/y");
        assert_eq!(apply(&[], "/run"), "/run");
        assert_eq!(apply(&["/run /tmp/run", "/tmp /var/tmp\n/run /no"], "/run/x"), "/var/tmp/run/x");
    }

    #[test]
    fn rejects_lines_with_one_path() {
        let error = Substitutions::default().add("subs", b"\n/run\n").unwrap_err().to_string();
        assert_eq!(error, "subs: line 2: '/run' has no second path (expected two paths)");
    }
}
