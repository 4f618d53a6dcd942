//! How a line fails.

/// Why a line stopped.
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
    /// The line was used again after it had failed; the first error was returned then.
    #[error("internal error: the line has already stopped")]
    Stopped,
}
