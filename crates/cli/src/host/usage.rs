//! Reads the processor time and the system calls of this process; no other file does.

use std::fs;
use std::time::Duration;

use super::clock;

/// What this process has used so far. Parts that the system does not tell are 0.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// The calling thread.
    pub thread: Processor,
    /// All threads, including those that ended.
    pub process: Processor,
    pub transfers: Transfers,
}

/// Processor time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Processor {
    /// User and system together, exact.
    pub total: Duration,
    /// The share of the system, in whole ticks: on most kernels a hundredth of a second.
    pub system: Duration,
}

/// Bytes and calls of the system calls that read and write, to files, pipes and sockets. Each byte is copied once by the kernel, unless
/// the call moves pages.
#[derive(Debug, Clone, Copy, Default)]
pub struct Transfers {
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub calls: u64,
}

/// The length of a tick in `/proc/*/stat`, in milliseconds. Linux fixes it for all programs.
const TICK_MS: u64 = 10;

/// Reads what this process has used so far.
pub fn usage() -> Usage {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    Usage {
        thread: Processor { total: clock::thread_time(), system: system_time(&read("/proc/thread-self/stat")) },
        process: Processor { total: clock::process_time(), system: system_time(&read("/proc/self/stat")) },
        transfers: transfers_in(&read("/proc/self/io")),
    }
}

/// Returns the system time in a `/proc/*/stat` file: its 15th field. The second field, a name in brackets, may have blanks.
fn system_time(stat: &str) -> Duration {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = after_name.split_ascii_whitespace().nth(12).and_then(|field| field.parse().ok());
    Duration::from_millis(ticks.unwrap_or(0u64).saturating_mul(TICK_MS))
}

fn transfers_in(io: &str) -> Transfers {
    let number = |key: &str| {
        let value = io.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
        value.unwrap_or(0)
    };
    Transfers {
        read_bytes: number("rchar:"),
        written_bytes: number("wchar:"),
        calls: number("syscr:").saturating_add(number("syscw:")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_fields_after_a_name_with_blanks() {
        let stat = "7 (a b) c) R 1 2 3 0 -1 4194304 101 0 0 0 41 25 0 0 20 0 1";
        assert_eq!(system_time(stat), Duration::from_millis(250));
        assert_eq!(system_time(""), Duration::ZERO);
    }

    #[test]
    fn reads_transfers() {
        let found = transfers_in("rchar: 6976\nwchar: 12\nsyscr: 10\nsyscw: 3\nread_bytes: 5\n");
        assert_eq!((found.read_bytes, found.written_bytes, found.calls), (6976, 12, 13));
        assert_eq!(transfers_in("").calls, 0);
    }

    #[test]
    fn a_thread_uses_no_more_than_its_process() {
        let sum: u64 = (0..1_000_000u64).map(std::hint::black_box).sum();
        let Usage { thread, process, .. } = usage();
        assert!(sum > 0 && thread.total > Duration::ZERO && thread.total <= process.total);
    }
}
