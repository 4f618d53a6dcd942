//! Whether a mount is used: by requests, or by files and directories that are open.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// How often a mount is looked at that ends when it is idle.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// Counts requests and what is open.
#[derive(Debug, Default)]
pub(super) struct Activity {
    requests: AtomicU64,
    open: AtomicUsize,
}

impl Activity {
    /// A request came.
    pub(super) fn asked(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// A file or directory was opened.
    pub(super) fn opened(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// One was closed, which is a request too.
    pub(super) fn closed(&self) {
        self.asked();
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Starts to measure for how long nothing happens.
    pub(super) fn quiet(self: &Arc<Activity>) -> Quiet {
        Quiet { activity: Arc::clone(self), requests: self.requests.load(Ordering::Relaxed), time: Duration::ZERO }
    }
}

/// For how long a mount has not been used.
#[derive(Debug)]
pub(super) struct Quiet {
    activity: Arc<Activity>,
    /// Requests at the last tick.
    requests: u64,
    time: Duration,
}

impl Quiet {
    /// To be called after each [`TICK`]: the time without a use until now.
    pub(super) fn tick(&mut self) -> Duration {
        // Open files are read first: closing one counts as a request, so one of both shows it.
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
