//! Engine faults as errors of packing.

use packline_engine::Fault;

use crate::Error;

/// The error behind a fault.
pub(crate) fn from_fault(fault: Fault<Error>) -> Error {
    match fault {
        Fault::Work(error) => error,
        Fault::Panic(message) => Error::Internal(format!("a worker panicked: {message}")),
        Fault::Cancelled => Error::Cancelled,
        Fault::Stopped => Error::Internal("the pipeline has already stopped".into()),
    }
}
