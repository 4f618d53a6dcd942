//! Splits a line of a pack file into words, which may be quoted, and parses the fields that all lines have.

use packline_tree::text::{TextLine, quote};
use packline_tree::{Bytes, Error};

/// The words of one line.
///
/// Blanks and tabs separate words. A word that starts with `"` ends at the next `"`; inside it, `\"` and `\\` mean `"` and `\`. Quotes and
/// backslashes are literal everywhere else. All this is as in squashfs-tools-ng 1.3.
pub(super) struct Words<'a> {
    place: TextLine<'a>,
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    pub fn new(place: TextLine<'a>, line: &'a [u8]) -> Words<'a> {
        let mut words = Words { place, rest: line };
        words.skip_blanks();
        words
    }

    pub fn next(&mut self) -> Result<Option<Bytes>, Error> {
        match self.rest.first() {
            None => Ok(None),
            Some(b'"') => self.quoted().map(Some),
            Some(_) => Ok(Some(self.bare())),
        }
    }

    /// The next word as the pattern of a `glob` line, which may also be in single quotes (without escapes).
    pub fn next_pattern(&mut self) -> Result<Option<Bytes>, Error> {
        let Some((b'\'', after)) = self.rest.split_first() else { return self.next() };
        let Some(end) = memchr::memchr(b'\'', after) else { return self.next() };
        let word = after[..end].to_vec();
        self.advance(end + 2);
        Ok(Some(word))
    }

    /// The next word, or an error that names the missing field.
    pub fn require(&mut self, what: &str) -> Result<Bytes, Error> {
        let place = self.place;
        self.next()?.ok_or_else(|| place.error(format!("the line ends before the {what}"), format!("a {what}")))
    }

    /// Fails if another word follows.
    pub fn end(&mut self, keyword: &str) -> Result<(), Error> {
        match self.next()? {
            None => Ok(()),
            Some(word) => {
                let what = format!("{} after the last argument of '{keyword}'", quote(&word));
                Err(self.place.error(what, "the end of the line; names with blanks need quotes: \"...\""))
            }
        }
    }

    fn bare(&mut self) -> Bytes {
        let end = self.rest.iter().position(is_separator).unwrap_or(self.rest.len());
        let word = self.rest[..end].to_vec();
        self.advance(end);
        word
    }

    fn quoted(&mut self) -> Result<Bytes, Error> {
        let (word, length) = unquote(self.place, self.rest)?;
        self.advance(length);
        Ok(word)
    }

    fn advance(&mut self, length: usize) {
        self.rest = &self.rest[length..];
        self.skip_blanks();
    }

    fn skip_blanks(&mut self) {
        let start = self.rest.iter().position(|byte| !is_separator(byte)).unwrap_or(self.rest.len());
        self.rest = &self.rest[start..];
    }
}

fn is_separator(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Decodes the quoted text at the start of `text`. Returns it with its length in `text`, including both quotes.
pub(crate) fn unquote(place: TextLine<'_>, text: &[u8]) -> Result<(Bytes, usize), Error> {
    let mut word = Bytes::new();
    let mut at = 1;
    loop {
        match (text.get(at), text.get(at + 1)) {
            (None, _) => return Err(place.error(format!("unclosed quote in {}", quote(text)), "a closing '\"'")),
            (Some(b'"'), _) => return Ok((word, at + 1)),
            (Some(b'\\'), Some(&escaped @ (b'"' | b'\\'))) => {
                word.push(escaped);
                at += 2;
            }
            (Some(b'\\'), _) => return Err(broken_escape(place, &text[at..])),
            (Some(&byte), _) => {
                word.push(byte);
                at += 1;
            }
        }
    }
}

fn broken_escape(place: TextLine<'_>, text: &[u8]) -> Error {
    let found = quote(&text[..text.len().min(2)]);
    place.error(format!("escape sequence {found}"), "'\\\"' or '\\\\' inside quotes")
}

/// Path, mode, owner and group of a line. `None` stands for `*`, which only globs may use.
pub(super) struct Fields {
    pub path: Bytes,
    pub mode: Option<u16>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
}

impl Fields {
    /// Parses the four fields that follow `keyword`.
    pub fn read(place: TextLine<'_>, words: &mut Words<'_>, keyword: &str) -> Result<Fields, Error> {
        let path = place.canonical(&words.require("path")?)?;
        let fields = [words.require("mode")?, words.require("uid")?, words.require("gid")?];
        if keyword == "link" {
            // A hard link has no attributes of its own, and the fields are dummies.
            return Ok(Fields { path, mode: Some(0), uid: Some(0), gid: Some(0) });
        }
        let star = keyword == "glob";
        let [mode, uid, gid] = fields.map(|field| if star && field == b"*" { None } else { Some(field) });
        Ok(Fields {
            path,
            mode: mode.map(|field| octal_mode(place, &field)).transpose()?,
            uid: uid.map(|field| number(place, "uid", &field)).transpose()?,
            gid: gid.map(|field| number(place, "gid", &field)).transpose()?,
        })
    }
}

fn octal_mode(place: TextLine<'_>, field: &[u8]) -> Result<u16, Error> {
    let number = digits(field).and_then(|digits| u16::from_str_radix(digits, 8).ok());
    number
        .filter(|&mode| mode <= 0o7777)
        .ok_or_else(|| place.error(format!("mode {}", quote(field)), "an octal number from 0 to 7777"))
}

/// Parses a decimal number of 32 bits.
pub(super) fn number(place: TextLine<'_>, name: &str, field: &[u8]) -> Result<u32, Error> {
    let number = digits(field).and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| place.error(format!("{name} {}", quote(field)), "a number from 0 to 4294967295"))
}

/// Returns the field as text if it consists of digits only. `str::parse` would accept a sign.
fn digits(field: &[u8]) -> Option<&str> {
    let only = !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    if only { std::str::from_utf8(field).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Result<Vec<String>, String> {
        let mut words = Words::new(TextLine { input: "list", line: 7 }, line.as_bytes());
        let mut found = Vec::new();
        loop {
            match words.next() {
                Ok(None) => return Ok(found),
                Ok(Some(word)) => found.push(String::from_utf8(word).unwrap()),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    #[test]
    fn splits_words_at_blanks_and_quotes() {
        assert_eq!(words(" a\t b  ").unwrap(), ["a", "b"]);
        assert_eq!(words(r#"file "/a b/\"c\\" x"#).unwrap(), ["file", "/a b/\"c\\", "x"]);
        assert_eq!(words(r#""a"b """#).unwrap(), ["a", "b", ""]);
        assert_eq!(words(r#"a"b c\d"#).unwrap(), ["a\"b", "c\\d"]);
        assert!(words("").unwrap().is_empty());
    }

    #[test]
    fn rejects_unclosed_quotes_and_unknown_escapes() {
        assert_eq!(words(r#"a "b"#).unwrap_err(), "list: line 7: unclosed quote in '\"b' (expected a closing '\"')");
        assert!(words(r#""a\n""#).unwrap_err().contains("escape sequence '\\n'"));
        assert!(words(r#""a\"#).unwrap_err().contains("escape sequence '\\'"));
    }

    #[test]
    fn reads_patterns_in_single_quotes() {
        let place = TextLine { input: "list", line: 1 };
        let mut found = Words::new(place, b"'a b*' 'c");
        assert_eq!(found.next_pattern().unwrap().unwrap(), b"a b*");
        assert_eq!(found.next_pattern().unwrap().unwrap(), b"'c");
        assert_eq!(found.next_pattern().unwrap(), None);
    }
}
