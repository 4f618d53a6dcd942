//! Iterators over the entries of an image, which read some entries ahead without Python's lock.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use packline::{Entry, Error, Image};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyString, PyTuple};

use crate::arguments::text;
use crate::entry::PyEntry;
use crate::failure::raise;

/// Entries that are read at a time.
const AHEAD: usize = 256;

/// Entries of an image, from the library.
pub type Walk = Box<dyn Iterator<Item = Result<Entry, Error>> + Send>;

/// Entries that were read ahead, and those that follow.
struct Listing {
    walk: Walk,
    ready: VecDeque<Result<Entry, Error>>,
}

impl Listing {
    fn next(&mut self) -> Option<Result<Entry, Error>> {
        if self.ready.is_empty() {
            // The first entries come at once.
            let ahead = if self.ready.capacity() == 0 { 16 } else { AHEAD };
            self.ready.extend(self.walk.by_ref().take(ahead));
        }
        self.ready.pop_front()
    }
}

/// A listing that threads of Python may share.
struct Shared(Mutex<Option<Listing>>);

impl Shared {
    fn new(walk: Walk) -> Shared {
        Shared(Mutex::new(Some(Listing { walk, ready: VecDeque::new() })))
    }

    /// The next entry. After an error, the next call continues with the next entry.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Entry>> {
        let mut guard = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let Some(listing) = &mut *guard else { return Ok(None) };
        let next = match listing.ready.pop_front() {
            Some(ready) => Some(ready),
            None => py.detach(|| listing.next()),
        };
        next.transpose().map_err(|error| raise(py, error))
    }

    fn close(&self, py: Python<'_>) {
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// An iterator over entries, which is a context manager like that of `os.scandir`.
#[pyclass(name = "Entries", module = "packline._native", frozen)]
pub struct PyEntries {
    image: Image,
    listing: Shared,
}

impl PyEntries {
    pub fn new(image: Image, walk: Walk) -> PyEntries {
        PyEntries { image, listing: Shared::new(walk) }
    }
}

#[pymethods]
impl PyEntries {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyEntry>> {
        Ok(self.listing.next(py)?.map(|entry| PyEntry::new(&self.image, entry)))
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, py: Python<'_>, _raised: &Bound<'_, PyTuple>) {
        self.listing.close(py);
    }

    fn close(&self, py: Python<'_>) {
        self.listing.close(py);
    }
}

/// An iterator over paths.
#[pyclass(name = "Paths", module = "packline._native", frozen)]
pub struct PyPaths(Shared);

impl PyPaths {
    pub fn new(walk: Walk) -> PyPaths {
        PyPaths(Shared::new(walk))
    }
}

#[pymethods]
impl PyPaths {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        self.0.next(py)?.map(|entry| text(py, entry.path())).transpose()
    }
}
