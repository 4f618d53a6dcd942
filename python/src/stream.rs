//! File objects of Python as streams of Rust. Each call takes Python's lock; the caller must not hold it.

use std::io::{self, Read, Seek, SeekFrom, Write};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// Bytes that one call passes at most.
const MOST: usize = 1 << 20;

/// A file object of Python.
pub struct PyStream(Py<PyAny>);

impl PyStream {
    pub fn new(object: &Bound<'_, PyAny>) -> PyStream {
        PyStream(object.clone().unbind())
    }
}

impl Read for PyStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let bytes = self.0.bind(py).call_method1("read", (buffer.len().min(MOST),))?;
            let bytes: PyBackedBytes = bytes.extract().map_err(PyErr::from)?;
            let target = buffer.get_mut(..bytes.len());
            let target = target.ok_or_else(|| io::Error::other("read() returned more bytes than requested"))?;
            target.copy_from_slice(&bytes);
            Ok(bytes.len())
        })
    }
}

impl Write for PyStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let buffer = &buffer[..buffer.len().min(MOST)];
        Python::attach(|py| {
            let written = self.0.bind(py).call_method1("write", (PyBytes::new(py, buffer),))?;
            let written: usize = written.extract()?;
            let valid = written <= buffer.len();
            valid.then_some(written).ok_or_else(|| io::Error::other("write() returned more bytes than were written"))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Python::attach(|py| self.0.bind(py).call_method0("flush").map(drop))?;
        Ok(())
    }
}

impl Seek for PyStream {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        Python::attach(|py| {
            let position = match to {
                SeekFrom::Start(offset) => self.0.bind(py).call_method1("seek", (offset, 0)),
                SeekFrom::Current(offset) => self.0.bind(py).call_method1("seek", (offset, 1)),
                SeekFrom::End(offset) => self.0.bind(py).call_method1("seek", (offset, 2)),
            };
            Ok(position?.extract()?)
        })
    }
}
