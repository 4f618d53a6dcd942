//! Parses times of options: seconds since 1970, or any text that date(1) reads.

use crate::host::commands::parse_date;

/// Returns a time in seconds since 1970.
///
/// # Errors
/// date(1) cannot read the text, or the time does not fit into 32 bits.
pub fn seconds(text: &str) -> Result<u32, String> {
    text.parse().or_else(|_| {
        parse_date(text).ok_or_else(|| {
            format!("'{text}' is not a time (expected seconds since 1970, 0 to 2^32-1, or what date(1) reads)")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_numbers_and_dates() {
        assert_eq!(seconds("1000000000"), Ok(1_000_000_000));
        assert_eq!(seconds("2001-09-09 01:46:40 UTC"), Ok(1_000_000_000));
        for wrong in ["-1", "4294967296", "no such day", "1960-01-01"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
