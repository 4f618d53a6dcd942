//! Text encodings of attribute names and values in PAX records: percent escapes and base64.

use packline_runtime::nibble;
use packline_tree::Bytes;

/// Decodes a `SCHILY.xattr.` name in the form of GNU tar, which escapes only `%` and `=` (`%25`, `%3D`).
pub(super) fn schily_name(name: &[u8]) -> Bytes {
    unescape(name, |byte| matches!(byte, b'%' | b'='))
}

/// Decodes a `LIBARCHIVE.xattr.` name. Any byte may be escaped as `%XX`; invalid escapes are literal.
pub(super) fn url_name(name: &[u8]) -> Bytes {
    unescape(name, |_| true)
}

fn unescape(name: &[u8], accept: impl Fn(u8) -> bool) -> Bytes {
    let mut plain = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&byte, tail)) = rest.split_first() {
        match escaped(rest).filter(|&value| accept(value)) {
            Some(value) => {
                plain.push(value);
                rest = &rest[3..];
            }
            None => {
                plain.push(byte);
                rest = tail;
            }
        }
    }
    plain
}

fn escaped(bytes: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = *bytes else { return None };
    Some(nibble(high)? << 4 | nibble(low)?)
}

/// Decodes base64 (RFC 4648, section 4) with or without padding; libarchive writes no padding. `None` if it is invalid.
pub(super) fn base64(text: &[u8]) -> Option<Bytes> {
    let length = text.iter().position(|&byte| byte == b'=').unwrap_or(text.len());
    let (text, padding) = text.split_at(length);
    if padding.len() > 2 || padding.iter().any(|&byte| byte != b'=') {
        return None;
    }
    packline_runtime::from_base64(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(schily_name(b"user.a%3Db%25c%41"), b"user.a=b%c%41");
        assert_eq!(url_name(b"user.a%3Db%25c%41%zz%4"), b"user.a=b%cA%zz%4");
    }

    #[test]
    fn base64_vectors() {
        for (text, value) in [
            ("", ""),
            ("Zg", "f"),
            ("Zg==", "f"),
            ("Zm8", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(base64(text.as_bytes()).unwrap(), value.as_bytes(), "{text}");
        }
        assert_eq!(base64(b"//79").unwrap(), [0xff, 0xfe, 0xfd]);
        for text in ["Z", "Zm9vY", "Zm 9v", "Zg===", "Zg=a"] {
            assert_eq!(base64(text.as_bytes()), None, "{text}");
        }
    }
}
