//! What happens when the process is told to stop: temporary files go, and the status says which signal it was.

use std::thread;

use packline::Temporaries;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Starts the thread that waits for SIGINT, SIGTERM and SIGHUP. On the first it removes every temporary file in being and
/// ends the process with status 128 + signal. A hangup that the parent chose to ignore (`nohup`) stays ignored.
pub fn watch(temporaries: Temporaries) -> std::io::Result<()> {
    let mut wanted = vec![SIGINT, SIGTERM];
    if !hangup_is_ignored() {
        wanted.push(SIGHUP);
    }
    let mut signals = Signals::new(wanted)?;
    thread::Builder::new().name("signals".to_string()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            temporaries.remove_for_good();
            std::process::exit(128 + signal);
        }
    })?;
    Ok(())
}

/// Whether SIGHUP (signal 1, the lowest bit) is in the mask of ignored signals.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
