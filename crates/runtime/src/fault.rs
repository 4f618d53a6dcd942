//! Faults that all formats share. The error of a format embeds them, and adds the affected part or file.

use std::fmt;
use std::io;
use std::sync::Arc;

use packline_engine::{CancelToken, Fault};

use crate::memory::{Shortage, size_at_least, size_at_most};

/// A part of a file breaks a rule of its format. The alternate form (`{:#}`) begins with the offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatFault {
    /// Offset in bytes of the faulty part in the file.
    pub offset: u64,
    /// Description of the fault, with the value found.
    pub what: String,
    /// Description of valid content; empty if the description of the fault implies it.
    pub expected: String,
}

impl FormatFault {
    pub fn new(offset: u64, what: impl Into<String>, expected: impl Into<String>) -> FormatFault {
        FormatFault { offset, what: what.into(), expected: expected.into() }
    }
}

impl fmt::Display for FormatFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FormatFault { offset, what, expected } = self;
        let expected = expectation(expected);
        if f.alternate() {
            write!(f, "at byte {offset}: {what}{expected}")
        } else {
            write!(f, "{what} at byte {offset}{expected}")
        }
    }
}

impl std::error::Error for FormatFault {}

/// Returns the end of a message: valid values in parentheses. They are empty if the message ends with a hint, which names an action.
#[must_use]
pub fn expectation(expected: &str) -> String {
    if expected.is_empty() { String::new() } else { format!(" (expected {expected})") }
}

/// A feature of a file, or an option, is not supported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}", expectation(.expected))]
pub struct Unsupported {
    /// The feature or the option.
    pub what: String,
    /// Supported values; empty after a hint.
    pub expected: String,
}

impl Unsupported {
    pub fn new(what: impl Into<String>, expected: impl Into<String>) -> Unsupported {
        Unsupported { what: what.into(), expected: expected.into() }
    }
}

/// The memory limit is too low.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFault {
    /// Bytes allowed.
    pub allowed: u64,
    /// Minimum that suffices in bytes.
    pub needed: u64,
    /// The work that needs the memory.
    pub what: String,
}

impl fmt::Display for MemoryFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let allowed = size_at_most(self.allowed);
        let needed = size_at_least(self.needed);
        write!(f, "{allowed} of memory is too little for {}: {needed} or more is needed", self.what)
    }
}

impl std::error::Error for MemoryFault {}

impl Shortage {
    pub fn of(self, what: impl Into<String>) -> MemoryFault {
        MemoryFault { allowed: self.allowed, needed: self.needed, what: what.into() }
    }
}

/// Work ended early for a reason that is not in a file.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WorkFault {
    /// The cancel token was set.
    #[error("cancelled")]
    Cancelled,
    /// The system refused to start threads.
    #[error("cannot start the workers: {0}")]
    Workers(#[source] Arc<io::Error>),
    /// A bug in this program.
    #[error("internal error: {0}")]
    Internal(String),
}

impl WorkFault {
    pub fn workers(cause: io::Error) -> WorkFault {
        WorkFault::Workers(Arc::new(cause))
    }

    /// Takes the error of the task out of a fault of the engine.
    ///
    /// # Errors
    /// The fault is not an error of a task.
    pub fn task_error<E>(fault: Fault<E>) -> Result<E, WorkFault> {
        match fault {
            Fault::Work(error) => Ok(error),
            Fault::Cancelled => Err(WorkFault::Cancelled),
            Fault::Panic(message) => Err(WorkFault::Internal(format!("a worker panicked: {message}"))),
            Fault::Stopped => Err(WorkFault::Internal("the pipeline has already stopped".into())),
        }
    }
}

/// An error type that can represent a [`WorkFault`].
pub trait TaskError: From<WorkFault> {
    fn cancelled() -> Self {
        WorkFault::Cancelled.into()
    }

    fn internal(what: String) -> Self {
        WorkFault::Internal(what).into()
    }
}

impl<E: From<WorkFault>> TaskError for E {}

/// Fails if the token is set.
pub fn unless_cancelled(cancel: &CancelToken) -> Result<(), WorkFault> {
    if cancel.is_cancelled() { Err(WorkFault::Cancelled) } else { Ok(()) }
}

/// Turns a fault of the engine into an error of the work.
pub fn of_fault<E: TaskError>(fault: Fault<E>) -> E {
    WorkFault::task_error(fault).unwrap_or_else(E::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_values_are_in_parentheses() {
        let fault = FormatFault::new(7, "a bad byte", "0");
        assert_eq!(
            (fault.to_string(), format!("{fault:#}")),
            ("a bad byte at byte 7 (expected 0)".to_string(), "at byte 7: a bad byte (expected 0)".to_string())
        );
        assert_eq!(FormatFault::new(7, "a bad byte", "").to_string(), "a bad byte at byte 7");
        assert_eq!(
            Unsupported::new("too many records; use larger records", "").to_string(),
            "too many records; use larger records"
        );
    }
}
