//! What the machine gives: nothing of it changes a byte.

use std::path::PathBuf;

use packline_engine::{CancelToken, Config};

/// Workers, memory, room for temporary files.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Worker threads; 0 does everything on the caller's thread.
    pub workers: usize,
    /// Bytes that the process may have resident, at most; `None` for no limit.
    pub memory: Option<u64>,
    /// Where files without a name are made for what memory has no room for; `None` for nowhere: what does not fit is an error.
    pub scratch: Option<PathBuf>,
    /// Use the serial reference, which has neither threads nor queues.
    pub serial: bool,
    /// Stops the work when set.
    pub cancel: CancelToken,
    /// How workers find their jobs, whether the caller helps, who is told what happens; its numbers are not used.
    pub line: Config,
}
