//! Workers, memory and temporary space.

use std::path::PathBuf;

use packline_engine::{CancelToken, Config};

/// Limits on what the process may use, cancellation and scheduling. They change no byte of an output.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Resources {
    /// Worker threads; 0 does everything on the caller's thread.
    pub workers: usize,
    /// Bytes that the process may have resident at most; `None` for no limit.
    pub memory: Option<u64>,
    /// Bytes of content in flight at most; `None` for the default.
    pub window: Option<u64>,
    /// Directory for unnamed temporary files, for data that memory has no room for; `None` for none: then such data is decoded
    /// again where that is possible, and an error elsewhere.
    pub scratch: Option<PathBuf>,
    /// Stops the work when set.
    pub cancel: CancelToken,
    /// Scheduling, caller participation and tracing. `workers` and `budget` in here are ignored; the fields above apply.
    pub engine: Config,
}

impl Resources {
    /// `workers` threads, without a limit on memory.
    #[must_use]
    pub fn new(workers: usize) -> Resources {
        Resources { workers, ..Resources::default() }
    }

    /// Sets the limit on the memory that the process may have resident, bytes; `None` for no limit.
    #[must_use]
    pub fn memory_limit(self, bytes: impl Into<Option<u64>>) -> Resources {
        Resources { memory: bytes.into(), ..self }
    }
}
