//! Reads the clock and the time zone; no other file does.
#![allow(clippy::disallowed_methods, reason = "this is the only file that may read the clock")]

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rustix::time::{ClockId, clock_gettime};

/// Returns the present time in seconds since 1970, within the 32 bits that SquashFS stores (until 2106).
pub fn now() -> u32 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u32::try_from(since.as_secs()).unwrap_or(u32::MAX)
}

/// A stopwatch of a monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Returns the nanoseconds since the start.
    pub fn nanoseconds(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Returns the time of a monotonic clock, since an arbitrary start.
pub fn wall_time() -> Duration {
    time_of(ClockId::Monotonic)
}

/// Returns the processor time that the calling thread has used.
pub fn thread_time() -> Duration {
    time_of(ClockId::ThreadCPUTime)
}

/// Returns the processor time that all threads of this process have used.
pub fn process_time() -> Duration {
    time_of(ClockId::ProcessCPUTime)
}

fn time_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns how many seconds local time is ahead of UTC at a time in seconds since 1970. The time zone is `TZ` or `/etc/localtime`; UTC if
/// neither is known.
pub fn utc_offset(time: i64) -> i64 {
    static ZONE: LazyLock<TimeZone> = LazyLock::new(|| TimeZone::try_system().unwrap_or(TimeZone::UTC));
    Timestamp::from_second(time).map_or(0, |time| ZONE.to_offset(time).seconds().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_advance() {
        let watch = Stopwatch::start();
        let before = thread_time();
        let sum: u64 = (0..1_000_000u64).map(std::hint::black_box).sum();
        assert!(sum > 0 && watch.nanoseconds() > 0 && thread_time() > before && wall_time() > Duration::ZERO);
    }
}
