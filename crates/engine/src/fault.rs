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
