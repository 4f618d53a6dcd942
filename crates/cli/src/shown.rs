//! Names as people and programs are shown them: any bytes, without loss, and without a byte that a terminal would obey.

use std::fmt::Write;

use serde_json::{Map, Value};

/// A name on one line of text. A backslash becomes `\\`, a line feed `\n`, a tab `\t`, a carriage return `\r`; other control
/// characters, those that change the direction of writing, and bytes that are no UTF-8 become `\xHH`, one for each byte.
/// From it the name can be had back.
pub fn escaped(name: &[u8]) -> String {
    if name.iter().all(|byte| matches!(byte, b' '..=b'[' | b']'..=b'~')) {
        return String::from_utf8_lossy(name).into_owned();
    }
    let mut out = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        chunk.valid().chars().for_each(|letter| put(&mut out, letter));
        chunk.invalid().iter().for_each(|byte| put_byte(&mut out, *byte));
    }
    out
}

fn put(out: &mut String, letter: char) {
    match letter {
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        _ if obeyed(letter) => letter.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| put_byte(out, byte)),
        _ => out.push(letter),
    }
}

fn put_byte(out: &mut String, byte: u8) {
    // Writing to a string does not fail.
    let _: std::fmt::Result = write!(out, "\\x{byte:02x}");
}

/// Control characters, line and paragraph separators, and what changes the direction of writing.
fn obeyed(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Puts bytes into a JSON object: as the string they are if they are UTF-8. If they are not, `KEY_hex` has them exactly, and
/// `KEY` a likeness with U+FFFD where they are not.
pub fn put_json(object: &mut Map<String, Value>, key: &str, bytes: &[u8]) {
    object.insert(key.to_string(), String::from_utf8_lossy(bytes).into());
    if std::str::from_utf8(bytes).is_err() {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        object.insert(format!("{key}_hex"), hex.into());
    }
}

/// A path in text: the root has no name of its own and is shown as `.`.
pub fn escaped_path(path: &[u8]) -> String {
    if path.is_empty() { ".".to_string() } else { escaped(path) }
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
    fn names_that_attack_a_terminal_are_tame_and_can_be_had_back() {
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
            assert_eq!(escaped(name), text);
            assert_eq!(unescaped(text), name, "{text}");
        }
        assert_eq!(escaped_path(b""), ".");
    }

    #[test]
    fn json_has_every_byte() {
        let mut object = Map::new();
        put_json(&mut object, "path", b"a\nb");
        put_json(&mut object, "target", b"\xffx");
        assert_eq!(Value::from(object).to_string(), r#"{"path":"a\nb","target":"�x","target_hex":"ff78"}"#);
    }
}
