//! What the machine gives: nothing of it changes a byte.

use packline_engine::{CancelToken, Config};

/// Workers and memory.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Worker threads; 0 does everything on the caller's thread.
    pub workers: usize,
    /// Bytes that the process may have resident, at most; `None` for no limit.
    pub memory: Option<u64>,
    /// Stops the work when set.
    pub cancel: CancelToken,
    /// Scheduling, caller participation and tracing. `workers` and `budget` in here are ignored; the fields above apply.
    pub engine: Config,
}
