//! The one file that reads the clock.
#![allow(clippy::disallowed_methods, reason = "this is the file that may")]

use std::time::SystemTime;

/// Now, seconds since 1970; 0 before, and the last second that SquashFS can hold after 2106.
pub fn now() -> u32 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u32::try_from(since.as_secs()).unwrap_or(u32::MAX)
}
