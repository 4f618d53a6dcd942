//! Numbers in tars: octal text, GNU base-256, and decimals of PAX records.

use packline_tree::Time;

/// Digits of the nanoseconds.
const NANOSECOND_DIGITS: usize = 9;
/// Nanoseconds of a second.
const SECOND: u32 = 1_000_000_000;

/// A number in a header field: octal digits, possibly after blanks, ended by a space, a NUL or the field's end. If the top bit of
/// the first byte is set, the remaining bits are a two's complement big-endian number (GNU base-256, also used by star). A blank
/// field, which old archivers write for unused fields, is 0.
///
/// `None` if the field has neither form, or if the number does not fit an `i64`.
pub(super) fn field(bytes: &[u8]) -> Option<i64> {
    match bytes.first() {
        Some(first) if first & 0x80 != 0 => base_256(bytes),
        _ => octal(bytes),
    }
}

fn octal(bytes: &[u8]) -> Option<i64> {
    let blank = bytes.iter().position(|&byte| byte != b' ').unwrap_or(bytes.len());
    let digits = &bytes[blank..];
    let length = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(length);
    if !matches!(rest.first(), None | Some(b' ' | 0)) {
        return None;
    }
    digits.iter().try_fold(0i64, |value, &digit| match digit {
        b'0'..=b'7' => value.checked_mul(8)?.checked_add(i64::from(digit - b'0')),
        _ => None,
    })
}

/// The top bit marks the form, and the next bit is the sign.
fn base_256(bytes: &[u8]) -> Option<i64> {
    let (&first, rest) = bytes.split_first()?;
    let negative = first & 0x40 != 0;
    let start = if negative { i128::from(first) - 0x100 } else { i128::from(first & 0x3f) };
    let value = rest.iter().try_fold(start, |value, &byte| {
        let value = value * 256 + i128::from(byte);
        (value.unsigned_abs() <= 1 << 64).then_some(value)
    })?;
    i64::try_from(value).ok()
}

/// A decimal of a PAX record or a sparse map: at least one digit, and at most `i64::MAX`, because sizes and offsets are signed in
/// system calls.
pub(super) fn decimal(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    let value = bytes.iter().try_fold(0u64, |value, &digit| match digit {
        b'0'..=b'9' => value.checked_mul(10)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })?;
    (value <= i64::MAX as u64).then_some(value)
}

/// A PAX time, rounded down to nanoseconds. The fraction may be empty.
pub(super) fn time(bytes: &[u8]) -> Option<Time> {
    let (negative, magnitude) = match bytes.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, bytes),
    };
    let mut parts = magnitude.splitn(2, |&byte| byte == b'.');
    let whole = i64::try_from(decimal(parts.next()?)?).ok()?;
    let fraction = parts.next().unwrap_or(b"");
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = fraction.iter().copied().chain(std::iter::repeat(b'0')).take(NANOSECOND_DIGITS);
    let nanoseconds = digits.fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
    if !negative {
        return Some(Time::new(whole, nanoseconds));
    }
    let rest = fraction.iter().skip(NANOSECOND_DIGITS).any(|&digit| digit != b'0');
    match nanoseconds + u32::from(rest) {
        0 => Some(Time::from_seconds(-whole)),
        below => Some(Time::new((-whole).checked_sub(1)?, SECOND - below)),
    }
}

/// The time at the start of a text, as read by GNU tar and bsdtar.
pub(super) fn leading_time(bytes: &[u8]) -> Option<Time> {
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = usize::from(bytes.first() == Some(&b'-'));
    let end = whole + digits(whole);
    let end = if bytes.get(end) == Some(&b'.') { end + 1 + digits(end + 1) } else { end };
    time(&bytes[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn octal_forms() {
        for (bytes, value) in [
            (&b"0000644\0"[..], 0o644),
            (b"    644 ", 0o644),
            (b"00000000", 0),
            (b"77777777", 0o7777_7777),
            (b"\0\0\0\0\0\0\0\0", 0),
            (b"        ", 0),
            (b"644\0junk", 0o644),
            (b"777777777777", 0o7777_7777_7777),
        ] {
            assert_eq!(field(bytes), Some(value), "{bytes:?}");
        }
        for bytes in [&b"8\0"[..], b"12x", b"-1\0", b"0x10", b"7777777777777777777777777777777"] {
            assert_eq!(field(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn base_256_edges() {
        assert_eq!(field(&[0x80, 0, 0, 0, 0, 0, 0, 1]), Some(1));
        assert_eq!(field(&[0xff; 8]), Some(-1));
        assert_eq!(field(&[0xff; 12]), Some(-1));
        let mut top = [0u8; 12];
        top[0] = 0x80;
        top[4] = 0x80;
        assert_eq!(field(&top), None, "2^63");
        assert_eq!(field(&[0xbf; 12]), None);
        assert_eq!(field(&[0xc0; 12]), None);
    }

    #[test]
    fn times() {
        for (text, value) in [
            ("0", (0, 0)),
            ("1.9", (1, 900_000_000)),
            ("-1", (-1, 0)),
            ("-1.0", (-1, 0)),
            ("-1.5", (-2, 500_000_000)),
            ("-0.000000001", (-1, 999_999_999)),
            ("-0.0000000001", (-1, 999_999_999)),
            ("-0.9999999999", (-1, 0)),
            ("0.9999999999", (0, 999_999_999)),
            ("1700000000.123456789", (1_700_000_000, 123_456_789)),
            ("5.", (5, 0)),
        ] {
            let (seconds, nanoseconds) = value;
            assert_eq!(time(text.as_bytes()), Some(Time::new(seconds, nanoseconds)), "{text}");
        }
        for text in ["", "-", ".5", "1.5x", "1e5", "--1", "99999999999999999999"] {
            assert_eq!(time(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn uses_the_number_that_a_time_begins_with() {
        for (text, value) in [("1.5x", "1.5"), ("1e5", "1"), ("-1.5 s", "-1.5"), ("7..", "7"), ("9s", "9"), ("8", "8")]
        {
            assert_eq!(leading_time(text.as_bytes()).unwrap().to_string(), value, "{text}");
        }
        for text in ["", "-", ".5", "soon", "--1", " 1", "99999999999999999999x"] {
            assert_eq!(leading_time(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn decimals() {
        assert_eq!(decimal(b"9223372036854775807"), Some(i64::MAX as u64));
        for text in ["", "9223372036854775808", "18446744073709551616", "-1", "+1", " 1", "1 "] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn base_256_round_trips(value: i64) {
            let mut bytes = [if value < 0 { 0xff } else { 0 }; 12];
            bytes[4..].copy_from_slice(&value.to_be_bytes());
            bytes[0] |= 0x80;
            prop_assert_eq!(field(&bytes), Some(value));
        }

        #[test]
        fn octal_round_trips(value in 0i64..1 << 33) {
            prop_assert_eq!(field(format!("{value:011o}\0").as_bytes()), Some(value));
            prop_assert_eq!(field(format!("{value:>11o} ").as_bytes()), Some(value));
        }
    }
}
