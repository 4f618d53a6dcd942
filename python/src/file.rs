//! Contents of files. `packline/_file.py` makes file objects of Python from them.

use packline::ImageFile;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;

use crate::failure::{of_kind, raise};

/// Contents up to this number of bytes are read directly into a `bytes`. A larger content grows with what was decoded, so that a size in a
/// damaged image allocates no memory.
const DIRECT: u64 = 16 << 20;
/// Bytes that a larger content grows by.
const PIECE: u64 = 4 << 20;

/// The class of file objects.
static FILE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// An open file of an image.
#[pyclass(name = "FileHandle", module = "packline._native", frozen)]
pub struct PyFileHandle(ImageFile);

#[pymethods]
impl PyFileHandle {
    /// Size in bytes.
    #[getter]
    fn size(&self) -> u64 {
        self.0.size()
    }

    /// Reads up to `size` bytes from `offset`.
    fn read_at<'py>(&self, py: Python<'py>, offset: u64, size: u64) -> PyResult<Bound<'py, PyBytes>> {
        read(py, &self.0, offset, size)
    }
}

/// Returns a file object.
pub fn wrap(py: Python<'_>, file: ImageFile, name: Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let class = FILE.import(py, "packline._file", "File")?;
    Ok(class.call1((PyFileHandle(file), name))?.unbind())
}

/// Rejects a file that is larger than the caller expects.
pub fn check_limit(size: u64, limit: Option<u64>) -> Result<(), ContentFault> {
    match limit {
        Some(limit) if size > limit => Err(ContentFault::TooLarge { size, limit }),
        _ => Ok(()),
    }
}

/// Reads up to `size` bytes from `offset`, without Python's lock.
pub fn read<'py>(py: Python<'py>, file: &ImageFile, offset: u64, size: u64) -> PyResult<Bound<'py, PyBytes>> {
    let length = size.min(file.size().saturating_sub(offset));
    if length > DIRECT {
        let content = py.detach(|| content(file, offset, length)).map_err(|fault| fault.raise(py))?;
        return bytes(py, &content);
    }
    PyBytes::new_with(py, length as usize, |buffer| {
        // The range is within the file, so the buffer is filled completely.
        py.detach(|| file.read_at(offset, buffer)).map(drop).map_err(|error| raise(py, error))
    })
}

/// Returns a copy as `bytes`.
pub fn bytes<'py>(py: Python<'py>, content: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, content.len(), |buffer| {
        buffer.copy_from_slice(content);
        Ok(())
    })
}

/// Why a content cannot be read.
pub enum ContentFault {
    Library(packline::Error),
    Memory,
    /// The file is larger than the caller's limit.
    TooLarge {
        size: u64,
        limit: u64,
    },
}

impl ContentFault {
    /// Returns the exception.
    pub fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            ContentFault::Library(error) => raise(py, error),
            ContentFault::Memory => PyMemoryError::new_err("not enough memory for the content"),
            ContentFault::TooLarge { size, limit } => {
                of_kind(py, "limit", &format!("the file has {size} bytes (expected at most {limit}, the limit)"))
            }
        }
    }
}

/// Reads `length` bytes from `offset`, all within the file. The memory grows with what was decoded.
pub fn content(file: &ImageFile, offset: u64, length: u64) -> Result<Vec<u8>, ContentFault> {
    let mut content = Vec::new();
    while (content.len() as u64) < length {
        let done = content.len();
        let piece = (length - done as u64).min(PIECE) as usize;
        content.try_reserve(piece).map_err(|_| ContentFault::Memory)?;
        content.resize(done + piece, 0);
        let read = file.read_at(offset + done as u64, &mut content[done..]).map_err(ContentFault::Library)?;
        content.truncate(done + read);
        if read == 0 {
            break;
        }
    }
    Ok(content)
}
