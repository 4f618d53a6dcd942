//! Failures of a pipeline.

/// Why a pipeline stopped. [`OrderedMap`](crate::OrderedMap) describes which error is returned when there are several.
#[derive(Debug, thiserror::Error)]
pub enum Fault<E> {
    /// A stage or a step of the container failed with its own error.
    #[error(transparent)]
    Work(E),
    /// A worker panicked; the message of the panic. A bug, never the user's fault.
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
    /// The fault that counts when the caller has an error of its own, of the source of its inputs for example, and `drained` is the result of
    /// waiting for the inputs before it: an error of an earlier input comes first. If the pipeline has stopped, `error` has stopped it.
    pub fn earlier(drained: Result<(), Self>, error: E) -> Self {
        match drained {
            Ok(()) | Err(Self::Stopped) => Self::Work(error),
            Err(earlier) => earlier,
        }
    }
}
