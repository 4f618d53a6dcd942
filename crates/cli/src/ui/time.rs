//! Formats times as dates in UTC, because output must not depend on the time zone. Only drop-ins print local times, with the offset of
//! `host/clock.rs`.

use packline_tree::Time;
use serde_json::{Map, Value};

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A moment of the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    year: i64,
    month: usize,
    day: i64,
    /// The day of the week, counted from Sunday.
    weekday: usize,
    seconds: i64,
}

impl Moment {
    /// Returns the moment `seconds` after the beginning of 1970.
    pub fn of(time: i64) -> Moment {
        let days = time.div_euclid(86_400);
        let seconds = time.rem_euclid(86_400);
        // A year begins on March 1, so that a leap day is the last day of its year: 400 years have 146,097 days.
        let from_march = days + 719_468;
        let era = from_march.div_euclid(146_097);
        let of_era = from_march.rem_euclid(146_097);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = ((from_march + 2) % 12) as usize;
        let year = era * 400 + year + i64::from(month < 2);
        Moment { year, month, day, weekday: (days + 4).rem_euclid(7) as usize, seconds }
    }

    /// Formats like `2026-11-21 14:59:19`.
    pub fn iso(&self) -> String {
        format!("{:04}-{:02}-{:02} {}", self.year, self.month + 1, self.day, self.clock())
    }

    /// Formats like `2026-11-21 14:59`, as `ls --time-style=long-iso` does.
    pub fn long_iso(&self) -> String {
        let mut text = self.iso();
        text.truncate(text.len() - 3);
        text
    }

    /// Formats like `Sat, 21 Nov 2026 14:59:19 +0000`.
    pub fn mail(&self) -> String {
        let weekday = DAYS[self.weekday];
        let month = MONTHS[self.month];
        format!("{weekday}, {:02} {month} {} {} +0000", self.day, self.year, self.clock())
    }

    /// Formats like `2026-11-21 14:59`.
    pub fn minute(&self) -> String {
        self.iso().rsplit_once(':').map_or_else(String::new, |(minute, _)| minute.to_string())
    }

    /// Formats like asctime(3): `Sat Nov 21 14:59:19 2026`.
    pub fn asctime(&self) -> String {
        let weekday = DAYS[self.weekday];
        let month = MONTHS[self.month];
        format!("{weekday} {month} {:>2} {} {}", self.day, self.clock(), self.year)
    }

    fn clock(&self) -> String {
        format!("{:02}:{:02}:{:02}", self.seconds / 3600, self.seconds / 60 % 60, self.seconds % 60)
    }
}

/// Formats like `2026-11-21 14:59:19`, with a fraction like `.000000001` if the time is not in whole seconds.
pub fn precise(time: Time) -> String {
    let moment = Moment::of(time.seconds()).iso();
    match time.nanoseconds() {
        0 => moment,
        nanoseconds => format!("{moment}.{nanoseconds:09}"),
    }
}

/// Inserts the nanoseconds of a time into a JSON object, if the time is not in whole seconds.
pub fn put_nanoseconds(object: &mut Map<String, Value>, key: &str, time: Time) {
    if time.nanoseconds() > 0 {
        object.insert(key.to_string(), time.nanoseconds().into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_known_times() {
        let cases = [
            (0, "1970-01-01 00:00:00", "Thu, 01 Jan 1970 00:00:00 +0000"),
            (-1, "1969-12-31 23:59:59", "Wed, 31 Dec 1969 23:59:59 +0000"),
            (951_782_400, "2000-02-29 00:00:00", "Tue, 29 Feb 2000 00:00:00 +0000"),
            (1_795_273_159, "2026-11-21 14:59:19", "Sat, 21 Nov 2026 14:59:19 +0000"),
            (4_107_542_400, "2100-03-01 00:00:00", "Mon, 01 Mar 2100 00:00:00 +0000"),
            (u32::MAX.into(), "2106-02-07 06:28:15", "Sun, 07 Feb 2106 06:28:15 +0000"),
        ];
        for (time, iso, mail) in cases {
            let moment = Moment::of(time);
            assert_eq!((moment.iso().as_str(), moment.mail().as_str()), (iso, mail));
            assert!(iso.starts_with(&moment.long_iso()) && moment.long_iso().ends_with(&iso[13..16]));
        }
        assert_eq!(precise(Time::from_seconds(-1)), "1969-12-31 23:59:59");
        assert_eq!(precise(Time::new(-1, 1_000)), "1969-12-31 23:59:59.000001000");
        let moment = Moment::of(1_793_543_759);
        assert_eq!(
            (moment.minute().as_str(), moment.asctime().as_str()),
            ("2026-11-01 14:35", "Sun Nov  1 14:35:59 2026")
        );
    }
}
