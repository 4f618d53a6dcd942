//! What the machine gives: nothing of it changes a byte.

use packline_engine::{CancelToken, Config};

/// Workers and memory.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Worker threads; 0 does everything on the caller's thread.
    pub workers: usize,
    /// Bytes that the process may have resident, at most; `None` for no limit.
    pub memory: Option<u64>,
    /// Use the serial reference, which has neither threads nor queues.
    pub serial: bool,
    /// Stops the work when set.
    pub cancel: CancelToken,
    /// How workers find their jobs, whether the caller helps, who is told what happens; its numbers are not used.
    pub line: Config,
}

impl Machine {
    /// Workers that are wanted: none for the serial reference.
    pub(crate) fn wanted(&self) -> usize {
        if self.serial { 0 } else { self.workers }
    }
}
