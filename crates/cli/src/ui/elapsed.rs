//! The time that the work took, and the rate, at the end of a summary.

use std::time::Duration;

use serde_json::{Value, json};

use crate::host::Host;

/// The smallest number of bytes for which a rate is shown. Smaller work is done before all workers have started.
const RATE_LEAST: u64 = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub struct Started {
    at: Duration,
    wall_time: fn() -> Duration,
}

impl Started {
    pub fn now(host: &Host) -> Started {
        Started { at: (host.wall_time)(), wall_time: host.wall_time }
    }

    /// Returns the time since the start, in which `bytes` of uncompressed content were processed.
    pub fn elapsed(&self, bytes: u64) -> Elapsed {
        Elapsed { time: (self.wall_time)().saturating_sub(self.at), bytes }
    }
}

/// A time, and the bytes of uncompressed content that were processed in it.
#[derive(Debug, Clone, Copy)]
pub struct Elapsed {
    pub time: Duration,
    pub bytes: u64,
}

impl Elapsed {
    /// Returns text such as `2.31 s, 216 MiB/s`; the rate is shown from 1 MiB on.
    pub fn text(&self) -> String {
        let rate = self.rate().map_or(String::new(), |rate| format!(", {}", show_rate(rate)));
        format!("{}{rate}", show_time(self.time))
    }

    pub fn put_into(&self, object: &mut Value) {
        object["seconds"] = json!(self.time.as_secs_f64());
        object["bytes_per_second"] = json!(self.rate().map(|rate| rate.round() as u64));
    }

    /// Bytes per second.
    fn rate(&self) -> Option<f64> {
        let tells = self.bytes >= RATE_LEAST && !self.time.is_zero();
        tells.then(|| self.bytes as f64 / self.time.as_secs_f64())
    }
}

/// Returns a time for people, with three digits.
pub fn show_time(time: Duration) -> String {
    let seconds = time.as_secs();
    let milliseconds = time.as_millis();
    match seconds {
        0 => format!("{} ms", milliseconds.max(1)),
        1..10 => format!("{:.2} s", time.as_secs_f64()),
        10..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

const MIB: f64 = 1_048_576.0;
const TEN_MIB: f64 = 10.0 * MIB;

fn show_rate(rate: f64) -> String {
    match rate {
        ..MIB => format!("{:.0} KiB/s", rate / 1024.0),
        MIB..TEN_MIB => format!("{:.1} MiB/s", rate / MIB),
        _ => format!("{:.0} MiB/s", rate / MIB),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elapsed(milliseconds: u64, bytes: u64) -> Elapsed {
        Elapsed { time: Duration::from_millis(milliseconds), bytes }
    }

    #[test]
    fn formats_times_and_rates() {
        let cases = [
            (elapsed(0, 0), "1 ms"),
            (elapsed(0, 5 << 20), "1 ms"),
            (elapsed(999, 3), "999 ms"),
            (elapsed(2310, 500_000_000), "2.31 s, 206 MiB/s"),
            (elapsed(50_000, 100_000_000), "50.0 s, 1.9 MiB/s"),
            (elapsed(125_000, 1 << 20), "2 min 05 s, 8 KiB/s"),
            (elapsed(3_720_000, 1_000_000_000_000), "1 h 02 min, 256 MiB/s"),
        ];
        for (elapsed, text) in cases {
            assert_eq!(elapsed.text(), text, "{elapsed:?}");
        }
    }

    #[test]
    fn json_omits_meaningless_rate() {
        let members = |elapsed: Elapsed| {
            let mut object = json!({});
            elapsed.put_into(&mut object);
            object.to_string()
        };
        assert_eq!(members(elapsed(1500, 3_000_000)), r#"{"bytes_per_second":2000000,"seconds":1.5}"#);
        assert_eq!(members(elapsed(1500, 3)), r#"{"bytes_per_second":null,"seconds":1.5}"#);
    }
}
