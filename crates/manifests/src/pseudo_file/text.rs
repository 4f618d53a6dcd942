//! The text of definitions: logical lines and their words.

use std::io::{BufRead, Read};
use std::path::Path;

use packline_tree::text::{TextLine, is_blank, quote, trim_start};
use packline_tree::{Bytes, Error};

/// The last line before the contents, except for one line with only a `#`.
pub(super) const DATA_MARK: &str = "# START OF DATA - DO NOT MODIFY";
/// Maximum length of a definition in bytes. The longest value of an attribute fits, with four characters for each byte.
const LINE_MAX: usize = 1 << 20;

/// The definitions up to the contents or the end, without comments and empty lines.
pub(crate) struct Lines<'a> {
    name: &'a str,
    /// Whether contents may follow.
    data: bool,
    reader: &'a mut dyn BufRead,
    /// The number of the current definition's first line.
    first: u64,
    lines: u64,
    bytes: u64,
    text: Bytes,
    data_start: Option<u64>,
}

impl<'a> Lines<'a> {
    pub fn new(name: &'a str, reader: &'a mut dyn BufRead) -> Lines<'a> {
        Lines { name, data: true, reader, first: 0, lines: 0, bytes: 0, text: Bytes::new(), data_start: None }
    }

    /// The definitions of a text without contents.
    pub fn without_data(name: &'a str, reader: &'a mut dyn BufRead) -> Lines<'a> {
        Lines { data: false, ..Lines::new(name, reader) }
    }

    /// The byte at which the contents begin. It is known after all lines have been read.
    pub fn data_start(&self) -> Option<u64> {
        self.data_start
    }

    /// The next definition, with the number of its first line.
    pub fn next(&mut self) -> Result<Option<(u64, &[u8])>, Error> {
        while self.data_start.is_none() && self.logical()? {
            let line = trim_start(&self.text);
            if self.data && line == DATA_MARK.as_bytes() {
                self.skip_rest_of_mark()?;
            } else if line.contains(&0) {
                return Err(self.place().error("a NUL byte", "a definition"));
            } else if !line.is_empty() && line[0] != b'#' {
                return Ok(Some((self.first, trim_start(&self.text))));
            }
        }
        Ok(None)
    }

    fn place(&self) -> TextLine<'a> {
        TextLine { input: self.name, line: self.first }
    }

    /// Reads a line and its continuations. Returns false at the end.
    fn logical(&mut self) -> Result<bool, Error> {
        self.text.clear();
        self.first = self.lines + 1;
        loop {
            let before = self.text.len();
            let limit = (LINE_MAX - before + 1) as u64;
            let read = (&mut *self.reader).take(limit).read_until(b'\n', &mut self.text);
            let count = read.map_err(|cause| self.unread(cause))?;
            self.bytes += count as u64;
            self.lines += 1;
            if self.text.len() > LINE_MAX {
                return Err(self
                    .place()
                    .error("a line that is too long for a definition", format!("at most {LINE_MAX} bytes")));
            }
            if count > 0 && self.text.last() == Some(&b'\n') {
                self.text.pop();
            } else if count == 0 {
                return Ok(!self.text.is_empty());
            }
            let own = &self.text[before..];
            if !own.ends_with(b"\\") || own.ends_with(b"\\\\") {
                return Ok(true);
            }
            self.text.pop();
        }
    }

    fn skip_rest_of_mark(&mut self) -> Result<(), Error> {
        let mut rest = [0; 2];
        self.reader.read_exact(&mut rest).map_err(|cause| self.unread(cause))?;
        if &rest != b"#\n" {
            return Err(self.place().error("the line after the mark of the contents", "a '#' alone on the next line"));
        }
        self.data_start = Some(self.bytes + 2);
        Ok(())
    }

    fn unread(&self, cause: std::io::Error) -> Error {
        Error::Io { path: Path::new(self.name).to_owned(), action: "cannot read", cause }
    }
}

/// The words of one definition.
pub(super) struct Words<'a> {
    pub place: TextLine<'a>,
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    pub fn new(place: TextLine<'a>, text: &'a [u8]) -> Words<'a> {
        Words { place, rest: trim_start(text) }
    }

    /// The next word, which ends at a blank. Quotes enclose a part that may have blanks, and `\` precedes a literal character.
    pub fn word(&mut self, what: &str) -> Result<Bytes, Error> {
        let mut word = Bytes::new();
        let mut at = 0;
        let mut quoted = false;
        while let Some(&byte) = self.rest.get(at).filter(|&&byte| quoted || !is_blank(byte)) {
            at += 1;
            match byte {
                b'"' => quoted = !quoted,
                b'\\' => {
                    word.extend(self.rest.get(at));
                    at += 1;
                }
                _ => word.push(byte),
            }
        }
        if at == 0 {
            return Err(self.place.error(format!("the line ends before the {what}"), format!("a {what}")));
        }
        if quoted {
            return Err(self.place.error(format!("unclosed quote in {}", quote(self.rest)), "a closing '\"'"));
        }
        self.rest = trim_start(self.rest.get(at..).unwrap_or_default());
        Ok(word)
    }

    /// The rest of the line, which must not be empty.
    pub fn rest(&mut self, what: &str) -> Result<&'a [u8], Error> {
        match std::mem::take(&mut self.rest) {
            [] => Err(self.place.error(format!("the line ends before the {what}"), format!("a {what}"))),
            rest => Ok(rest),
        }
    }

    /// The next word as a decimal number of at most `most`.
    pub fn number(&mut self, what: &str, most: u64) -> Result<u64, Error> {
        let word = self.word(what)?;
        let number = decimal(&word).filter(|&number| number <= most);
        number.ok_or_else(|| self.place.error(format!("{what} {}", quote(&word)), format!("a number from 0 to {most}")))
    }

    /// Fails if the line has more words.
    pub fn end(&self) -> Result<(), Error> {
        match self.rest {
            [] => Ok(()),
            rest => Err(self.place.error(format!("{} after the last argument", quote(rest)), "the end of the line")),
        }
    }
}

/// Parses a number that consists of digits only. `str::parse` would accept a sign.
pub(crate) fn decimal(word: &[u8]) -> Option<u64> {
    let digits = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(word).ok().filter(|_| digits)?.parse().ok()
}
