//! What a fault of the line means to the one who packs an image.

use packline_engine::Fault;

use crate::Error;

/// The error behind a fault.
pub(crate) fn from_fault(fault: Fault<Error>) -> Error {
    match fault {
        Fault::Work(error) => error,
        Fault::Panic(message) => Error::Internal(format!("a worker panicked: {message}")),
        Fault::Cancelled => Error::Cancelled,
        Fault::Stopped => Error::Internal("the line has already stopped".into()),
    }
}
