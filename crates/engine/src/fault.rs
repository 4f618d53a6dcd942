//! Failures of a pipeline.

/// Why a pipeline stopped. [`OrderedMap`](crate::OrderedMap) describes which error is returned when there are several.
#[derive(Debug, thiserror::Error)]
pub enum Fault<E> {
    /// A stage or a step of the container failed with its own error.
    #[error(transparent)]
    Work(E),
    /// A worker panicked with this message. A bug, never the user's fault.
    #[error("internal error: a worker panicked: {0}")]
    Panic(String),
    /// The cancel token was set.
    #[error("cancelled")]
    Cancelled,
    /// The pipeline was used again after it had returned an error, or after a step of the caller panicked.
    #[error("internal error: the pipeline has already stopped")]
    Stopped,
}

impl<E> Fault<E> {
    /// Chooses the earlier of two errors: the caller's own `error` (of the source of its inputs, for example), and `drained`, the
    /// result of waiting for all inputs before it. If the pipeline has stopped, `error` has stopped it.
    pub fn earlier(drained: Result<(), Self>, error: E) -> Self {
        match drained {
            Ok(()) | Err(Self::Stopped) => Self::Work(error),
            Err(earlier) => earlier,
        }
    }
}
