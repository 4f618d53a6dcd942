//! Text for a terminal: names escaped so that their bytes can be recovered, and messages without characters that a terminal
//! interprets.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Names of any type as printable text.
pub trait Escape {
    /// The name on one line. A backslash becomes `\\`, a line feed `\n`, a tab `\t`, a carriage return `\r`. Each byte of other
    /// control characters, of characters that change the writing direction, and of invalid UTF-8 becomes `\xHH`. The name can be
    /// recovered from the text.
    fn escaped(&self) -> String;
}

impl Escape for [u8] {
    fn escaped(&self) -> String {
        if self.iter().all(|byte| matches!(byte, b' '..=b'[' | b']'..=b'~')) {
            return String::from_utf8_lossy(self).into_owned();
        }
        let mut out = String::with_capacity(self.len());
        for chunk in self.utf8_chunks() {
            chunk.valid().chars().for_each(|letter| put(&mut out, letter));
            chunk.invalid().iter().for_each(|byte| put_byte(&mut out, *byte));
        }
        out
    }
}

impl Escape for OsStr {
    fn escaped(&self) -> String {
        self.as_bytes().escaped()
    }
}

impl Escape for Path {
    fn escaped(&self) -> String {
        self.as_os_str().escaped()
    }
}

/// A message on one line: like [`lines`], but line feeds are escaped too.
pub fn line(text: &str) -> Cow<'_, str> {
    filtered(text, |letter| letter != '\t' && is_active(letter), put)
}

/// Text on several lines, in which every character that a terminal interprets is escaped, except line feeds and tabs.
/// Backslashes are not escaped, so that escaped names do not change.
pub fn lines(text: &str) -> Cow<'_, str> {
    filtered(text, |letter| !matches!(letter, '\t' | '\n') && is_active(letter), put)
}

/// A JSON text in which every character of its strings that a terminal interprets is written as `\uXXXX`, which has the same
/// value. A serializer escapes only characters below U+0020.
pub fn json(text: &str) -> Cow<'_, str> {
    filtered(text, |letter| letter >= '\u{7f}' && is_active(letter), put_unit)
}

fn filtered(text: &str, escapes: impl Fn(char) -> bool, put: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if !text.contains(&escapes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    text.chars().for_each(|letter| if escapes(letter) { put(&mut out, letter) } else { out.push(letter) });
    Cow::Owned(out)
}

fn put(out: &mut String, letter: char) {
    match letter {
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        _ if is_active(letter) => letter.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| put_byte(out, byte)),
        _ => out.push(letter),
    }
}

fn put_byte(out: &mut String, byte: u8) {
    // Writing to a string does not fail.
    let _: std::fmt::Result = write!(out, "\\x{byte:02x}");
}

/// All active characters are in the basic plane, so one UTF-16 unit is enough.
fn put_unit(out: &mut String, letter: char) {
    let _: std::fmt::Result = write!(out, "\\u{:04x}", u32::from(letter));
}

/// Control characters, line and paragraph separators, and characters that change the writing direction.
fn is_active(letter: char) -> bool {
    let turns =
        matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that an escaped name stands for.
    fn unescaped(text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut rest = text.as_bytes();
        while let Some((first, after)) = rest.split_first() {
            let (byte, length) = match (first, after) {
                (b'\\', [b'x', ..]) => (u8::from_str_radix(std::str::from_utf8(&after[1..3]).unwrap(), 16).unwrap(), 4),
                (b'\\', [letter, ..]) => (
                    match letter {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        other => *other,
                    },
                    2,
                ),
                _ => (*first, 1),
            };
            bytes.push(byte);
            rest = &rest[length..];
        }
        bytes
    }

    #[test]
    fn escapes_names_reversibly() {
        let cases: [(&[u8], &str); 8] = [
            (b"plain name", "plain name"),
            ("größe 日本".as_bytes(), "größe 日本"),
            (b"a\nb\tc\rd", "a\\nb\\tc\\rd"),
            (b"\x1b[31mred", "\\x1b[31mred"),
            (b"back\\slash\\x41", "back\\\\slash\\\\x41"),
            (b"\xff\xfe\xc3", "\\xff\\xfe\\xc3"),
            ("\u{202e}gpj.exe\u{9b}".as_bytes(), "\\xe2\\x80\\xaegpj.exe\\xc2\\x9b"),
            (b"\x7f", "\\x7f"),
        ];
        for (name, text) in cases {
            assert_eq!(name.escaped(), text);
            assert_eq!(unescaped(text), name, "{text}");
            assert_eq!(Path::new(OsStr::from_bytes(name)).escaped(), text);
            assert_eq!(line(text), lines(text), "an escaped name stays as it is");
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn messages_keep_tabs_and_line_feeds() {
        assert_eq!(
            lines("a\tb\n\x1b]0;x\x07 \\x1b\r\u{9b}\u{2067}"),
            "a\tb\n\\x1b]0;x\\x07 \\x1b\\r\\xc2\\x9b\\xe2\\x81\\xa7"
        );
        assert_eq!(line("a\tb\nc: d"), "a\tb\\nc: d");
        assert!(matches!(lines("größe 日本\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_keeps_its_value() {
        let text = "{\n  \"a\": \"\\u001b\u{7f}\u{85}\u{202e}ü\"\n}";
        assert_eq!(json(text), "{\n  \"a\": \"\\u001b\\u007f\\u0085\\u202eü\"\n}");
    }
}
