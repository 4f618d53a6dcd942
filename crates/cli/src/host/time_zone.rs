//! Reads the time zone of this machine: `TZ`, or `/etc/localtime`.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Returns how many seconds local time is ahead of UTC at a time in seconds since 1970; 0 if the time zone is not known.
pub fn utc_offset(time: i64) -> i64 {
    static ZONE: LazyLock<TimeZone> = LazyLock::new(|| TimeZone::try_system().unwrap_or(TimeZone::UTC));
    Timestamp::from_second(time).map_or(0, |time| ZONE.to_offset(time).seconds().into())
}
