//! Extended attributes of a definition: `name=value`, where a prefix of the value can name its encoding.

use packline_runtime::from_hex;
use packline_tree::text::{TextLine, quote};
use packline_tree::{Bytes, Error, Xattr};

use crate::xattr_file::value::base64;

/// Parses the text after the type `x`.
pub(super) fn parse(place: TextLine<'_>, text: &[u8]) -> Result<Xattr, Error> {
    let malformed = || place.error(format!("attribute {}", quote(text)), "name=value");
    let equals = memchr::memchr(b'=', text).filter(|&at| at > 0).ok_or_else(malformed)?;
    let name = &text[..equals];
    let value = &text[equals + 1..];
    if ![&b"user."[..], b"trusted.", b"security."].iter().any(|prefix| name.starts_with(prefix)) {
        return Err(
            place.error(format!("attribute {}", quote(name)), "a name that begins with user., trusted. or security.")
        );
    }
    let (decoded, expected) = decode(value);
    let decoded = decoded.filter(|decoded| !decoded.is_empty());
    let value = decoded.ok_or_else(|| place.error(format!("value {}", quote(value)), expected))?;
    Ok(Xattr { name: name.to_vec(), value })
}

/// Decodes a value. Returns it with the text of what is expected.
fn decode(value: &[u8]) -> (Option<Bytes>, &'static str) {
    match value {
        [b'0', b's' | b'S', digits @ ..] => (base64(digits), "base64 after 0s"),
        [b'0', b'x' | b'X', digits @ ..] => (from_hex(digits), "pairs of hexadecimal digits after 0x"),
        [b'0', b't' | b'T', text @ ..] => (octal(text), "text after 0t, with three octal digits after each `\\`"),
        [b'0', b'b' | b'B', plain @ ..] => (Some(plain.to_vec()), "a value after 0b"),
        plain => (Some(plain.to_vec()), "a value after the `=`"),
    }
}

fn octal(mut text: &[u8]) -> Option<Bytes> {
    let mut value = Bytes::with_capacity(text.len());
    while let Some((&byte, rest)) = text.split_first() {
        text = rest;
        value.push(match (byte, rest) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                text = after;
                (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')
            }
            (b'\\', _) => return None,
            _ => byte,
        });
    }
    Some(value)
}
