//! Values of options as text.

use crate::error::Error;

/// The values of a switch, for messages.
pub(crate) const SWITCH: &str = "yes or no";

/// The error of a value that an option does not have.
pub(crate) fn wrong(name: &str, value: &str, expected: &str) -> Error {
    Error::Request { what: format!("option {name}: invalid value '{value}'"), expected: expected.to_string() }
}

/// Parses the value of a switch.
pub(crate) fn switch(value: &str) -> Option<bool> {
    match value {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

/// Parses a number of bytes with an optional unit of 1024, 1024², and so on.
pub(crate) fn size(value: &str) -> Option<u64> {
    let shift = match value.bytes().last()? {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        b'T' => 40,
        _ => return value.parse().ok(),
    };
    value[..value.len() - 1].parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("0", 0), ("4096", 4096), ("128K", 128 << 10), ("2T", 2 << 40)] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "K", "1k", "-1", "1.5M", "99999999999999T", "1KK", "é"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
