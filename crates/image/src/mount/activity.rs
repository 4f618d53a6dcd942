//! Whether a mount is in use: by requests, or by open files and directories.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Interval of the checks of a mount that ends when it is idle.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// Counts requests, and open files and directories.
#[derive(Debug, Default)]
pub(super) struct Activity {
    requests: AtomicU64,
    open: AtomicUsize,
}

impl Activity {
    /// Called for each request.
    pub(super) fn asked(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Called when a file or directory is opened.
    pub(super) fn opened(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// Called when a file or directory is closed, which is a request, too.
    pub(super) fn closed(&self) {
        self.asked();
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Starts to measure the idle time.
    pub(super) fn quiet(self: &Arc<Activity>) -> Quiet {
        Quiet { activity: Arc::clone(self), requests: self.requests.load(Ordering::Relaxed), time: Duration::ZERO }
    }
}

/// The time since the mount was used last.
#[derive(Debug)]
pub(super) struct Quiet {
    activity: Arc<Activity>,
    /// Requests at the last tick.
    requests: u64,
    time: Duration,
}

impl Quiet {
    /// Returns the time without a use until now. The caller must call it after each [`TICK`].
    pub(super) fn tick(&mut self) -> Duration {
        // Open files are read first. Closing a file counts as a request, so one of the two values shows it.
        let open = self.activity.open.load(Ordering::Acquire);
        let requests = self.activity.requests.load(Ordering::Acquire);
        let used = open > 0 || requests != self.requests;
        self.requests = requests;
        self.time = if used { Duration::ZERO } else { self.time + TICK };
        self.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_open_files_are_use() {
        let activity = Arc::new(Activity::default());
        activity.asked();
        let mut quiet = activity.quiet();
        assert_eq!((quiet.tick(), quiet.tick()), (TICK, 2 * TICK));
        activity.asked();
        assert_eq!((quiet.tick(), quiet.tick()), (Duration::ZERO, TICK));
        activity.opened();
        assert_eq!((quiet.tick(), quiet.tick()), (Duration::ZERO, Duration::ZERO));
        activity.closed();
        assert_eq!((quiet.tick(), quiet.tick()), (Duration::ZERO, TICK));
    }
}
