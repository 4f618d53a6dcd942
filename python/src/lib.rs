//! Native part of the Python package `packline`: a thin layer over the crate `packline`.
//!
//! - A class of Python is a type of a module below. Arguments are converted in [`arguments`], errors in [`failure`].
//! - All reading, packing and waiting happens without Python's lock. Mutexes are locked through `lock_py_attached`, which gives the lock up while
//!   it waits.
//! - Operations that take long run on a thread of their own ([`operation`]), so that Ctrl-C and cancellation take effect at once.
//! - Doc comments of what Python sees are docstrings. Their examples are tests, with `image` as an image (`tests/test_documents.py`).
//!
//! `packline/__init__.py` adds what Python does better: file objects, exceptions, `os.walk`.
// `cargo test --all-targets` compiles libraries as programs, which would need the library of Python.
#![cfg(not(test))]
#![allow(clippy::doc_lazy_continuation, reason = "examples in docstrings look like quotations")]

mod arguments;
mod entry;
mod failure;
mod file;
mod image;
mod listing;
mod operation;
mod pack;
mod read_many;
mod sources;
mod stream;
mod tree;

use pyo3::prelude::*;

/// Native part of packline.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::entry::PyEntry;
    #[pymodule_export]
    use crate::file::PyFileHandle;
    #[pymodule_export]
    use crate::image::{PyFinding, PyImage, PyUnpacked};
    #[pymodule_export]
    use crate::listing::{PyEntries, PyPaths};
    #[pymodule_export]
    use crate::operation::{PyCancelToken, PyProgress};
    #[pymodule_export]
    use crate::pack::{PyPacked, pack};
    #[pymodule_export]
    use crate::read_many::PyReadMany;
    #[pymodule_export]
    use crate::tree::PyTree;
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python programs expect")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
