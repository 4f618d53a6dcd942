//! The one file here that reads the clock.
#![allow(clippy::disallowed_methods, reason = "reading the clock is this file's purpose")]

use rustix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since a time in the past that stays the same.
pub fn monotonic_seconds() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Processor time in seconds of all threads of this process so far.
pub fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Today's date in UTC as `YYYY-MM-DD`.
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date((seconds / 86_400).cast_signed())
}

/// A time in seconds since 1970 as ISO 8601 in UTC.
pub fn timestamp(seconds: u64) -> String {
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    format!("{}T{:02}:{:02}:{:02}Z", date(day.cast_signed()), second / 3600, second / 60 % 60, second % 60)
}

/// The Gregorian date of a day number counted from 1970-01-01 (Hinnant: chrono-compatible low-level date algorithms,
/// `civil_from_days`).
fn date(day: i64) -> String {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02}")
}

#[cfg(test)]
mod tests {
    use super::{date, timestamp};

    #[test]
    fn known_days() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(19_723), "2024-01-01");
        assert_eq!(date(20_088), "2024-12-31");
    }

    #[test]
    fn times_of_a_day() {
        assert_eq!(timestamp(951_868_799), "2000-02-29T23:59:59Z");
        assert_eq!(timestamp(951_868_800), "2000-03-01T00:00:00Z");
    }
}
