//! Operations that take long: progress, warnings, cancellation, Ctrl-C.
//!
//! The operation runs on a thread of its own, because signals reach Python only on the thread that called, and only between calls into
//! Python: a thread that compresses or writes would answer Ctrl-C late. The calling thread waits, handles signals, and calls the callback of
//! Python.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};
use std::time::Duration;

use packline::{CancelToken, Error, Observer, Problem, Progress, Resources};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::failure::{internal, not_started, raise};

/// How often signals, tokens and progress are looked at.
const TICK: Duration = Duration::from_millis(50);

/// The function that issues a warning.
static WARN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A flag that cancels operations from any thread. A cancelled operation raises CancelledError.
#[pyclass(name = "CancelToken", module = "packline", frozen)]
pub struct PyCancelToken(CancelToken);

#[pymethods]
impl PyCancelToken {
    #[new]
    fn new() -> PyCancelToken {
        PyCancelToken(CancelToken::new())
    }

    /// Cancel the operations that have this token, now and later.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether cancel() was called.
    #[getter]
    fn cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// How far an operation is. source_total is None while it is unknown.
#[pyclass(name = "Progress", module = "packline", frozen, get_all)]
pub struct PyProgress {
    /// Number of entries so far.
    entries: u64,
    /// Bytes of the source that were read.
    source_bytes: u64,
    /// Bytes of the source; None while unknown.
    source_total: Option<u64>,
    /// Bytes of content so far.
    content_bytes: u64,
    /// Bytes of the image so far.
    image_bytes: u64,
}

impl From<Progress> for PyProgress {
    fn from(progress: Progress) -> PyProgress {
        PyProgress {
            entries: progress.entries,
            source_bytes: progress.source_bytes,
            source_total: progress.source_total,
            content_bytes: progress.content_bytes,
            image_bytes: progress.image_bytes,
        }
    }
}

/// The options that all operations have.
pub struct Control {
    pub progress: Option<Py<PyAny>>,
    pub cancel: Option<Py<PyCancelToken>>,
    pub workers: Option<usize>,
}

/// Reports that the calling thread has not seen.
#[derive(Default)]
struct Reports {
    progress: Option<Progress>,
    warnings: Vec<String>,
}

/// Takes the reports of the operation.
pub struct Reporter<'r> {
    reports: &'r Mutex<Reports>,
    /// Dropped at the end of the operation, which wakes the calling thread.
    _running: Sender<()>,
}

impl Reporter<'_> {
    fn reports(&self) -> std::sync::MutexGuard<'_, Reports> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Reporter<'_> {
    fn advance(&mut self, progress: &Progress) {
        self.reports().progress = Some(*progress);
    }

    fn finishing(&mut self, progress: &Progress) {
        self.reports().progress = Some(*progress);
    }

    fn problem(&mut self, problem: Problem<'_>) {
        self.reports().warnings.push(problem.error.to_string());
    }

    fn warning(&mut self, message: &str) {
        self.reports().warnings.push(message.to_string());
    }
}

/// Runs an operation without Python's lock. An exception of the callback, of a warning or of a signal cancels the operation, and is raised.
pub fn run<T: Send>(
    py: Python<'_>,
    control: &Control,
    work: impl FnOnce(Resources, &mut Reporter<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    if control.progress.as_ref().is_some_and(|callback| !callback.bind(py).is_callable()) {
        return Err(PyTypeError::new_err("progress is not callable (expected a function of one argument)"));
    }
    let token = CancelToken::new();
    let mut resources = Resources::default().cancelled_by(&token);
    resources.workers = control.workers.unwrap_or(resources.workers);
    let reports = &Mutex::new(Reports::default());
    let waiter = Waiter { control, token, reports };
    // A short operation ends before the first tick.
    waiter.pass_cancellation();
    let (running, ended) = channel();
    let ran = py.detach(move || {
        thread::scope(|scope| {
            let mut reporter = Reporter { reports, _running: running };
            let thread = Builder::new().spawn_scoped(scope, move || work(resources, &mut reporter))?;
            let raised = waiter.wait(&ended);
            Ok((thread.join(), raised))
        })
    });
    let (result, raised) = ran.map_err(not_started)?;
    raised?;
    result.map_err(|_| internal(py, "internal error: a panic"))?.map_err(|error| raise(py, error))
}

/// The calling thread while the operation runs.
struct Waiter<'w> {
    control: &'w Control,
    token: CancelToken,
    reports: &'w Mutex<Reports>,
}

impl Waiter<'_> {
    /// Waits for the end of the operation. Returns the first exception.
    fn wait(&self, ended: &Receiver<()>) -> PyResult<()> {
        let mut first = Ok(());
        loop {
            let state = ended.recv_timeout(TICK);
            if first.is_ok() {
                first = Python::attach(|py| self.look(py));
                if first.is_err() {
                    self.token.cancel();
                }
            }
            if state == Err(RecvTimeoutError::Disconnected) {
                return first;
            }
        }
    }

    /// Cancels the operation if the caller's token is set.
    fn pass_cancellation(&self) {
        if self.control.cancel.as_ref().is_some_and(|token| token.get().0.is_cancelled()) {
            self.token.cancel();
        }
    }

    /// Handles signals, the caller's token and new reports.
    fn look(&self, py: Python<'_>) -> PyResult<()> {
        py.check_signals()?;
        self.pass_cancellation();
        let reports = std::mem::take(&mut *self.reports.lock().unwrap_or_else(PoisonError::into_inner));
        for warning in reports.warnings {
            WARN.import(py, "packline._errors", "warn")?.call1((warning,))?;
        }
        match (&self.control.progress, reports.progress) {
            (Some(callback), Some(progress)) => callback.call1(py, (PyProgress::from(progress),)).map(drop),
            _ => Ok(()),
        }
    }
}
