//! Reads text inputs line by line: line numbers for errors, and canonical paths.

use packline_runtime::escape;

use crate::path::canonical;
use crate::{Bytes, Error};

/// A line of a text input, for errors.
#[derive(Debug, Clone, Copy)]
pub struct TextLine<'a> {
    /// The input's name as given by the user.
    pub input: &'a str,
    /// Line number, from 1.
    pub line: u64,
}

impl TextLine<'_> {
    pub fn error(&self, what: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::Line { input: self.input.to_owned(), line: self.line, what: what.into(), expected: expected.into() }
    }

    /// The canonical form of a path in the image, or an error that quotes it.
    pub fn canonical(&self, path: &[u8]) -> Result<Bytes, Error> {
        canonical(path).map_err(|fault| {
            let what = format!("{} is not a path in an image: {fault}", quote(path));
            self.error(what, fault.expected())
        })
    }
}

/// The lines of a text, without line ends (`\n` or `\r\n`) and leading blanks. Skips comments and empty lines.
pub fn lines<'a>(input: &'a str, text: &'a [u8]) -> impl Iterator<Item = (TextLine<'a>, &'a [u8])> {
    numbered(input, text).filter(|(_, line)| !line.is_empty() && line[0] != b'#')
}

/// Like [`lines`], but includes comments.
pub fn numbered<'a>(input: &'a str, text: &'a [u8]) -> impl Iterator<Item = (TextLine<'a>, &'a [u8])> {
    let numbers = 1u64..;
    text.split(|&byte| byte == b'\n').zip(numbers).map(move |(line, number)| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        (TextLine { input, line: number }, trim_start(line))
    })
}

/// Whether C's `isspace` accepts the byte.
pub fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// Removes leading blanks.
pub fn trim_start(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&byte| !is_blank(byte)).unwrap_or(text.len());
    &text[start..]
}

/// Removes trailing blanks.
pub fn trim_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| !is_blank(byte)).map_or(0, |last| last + 1);
    &text[..end]
}

/// The user's text for an error message: quoted, with unprintable characters escaped, and no longer than a line.
pub fn quote(text: &[u8]) -> String {
    const LONGEST: usize = 200;
    let start = &text[..text.len().min(LONGEST)];
    let more = if start.len() < text.len() { "..." } else { "" };
    format!("'{}'{more}", escape::line(&String::from_utf8_lossy(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers_without_comments_and_blanks() {
        let text = b"# one\r\n\n  two \t\r\n\x0bthree";
        let found: Vec<_> = lines("x", text).map(|(place, line)| (place.line, line)).collect();
        assert_eq!(found, [(3, &b"two \t"[..]), (4, b"three")]);
    }

    #[test]
    fn quotes_are_short_and_printable() {
        assert_eq!(quote(b"a\x1b[1mb"), "'a\\x1b[1mb'");
        assert!(quote(&[b'x'; 5000]).len() < 210);
    }
}
