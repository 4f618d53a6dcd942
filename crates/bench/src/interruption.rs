//! A signal that ends the benchmark: the running program is killed, and what was measured is reported before the process ends.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::failure::Failure;
use crate::signals::Farewell;

/// The longest that the process goes on after the signal, to write its report.
const REPORT_MOST: Duration = Duration::from_secs(20);

/// Whether a signal has come, shared with the thread that waits for it.
#[derive(Clone, Default)]
pub struct Interruption(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The program that is running.
    running: Option<Pid>,
    asked: bool,
    /// Whether there is something to report.
    measured: bool,
    reported: bool,
}

impl Interruption {
    /// From here on a signal kills the running program, and the process ends after the report if there is something to report.
    pub fn watching(farewell: &Farewell) -> Interruption {
        let interruption = Interruption::default();
        let seen = interruption.clone();
        farewell.set_first(move || seen.stop());
        interruption
    }

    /// Whether a signal has come: nothing is to be started.
    pub fn is_asked(&self) -> bool {
        self.lock().asked
    }

    /// Records that something was measured, which is to be reported whatever happens.
    pub fn note_measured(&self) {
        self.lock().measured = true;
    }

    /// Records that the report is written. After a signal this never returns: the process ends.
    pub fn settle(&self) {
        let mut state = self.lock();
        state.reported = true;
        self.0.changed.notify_all();
        if state.asked {
            drop(state);
            // The thread that waits for signals removes temporary files and ends the process.
            loop {
                std::thread::park();
            }
        }
    }

    /// Starts a program with `spawn`, under the lock: a signal finds each program either running or not started.
    ///
    /// # Errors
    /// Those of `spawn`, or that a signal has come.
    pub fn start<T>(&self, spawn: impl FnOnce() -> Result<(T, Option<Pid>), Failure>) -> Result<T, Failure> {
        let mut state = self.lock();
        if state.asked {
            return Err(Failure::failed("interrupted"));
        }
        let (started, pid) = spawn()?;
        state.running = pid;
        Ok(started)
    }

    /// Collects the program that ran with `collect`, so that its number is not taken for that of another.
    pub fn end<T>(&self, collect: impl FnOnce() -> T) -> T {
        let mut state = self.lock();
        state.running = None;
        collect()
    }

    /// On the thread that waits for signals.
    fn stop(&self) {
        let mut state = self.lock();
        state.asked = true;
        if let Some(pid) = state.running {
            // It may have ended by itself.
            let _: rustix::io::Result<()> = kill_process_group(pid, Signal::KILL);
            await_end(pid);
        }
        if !state.measured {
            // The main thread waits for ever, and reports no failure of the program that was killed.
            std::mem::forget(state);
            return;
        }
        drop(self.0.changed.wait_timeout_while(state, REPORT_MOST, |state| !state.reported));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until a program has ended, and leaves it to be collected.
pub fn await_end(pid: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_started_after_a_stop_and_the_report_is_waited_for() {
        let interruption = Interruption::default();
        interruption.note_measured();
        let seen = interruption.clone();
        let stopping = std::thread::spawn(move || seen.stop());
        while !interruption.is_asked() {
            std::thread::yield_now();
        }
        assert!(interruption.start(|| Ok(((), None))).is_err());
        assert!(!stopping.is_finished());
        let reporting = interruption.clone();
        // It never returns.
        std::thread::spawn(move || reporting.settle());
        stopping.join().unwrap();
        assert!(interruption.lock().reported);
    }
}
