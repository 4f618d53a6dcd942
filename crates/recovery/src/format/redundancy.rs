//! The redundancy: how many recovery shards a file gets.

use std::fmt;

/// 100 percent, in hundredths of a percent.
const WHOLE: u32 = 10_000;
const EXPECTED: &str = "a percentage from 0.01% to 100%, with at most two decimals, such as 5%";

/// Recovery shards as a share of the file's shards: from 0.01 to 100 percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redundancy(u32);

impl Redundancy {
    /// Parses `5%`, `5` or `0.25%`.
    ///
    /// # Errors
    /// Returns a message with the expected form if the text is not a percentage from 0.01 to 100.
    pub fn parse(text: &str) -> Result<Redundancy, String> {
        hundredths(text.strip_suffix('%').unwrap_or(text))
            .filter(|value| (1..=WHOLE).contains(value))
            .map(Redundancy)
            .ok_or_else(|| format!("invalid redundancy '{text}' (expected {EXPECTED})"))
    }

    /// Returns the number of recovery shards for `shards` shards: the share, rounded up, plus one, and at most `shards`. A run of lost bytes
    /// usually begins within a shard and ends within another, so it touches one shard more.
    pub(crate) fn shards(self, shards: u32) -> u32 {
        let exact = u64::from(shards) * u64::from(self.0);
        (exact.div_ceil(u64::from(WHOLE)) as u32 + 1).min(shards)
    }
}

impl fmt::Display for Redundancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 100, self.0 % 100) {
            (whole, 0) => write!(f, "{whole}%"),
            (whole, part) => write!(f, "{whole}.{part:02}%"),
        }
    }
}

/// `1.5` as 150.
fn hundredths(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 3 || part.len() > 2 || !digits(whole) || !digits(part) {
        return None;
    }
    let part: u32 = format!("{part:0<2}").parse().ok()?;
    Some(whole.parse::<u32>().ok()? * 100 + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints_percentages() {
        for (text, shown) in [("5%", "5%"), ("5", "5%"), ("0.25%", "0.25%"), ("1.5", "1.50%"), ("100%", "100%")] {
            assert_eq!(Redundancy::parse(text).unwrap().to_string(), shown);
        }
        for text in ["", "%", "0", "0%", "0.001", "100.01", "101%", "-5%", "5%%", "+5", "1e1", ".5", "5.%x", "9999"] {
            assert!(Redundancy::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rounds_recovery_shards_up_and_adds_one() {
        let shards = |text: &str, of: u32| Redundancy::parse(text).unwrap().shards(of);
        assert_eq!([shards("5%", 1), shards("5%", 20), shards("5%", 21), shards("5%", 16384)], [1, 2, 3, 821]);
        assert_eq!([shards("0.01%", 16384), shards("100%", 16384), shards("100%", 1)], [3, 16384, 1]);
    }
}
