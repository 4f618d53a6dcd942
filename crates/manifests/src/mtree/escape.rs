//! Decodes the escapes of vis(3).

use packline_tree::Bytes;

/// Decodes a text. `None` if it has an unknown escape.
pub(super) fn unescape(mut text: &[u8]) -> Option<Bytes> {
    let mut plain = Bytes::with_capacity(text.len());
    while let Some((&byte, rest)) = text.split_first() {
        text = rest;
        if byte == b'\\' {
            let (value, rest) = escaped(rest)?;
            plain.extend(value);
            text = rest;
        } else {
            plain.push(byte);
        }
    }
    Some(plain)
}

/// Decodes the escape after a `\`. Returns its byte and the text after it.
fn escaped(text: &[u8]) -> Option<(Option<u8>, &[u8])> {
    if let Some(b'0'..=b'7') = text.first() {
        return number(text, 8, 3);
    }
    let (value, rest) = match text {
        [b'x', digits @ ..] => return number(digits, 16, 2),
        [b'^', byte, rest @ ..] => (control(*byte)?, rest),
        [b'M', b'-', byte, rest @ ..] => (byte | 0x80, rest),
        [b'M', b'^', byte, rest @ ..] => (control(*byte)? | 0x80, rest),
        // `\$` marks the end of a line for human readers, and has no byte.
        [b'$', rest @ ..] => return Some((None, rest)),
        [letter, rest @ ..] => (named(*letter)?, rest),
        [] => return None,
    };
    Some((Some(value), rest))
}

/// Reads a number of at most `most` digits.
fn number(text: &[u8], radix: u32, most: usize) -> Option<(Option<u8>, &[u8])> {
    let digit = |byte: &u8| char::from(*byte).to_digit(radix);
    let digits = text.iter().take(most).map_while(digit);
    let (count, value) = digits.fold((0, 0), |(count, value), digit| (count + 1, value * radix + digit));
    let value = u8::try_from(value).ok().filter(|_| count > 0)?;
    Some((Some(value), &text[count..]))
}

fn control(byte: u8) -> Option<u8> {
    match byte {
        b'?' => Some(0x7f),
        b'@'..=b'_' | b'a'..=b'z' => Some(byte & 0x1f),
        _ => None,
    }
}

fn named(letter: u8) -> Option<u8> {
    Some(match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b's' => b' ',
        b't' => b'\t',
        b'v' => 0x0b,
        b'E' => 0x1b,
        mark if mark.is_ascii_punctuation() => mark,
        _ => return None,
    })
}
