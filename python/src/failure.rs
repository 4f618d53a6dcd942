//! Errors as Python sees them: the classes of `packline/_errors.py`.

use std::error::Error as _;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use packline::{EntryFault, Error, ErrorKind};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;

use crate::arguments::text;

/// The function that builds an exception.
static BUILD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// What an exception has.
struct Failure<'a> {
    kind: &'static str,
    message: &'a str,
    path: Option<&'a [u8]>,
    entry: Option<&'a [u8]>,
    offset: Option<u64>,
    cause: Option<PyErr>,
}

/// Returns the exception for an error of the library.
pub fn raise(py: Python<'_>, error: Error) -> PyErr {
    let message = error.to_string();
    let failure = Failure {
        kind: kind(&error),
        message: &message,
        path: error.path().map(|path| path.as_os_str().as_bytes()),
        entry: error.entry(),
        offset: error.corruption().map(|damage| damage.offset),
        cause: cause(py, &error),
    };
    build(py, &failure)
}

/// Returns the exception for a wrong argument.
pub fn invalid(py: Python<'_>, message: &str) -> PyErr {
    of_kind(py, "invalid", message)
}

/// Returns the exception for threads that the system does not start.
pub fn not_started(cause: io::Error) -> PyErr {
    PyOSError::new_err(format!("cannot start a thread: {cause}"))
}

/// Returns the exception for a bug.
pub fn internal(py: Python<'_>, message: &str) -> PyErr {
    of_kind(py, "internal", message)
}

/// Returns the exception of a kind without a path.
pub fn of_kind(py: Python<'_>, kind: &'static str, message: &str) -> PyErr {
    build(py, &Failure { kind, message, path: None, entry: None, offset: None, cause: None })
}

fn kind(error: &Error) -> &'static str {
    match error {
        Error::Entry { fault: EntryFault::Directory, .. } => return "is_directory",
        Error::Entry { fault: EntryFault::NotDirectory, .. } => return "not_directory",
        _ => {}
    }
    match error.kind() {
        ErrorKind::NotFound => "not_found",
        ErrorKind::Exists => "exists",
        ErrorKind::Permission => "permission",
        ErrorKind::NoSpace => "no_space",
        ErrorKind::Corrupt => "corrupt",
        ErrorKind::WrongFormat => "wrong_format",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Limit => "limit",
        ErrorKind::Cancelled => "cancelled",
        ErrorKind::Invalid => "invalid",
        ErrorKind::Io => "io",
        _ => "internal",
    }
}

/// The exception that a Python object raised while the library read from it or wrote to it.
fn cause(py: Python<'_>, error: &Error) -> Option<PyErr> {
    let mut next = error.source();
    while let Some(error) = next {
        let shared = error.downcast_ref::<Arc<io::Error>>().map(Arc::as_ref);
        let inner = error.downcast_ref::<io::Error>().or(shared).and_then(io::Error::get_ref);
        if let Some(raised) = inner.and_then(|inner| inner.downcast_ref::<PyErr>()) {
            return Some(raised.clone_ref(py));
        }
        next = error.source();
    }
    None
}

fn build(py: Python<'_>, failure: &Failure<'_>) -> PyErr {
    exception(py, failure).map_or_else(|raised| raised, PyErr::from_value)
}

fn exception<'py>(py: Python<'py>, failure: &Failure<'_>) -> PyResult<Bound<'py, PyAny>> {
    let path = failure.path.map(|path| text(py, path)).transpose()?;
    let entry = failure.entry.map(|entry| text(py, entry)).transpose()?;
    let cause = failure.cause.as_ref().map(|cause| cause.value(py));
    // A message may have bytes of a name, which are valid UTF-8 here.
    let message = PyBytes::new(py, failure.message.as_bytes());
    let build = BUILD.import(py, "packline._errors", "build")?;
    build.call1((failure.kind, message, path, entry, failure.offset, cause))
}
