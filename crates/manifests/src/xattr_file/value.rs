//! The values of an xattr file: text with escapes, hexadecimal, base64.

use packline_runtime::from_hex;
use packline_tree::text::{TextLine, quote};
use packline_tree::{Bytes, Error};

/// Decodes the text after an attribute's `=`.
pub(super) fn decode(place: TextLine<'_>, text: &[u8]) -> Result<Bytes, Error> {
    let (value, expected) = match text {
        [b'0', b'x' | b'X', digits @ ..] => (from_hex(digits), "pairs of hexadecimal digits after 0x"),
        [b'0', b's' | b'S', digits @ ..] => (base64(digits), "base64 after 0s"),
        _ => (quoted(text), "a closing quote, or no quote at the start"),
    };
    value.ok_or_else(|| place.error(format!("value {}", quote(text)), expected))
}

/// Decodes the value of an attribute in an option of squashfs-tools: base64 after `0s`, hexadecimal after `0x`, text with octal escapes after
/// `0t`, or the bytes themselves. `None` if the digits are malformed.
pub fn attribute_value(text: &[u8]) -> Option<Bytes> {
    match text {
        [b'0', b'x' | b'X', digits @ ..] => from_hex(digits),
        [b'0', b's' | b'S', digits @ ..] => base64(digits),
        [b'0', b't' | b'T', escaped @ ..] => Some(unescape(escaped)),
        plain => Some(plain.to_vec()),
    }
}

/// Decodes a value that may be in quotes. `None` if only one end has a quote.
fn quoted(text: &[u8]) -> Option<Bytes> {
    let inner = match text {
        [b'"', inner @ .., b'"'] => inner,
        [b'"', ..] => return None,
        bare => bare,
    };
    Some(unescape(inner))
}

fn unescape(mut text: &[u8]) -> Bytes {
    let mut value = Bytes::with_capacity(text.len());
    while let Some((&byte, rest)) = text.split_first() {
        text = rest;
        match (byte, rest) {
            (b'\\', [escaped @ (b'\\' | b'"'), ..]) => {
                value.push(*escaped);
                text = &rest[1..];
            }
            (b'\\', [b'0'..=b'7', ..]) => {
                let digits = rest.iter().take(3).take_while(|digit| matches!(digit, b'0'..=b'7')).count();
                value.push(octal(&rest[..digits]));
                text = &rest[digits..];
            }
            _ => value.push(byte),
        }
    }
    value
}

/// Replaces each `\` and three octal digits with a byte. getfattr writes unprintable bytes of a path or name in this form.
pub(super) fn unquote_octal(mut text: &[u8]) -> Bytes {
    let mut plain = Bytes::with_capacity(text.len());
    while let Some((&byte, rest)) = text.split_first() {
        match rest {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] if byte == b'\\' => {
                plain.push(octal(&[*a, *b, *c]));
                text = after;
            }
            _ => {
                plain.push(byte);
                text = rest;
            }
        }
    }
    plain
}

/// Returns the byte with these octal digits. Numbers above 255 wrap, as in setfattr.
fn octal(digits: &[u8]) -> u8 {
    digits.iter().fold(0u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0'))
}

/// Decodes base64 (RFC 4648, section 4). The padding is optional, because libarchive omits it.
pub(crate) fn base64(text: &[u8]) -> Option<Bytes> {
    let digits = match text {
        [digits @ .., b'=', b'='] | [digits @ .., b'='] if text.len().is_multiple_of(4) => digits,
        digits => digits,
    };
    packline_runtime::from_base64(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_text() {
        for (text, value) in [
            (&br#""a\"b\\c""#[..], &b"a\"b\\c"[..]),
            (br#""\012\0x\1234""#, b"\n\0xS4"),
            (br#""a\nb\""#, b"a\\nb\\"),
            (b"plain \"text\"", b"plain \"text\""),
            (b"\"\"", b""),
            (b"", b""),
            (b"1x", b"1x"),
        ] {
            assert_eq!(quoted(text).unwrap(), value, "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(quoted(b"\""), None);
        assert_eq!(quoted(b"\"a"), None);
    }

    #[test]
    fn decodes_names() {
        assert_eq!(unquote_octal(b"a\\134b\\075\\07\\400"), b"a\\b=\\07\\400");
    }

    #[test]
    fn base64_of_rfc_4648() {
        for (text, value) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmE", "fooba"),
            ("Zg", "f"),
        ] {
            assert_eq!(base64(text.as_bytes()).unwrap(), value.as_bytes(), "{text}");
        }
        assert_eq!(base64(b"+/+/").unwrap(), b"\xfb\xff\xbf");
        for bad in ["Z", "Zg=", "Z===", "Zm9v=", "Zm 9", "Zm9vY"] {
            assert_eq!(base64(bad.as_bytes()), None, "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn octal_escapes_come_back(value: Vec<u8>) {
            let text: String = value.iter().map(|byte| format!("\\{byte:03o}")).collect();
            proptest::prop_assert_eq!(unescape(text.as_bytes()), value.clone());
            proptest::prop_assert_eq!(unquote_octal(text.as_bytes()), value);
        }
    }
}
