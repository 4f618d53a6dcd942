//! Entries of an image.

use packline::{Device, Entry, Image, Kind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::arguments::text;
use crate::failure::{invalid, raise};
use crate::file;

/// The function that builds an `os.stat_result`.
static STAT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// An entry of an image. It has the methods of os.DirEntry, without following symbolic links.
#[pyclass(name = "Entry", module = "packline", frozen)]
pub struct PyEntry {
    image: Image,
    entry: Entry,
}

impl PyEntry {
    pub fn new(image: &Image, entry: Entry) -> PyEntry {
        PyEntry { image: image.clone(), entry }
    }
}

#[pymethods]
impl PyEntry {
    /// The name, without the directory. Empty for the root.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        text(py, self.entry.name())
    }

    /// The path in the image, without a slash at the start. Empty for the root.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        text(py, self.entry.path())
    }

    fn __fspath__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.path(py)
    }

    /// The size of a file in bytes; 0 for other entries.
    #[getter]
    fn size(&self) -> u64 {
        self.entry.size()
    }

    /// file, directory, symlink, block_device, char_device, fifo or socket.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.entry.kind() {
            Kind::File { .. } | Kind::HardLink(_) => "file",
            Kind::Dir => "directory",
            Kind::Symlink(_) => "symlink",
            Kind::BlockDevice(_) => "block_device",
            Kind::CharDevice(_) => "char_device",
            Kind::Fifo => "fifo",
            Kind::Socket => "socket",
        }
    }

    /// Return whether the entry is a regular file.
    fn is_file(&self) -> bool {
        self.entry.is_file()
    }

    /// Return whether the entry is a directory.
    fn is_dir(&self) -> bool {
        self.entry.is_dir()
    }

    /// Return whether the entry is a symbolic link.
    fn is_symlink(&self) -> bool {
        self.entry.link_target().is_some()
    }

    /// Return the number of the inode. Hard links to one file have the same number.
    fn inode(&self) -> u64 {
        self.entry.id()
    }

    /// Return an os.stat_result. st_dev is 0, and all times are the modification time.
    fn stat(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let meta = self.entry.meta();
        let (kind, device) = type_bits(&self.entry.kind());
        let size = self.entry.link_target().map_or(self.entry.size(), |target| target.len() as u64);
        let mtime = i128::from(meta.mtime.seconds()) * 1_000_000_000 + i128::from(meta.mtime.nanoseconds());
        let mode = kind | u32::from(meta.mode);
        let owner = (meta.uid, meta.gid);
        let build = STAT.import(py, "packline._file", "stat_result")?;
        Ok(build.call1((mode, self.entry.id(), self.entry.links(), owner, size, mtime, device))?.unbind())
    }

    /// Return the target of a symbolic link.
    fn readlink<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        match self.entry.link_target() {
            Some(target) => text(py, target),
            None => Err(invalid(py, &format!("{}: is not a symbolic link", self.entry.path().escape_ascii()))),
        }
    }

    /// Return the extended attributes: a dict of names and bytes.
    fn xattrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let xattrs = py.detach(|| self.entry.xattrs()).map_err(|error| raise(py, error))?;
        let found = PyDict::new(py);
        for xattr in xattrs {
            found.set_item(text(py, &xattr.name)?, PyBytes::new(py, &xattr.value))?;
        }
        Ok(found)
    }

    /// Return the content of a file. A file of more than limit bytes is a LimitError.
    #[pyo3(signature = (*, limit = None))]
    fn read<'py>(&self, py: Python<'py>, limit: Option<u64>) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.open_file(py)?;
        file::check_limit(file.size(), limit).map_err(|fault| fault.raise(py))?;
        file::read(py, &file, 0, u64::MAX)
    }

    /// Open a file: return a File.
    fn open(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        file::wrap(py, self.open_file(py)?, self.path(py)?.into_any())
    }

    fn __repr__(&self) -> String {
        format!("<packline.Entry '{}'>", self.entry.path().escape_ascii())
    }
}

impl PyEntry {
    fn open_file(&self, py: Python<'_>) -> PyResult<packline::ImageFile> {
        py.detach(|| self.image.open_file(self.entry.path())).map_err(|error| raise(py, error))
    }
}

/// Returns the type bits of `st_mode`, and `st_rdev` as glibc encodes it.
fn type_bits(kind: &Kind) -> (u32, u64) {
    match kind {
        Kind::File { .. } | Kind::HardLink(_) => (0o100_000, 0),
        Kind::Dir => (0o040_000, 0),
        Kind::Symlink(_) => (0o120_000, 0),
        Kind::BlockDevice(device) => (0o060_000, device_number(*device)),
        Kind::CharDevice(device) => (0o020_000, device_number(*device)),
        Kind::Fifo => (0o010_000, 0),
        Kind::Socket => (0o140_000, 0),
    }
}

fn device_number(device: Device) -> u64 {
    let major = u64::from(device.major);
    let minor = u64::from(device.minor);
    (major & 0xffff_f000) << 32 | (major & 0xfff) << 8 | (minor & 0xffff_ff00) << 12 | (minor & 0xff)
}
