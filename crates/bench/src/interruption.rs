//! Interruption by a signal: the running program is killed, and results so far are reported before the process ends.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::Error;

/// Longest time after the signal in which the report is written.
const REPORT_TIME: Duration = Duration::from_secs(20);

/// Whether the benchmark is interrupted; shared with the thread that waits for signals.
#[derive(Clone, Default)]
pub struct Interruption(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    running: Option<Pid>,
    requested: bool,
    /// Whether there are results to report.
    measured: bool,
    reported: bool,
}

impl Interruption {
    /// Whether it is interrupted: no further program is started.
    pub fn is_requested(&self) -> bool {
        self.lock().requested
    }

    /// Records that there are results, which are reported in any case.
    pub(crate) fn set_measured(&self) {
        self.lock().measured = true;
    }

    /// Records that the report is written. After an interruption this never returns: the thread that waits for signals ends the
    /// process.
    pub fn finish(&self) {
        let mut state = self.lock();
        state.reported = true;
        self.0.changed.notify_all();
        if state.requested {
            drop(state);
            loop {
                std::thread::park();
            }
        }
    }

    /// Starts a program with `spawn`, under the lock: an interruption finds each program either running or not started.
    ///
    /// # Errors
    /// Those of `spawn`, or that it is interrupted.
    pub(crate) fn start<T>(&self, spawn: impl FnOnce() -> Result<(T, Option<Pid>), Error>) -> Result<T, Error> {
        let mut state = self.lock();
        if state.requested {
            return Err(Error::failed("interrupted"));
        }
        let (started, pid) = spawn()?;
        state.running = pid;
        Ok(started)
    }

    /// Collects the program that ran with `collect`, under the lock: its process id is never used for another process.
    pub(crate) fn end<T>(&self, collect: impl FnOnce() -> T) -> T {
        let mut state = self.lock();
        state.running = None;
        collect()
    }

    /// Interrupts the benchmark: kills the running program and waits until the report is written, if there are results. Called on the
    /// thread that waits for signals.
    pub fn interrupt(&self) {
        let mut state = self.lock();
        state.requested = true;
        if let Some(pid) = state.running {
            // It may have ended by itself.
            let _: rustix::io::Result<()> = kill_process_group(pid, Signal::KILL);
            wait_for_exit(pid);
        }
        if !state.measured {
            // The lock stays held, so that the main thread does not report the killed program as a failure.
            std::mem::forget(state);
            return;
        }
        drop(self.0.changed.wait_timeout_while(state, REPORT_TIME, |state| !state.reported));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until a program has ended, without collecting it.
pub fn wait_for_exit(pid: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_started_after_an_interruption_and_the_report_is_waited_for() {
        let interruption = Interruption::default();
        interruption.set_measured();
        let seen = interruption.clone();
        let stopping = std::thread::spawn(move || seen.interrupt());
        while !interruption.is_requested() {
            std::thread::yield_now();
        }
        assert!(interruption.start(|| Ok(((), None))).is_err());
        assert!(!stopping.is_finished());
        let reporting = interruption.clone();
        // It never returns.
        std::thread::spawn(move || reporting.finish());
        stopping.join().unwrap();
        assert!(interruption.lock().reported);
    }
}
