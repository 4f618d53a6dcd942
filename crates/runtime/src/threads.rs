//! Limits on threads: how many more this process may start, and the error if it cannot start one that it needs.

use std::fs::metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, scope, sleep};
use std::time::Duration;

/// Milliseconds to wait at most for threads that have ended.
const PATIENCE: u32 = 100;

/// The error of starting a thread, with advice.
#[must_use]
pub fn refused(cause: &io::Error) -> io::Error {
    let what = format!("cannot start a thread: {cause}; the limits on processes and memory must allow one more thread");
    io::Error::new(cause.kind(), what)
}

/// How many of `most` threads can be started now, for libraries that start threads themselves and fail otherwise. Starts them all, and ends
/// them before it returns.
#[must_use]
pub fn startable(most: usize) -> usize {
    let before = running();
    let gate = Mutex::new(());
    let count = scope(|scope| {
        // The lock keeps every thread alive until all are counted.
        let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
        let count = (0..most).take_while(|_| Builder::new().spawn_scoped(scope, || drop(gate.lock())).is_ok()).count();
        drop(closed);
        count
    });
    // A thread counts against the limit until the kernel has removed it, some time after it has ended for this process.
    (0..PATIENCE).take_while(|_| running() > before).for_each(|_| sleep(Duration::from_millis(1)));
    count
}

/// Threads of this process in the kernel's count, plus a constant; `None` without /proc.
fn running() -> Option<u64> {
    Some(metadata("/proc/self/task").ok()?.nlink())
}

#[cfg(test)]
mod tests {
    use super::startable;

    #[test]
    fn a_few_threads_can_be_started() {
        assert_eq!([startable(0), startable(1), startable(20)], [0, 1, 20]);
    }
}
