//! Hexadecimal text.

/// Two lower-case digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]).collect()
}

/// Decodes digits of either case. `None` if there is any other character, or an odd number of digits.
pub fn from_hex(digits: &[u8]) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks_exact(2).map(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?)).collect()
}

/// The value of a digit of either case.
pub fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_digits_of_either_case() {
        assert_eq!(from_hex(b"00fFA5").unwrap(), b"\x00\xff\xa5");
        assert_eq!(from_hex(b"").unwrap(), b"");
        assert_eq!(from_hex(b"0"), None);
        assert_eq!(from_hex(b"0g"), None);
    }

    #[test]
    fn from_hex_inverts_hex() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(hex(&all[..18]), "000102030405060708090a0b0c0d0e0f1011");
        assert_eq!(from_hex(hex(&all).as_bytes()), Some(all));
    }
}
