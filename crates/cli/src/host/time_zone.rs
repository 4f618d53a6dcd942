//! The time zone of this machine: `TZ`, else `/etc/localtime`.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Seconds that local time is ahead of UTC at a time, seconds since 1970; 0 where the time zone is not known.
pub fn utc_offset(time: i64) -> i64 {
    static ZONE: LazyLock<TimeZone> = LazyLock::new(|| TimeZone::try_system().unwrap_or(TimeZone::UTC));
    Timestamp::from_second(time).map_or(0, |time| ZONE.to_offset(time).seconds().into())
}
