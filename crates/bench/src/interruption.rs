//! Interruption by a signal. The running program is killed, and the results so far are reported before the process ends.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::Error;

/// The longest time for writing the report after the signal.
const REPORT_TIME: Duration = Duration::from_secs(20);

/// The state of the interruption, shared with the thread that waits for signals.
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
    /// Whether the benchmark is interrupted. Then no further program is started.
    pub fn is_requested(&self) -> bool {
        self.lock().requested
    }

    /// Records that there are results, so that they are reported after an interruption.
    pub(crate) fn set_measured(&self) {
        self.lock().measured = true;
    }

    /// Records that the report is written. After an interruption, this never returns, because the thread that waits for signals ends the
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

    /// Starts a program with `spawn` while it holds the lock. An interruption finds each program either running or not started.
    ///
    /// # Errors
    /// Returns the error of `spawn`, or an error if the benchmark is interrupted.
    pub(crate) fn start<T>(&self, spawn: impl FnOnce() -> Result<(T, Option<Pid>), Error>) -> Result<T, Error> {
        let mut state = self.lock();
        if state.requested {
            return Err(Error::failed("interrupted"));
        }
        let (started, pid) = spawn()?;
        state.running = pid;
        Ok(started)
    }

    /// Collects the program that ran with `collect` while it holds the lock, so that the program's process id is not reused for another
    /// process.
    pub(crate) fn end<T>(&self, collect: impl FnOnce() -> T) -> T {
        let mut state = self.lock();
        state.running = None;
        collect()
    }

    /// Interrupts the benchmark: kills the running program, and waits until the report is written if there are results. The thread that waits
    /// for signals calls it.
    pub fn interrupt(&self) {
        let mut state = self.lock();
        state.requested = true;
        if let Some(pid) = state.running {
            // The program may have ended already.
            let _: rustix::io::Result<()> = kill_process_group(pid, Signal::KILL);
            wait_for_exit(pid);
        }
        if !state.measured {
            // The lock is never released, so that the main thread does not report the killed program as a failure.
            std::mem::forget(state);
            return;
        }
        drop(self.0.changed.wait_timeout_while(state, REPORT_TIME, |state| !state.reported));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until a program ends, without collecting it.
pub fn wait_for_exit(pid: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn starts_nothing_after_an_interruption_and_waits_for_the_report() {
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
        // `finish` never returns.
        std::thread::spawn(move || reporting.finish());
        stopping.join().unwrap();
        assert!(interruption.lock().reported);
    }
}
