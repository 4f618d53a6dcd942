//! Times of entries.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use rustix::fs::Stat;

const SECOND: u32 = 1_000_000_000;

/// A time in seconds since the beginning of 1970 (UTC), and nanoseconds after the second. Earlier times have negative seconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    // The seconds are split, so that a time takes 12 bytes. The order of the fields is that of times.
    high: i32,
    low: u32,
    nanoseconds: u32,
}

const _: () = assert!(size_of::<Time>() == 12);

impl Time {
    pub const fn from_seconds(seconds: i64) -> Time {
        Time::new(seconds, 0)
    }

    /// Returns the time `nanoseconds` after `seconds`, at most 999,999,999 of them.
    pub const fn new(seconds: i64, nanoseconds: u32) -> Time {
        let nanoseconds = if nanoseconds < SECOND { nanoseconds } else { SECOND - 1 };
        Time { high: (seconds >> 32) as i32, low: seconds as u32, nanoseconds }
    }

    /// Returns the modification time of a file.
    pub fn of_metadata(found: &Metadata) -> Time {
        Time::new(found.mtime(), found.mtime_nsec() as u32)
    }

    pub(crate) fn of_stat(stat: &Stat) -> Time {
        Time::new(stat.st_mtime, stat.st_mtime_nsec as u32)
    }

    /// Returns the whole seconds, rounded down.
    pub const fn seconds(self) -> i64 {
        (self.high as i64) << 32 | self.low as i64
    }

    /// Returns the nanoseconds after the whole seconds, 0 to 999,999,999.
    pub const fn nanoseconds(self) -> u32 {
        self.nanoseconds
    }

    /// Returns the time in whole seconds, rounded down.
    pub const fn floor(self) -> Time {
        Time::from_seconds(self.seconds())
    }
}

/// Writes the seconds as a decimal number, as pax does. Only a fraction has a decimal point: `5`, `-1.5`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanoseconds == 0 {
            return write!(f, "{}", self.seconds());
        }
        let nanoseconds = i128::from(self.seconds()) * i128::from(SECOND) + i128::from(self.nanoseconds);
        let sign = if nanoseconds < 0 { "-" } else { "" };
        let second = u128::from(SECOND);
        let fraction = format!("{:09}", nanoseconds.unsigned_abs() % second);
        write!(f, "{sign}{}.{}", nanoseconds.unsigned_abs() / second, fraction.trim_end_matches('0'))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_decimal_numbers() {
        let cases = [
            (0, 0, "0"),
            (5, 500_000_000, "5.5"),
            (5, 1, "5.000000001"),
            (-1, 0, "-1"),
            (-2, 500_000_000, "-1.5"),
            (-1, 999_999_999, "-0.000000001"),
            (i64::MIN, 0, "-9223372036854775808"),
            (i64::MIN, 250_000_000, "-9223372036854775807.75"),
            (i64::MAX, 999_999_999, "9223372036854775807.999999999"),
        ];
        for (seconds, nanoseconds, text) in cases {
            let time = Time::new(seconds, nanoseconds);
            assert_eq!(
                (time.to_string(), time.seconds(), time.nanoseconds()),
                (text.to_string(), seconds, nanoseconds)
            );
        }
        assert_eq!(Time::new(3, u32::MAX), Time::new(3, 999_999_999));
    }

    #[test]
    fn times_are_ordered() {
        let seconds = [i64::MIN, -1 << 32, -2, -1, 0, 1, u32::MAX.into(), 1 << 32, i64::MAX];
        let times: Vec<Time> =
            seconds.iter().flat_map(|&at| [0, 1, 999_999_999].map(|part| Time::new(at, part))).collect();
        assert!(times.is_sorted() && times.iter().all(|time| time.floor() <= *time && time.floor().nanoseconds() == 0));
    }
}
