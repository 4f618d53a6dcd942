//! Base64 (RFC 4648, section 4) without padding; each file format handles its own padding.

/// Decodes digits. `None` for a byte that is not a digit, or a single digit left over.
#[must_use]
pub fn from_base64(digits: &[u8]) -> Option<Vec<u8>> {
    if digits.len() % 4 == 1 {
        return None;
    }
    let mut value = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let bits = group.iter().try_fold(0u32, |bits, &digit| Some(bits << 6 | sextet(digit)?))?;
        let bits = bits << (6 * (4 - group.len()));
        value.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(value)
}

fn sextet(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}
