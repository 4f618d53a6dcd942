//! Faults of the engine as errors of the code that uses it.

use std::io;

use packline_engine::Fault;

/// An error type that can represent the engine's own faults.
pub trait TaskError {
    /// The cancel token was set.
    fn cancelled() -> Self;
    /// A bug of this program.
    fn internal(what: String) -> Self;
}

/// The system has refused to start the workers.
pub fn not_started<E: TaskError>(cause: io::Error) -> E {
    E::internal(format!("cannot start the workers: {cause}"))
}

/// The error behind a fault.
pub fn of_fault<E: TaskError>(fault: Fault<E>) -> E {
    match fault {
        Fault::Work(error) => error,
        Fault::Cancelled => E::cancelled(),
        Fault::Panic(message) => E::internal(format!("a worker panicked: {message}")),
        Fault::Stopped => E::internal("the pipeline has already stopped".into()),
    }
}
