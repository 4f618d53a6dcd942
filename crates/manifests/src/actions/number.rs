//! Numbers in tests: `<80K`, `>=3`, and `-5` and `+5` as in find(1).

use packline_runtime::escape::Escape;

use super::ActionFault;

/// The numbers for which a test is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    least: i64,
    most: i64,
}

impl Numbers {
    pub fn only(number: i64) -> Numbers {
        Numbers { least: number, most: number }
    }

    /// Parses a number with an optional comparison before it.
    pub fn parse(text: &[u8]) -> Result<Numbers, ActionFault> {
        let all = Numbers { least: i64::MIN, most: i64::MAX };
        Ok(match text {
            [b'<', b'=', rest @ ..] => Numbers { most: number(rest)?, ..all },
            [b'>', b'=', rest @ ..] => Numbers { least: number(rest)?, ..all },
            [b'<' | b'-', rest @ ..] => Numbers { most: number(rest)?.saturating_sub(1), ..all },
            [b'>' | b'+', rest @ ..] => Numbers { least: number(rest)?.saturating_add(1), ..all },
            _ => Numbers::only(number(text)?),
        })
    }

    /// The numbers from `least` to `most`, inclusive.
    pub fn between(least: &[u8], most: &[u8]) -> Result<Numbers, ActionFault> {
        Ok(Numbers { least: number(least)?, most: number(most)? })
    }

    pub fn contain(self, number: i64) -> bool {
        (self.least..=self.most).contains(&number)
    }
}

/// Parses a number with an optional suffix K, M or G.
pub(super) fn number(text: &[u8]) -> Result<i64, ActionFault> {
    let (digits, shift) = match text {
        [digits @ .., b'k' | b'K'] => (digits, 10),
        [digits @ .., b'm' | b'M'] => (digits, 20),
        [digits @ .., b'g' | b'G'] => (digits, 30),
        digits => (digits, 0),
    };
    let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<i64>().ok());
    number.and_then(|number| number.checked_mul(1 << shift)).ok_or_else(|| {
        let what = format!("'{}' is not a number", text.escaped());
        ActionFault::new(
            what,
            "digits, K, M or G after them, and at most a comparison (<, <=, >=, >, -, +) before them",
        )
    })
}
