//! Open images.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use packline::{Entry, Error, Image, Input, RestoreAttributes, Severity, Unpacked, Unpacker};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyString};

use crate::arguments::{PathArgument, selection, text};
use crate::entry::PyEntry;
use crate::failure::raise;
use crate::file;
use crate::listing::{PyEntries, PyPaths, Walk};
use crate::operation::{Control, PyCancelToken, run};
use crate::read_many::{PyReadMany, Request};
use crate::stream::PyStream;

/// Symbolic links that are followed for one path, as in Linux.
const LINKS_MOST: usize = 40;

/// An open image. `packline.Image` is the class that programs see.
#[pyclass(name = "Image", module = "packline._native", subclass, frozen)]
pub struct PyImage {
    /// `None` when closed.
    opened: Mutex<Option<Image>>,
    /// Number of entries without the root, once counted.
    count: OnceLock<usize>,
}

/// A finding of Image.verify: damage if fault is True, otherwise a remark.
#[pyclass(name = "Finding", module = "packline", frozen, get_all)]
pub struct PyFinding {
    /// The offset in the image, in bytes.
    offset: u64,
    /// What was found.
    what: String,
    /// What a correct image has there. Empty if that is clear.
    expected: String,
    /// Whether the image is damaged; False for a remark.
    fault: bool,
}

#[pymethods]
impl PyFinding {
    fn __repr__(&self) -> String {
        format!("<packline.Finding byte {}: {}>", self.offset, self.what)
    }
}

/// The result of Image.unpack.
#[pyclass(name = "Unpacked", module = "packline", frozen, get_all)]
pub struct PyUnpacked {
    /// Bytes of content that were written.
    content_bytes: u64,
    /// Number of entries that could not be unpacked, with continue_on_error=True.
    errors: u64,
}

#[pymethods]
impl PyImage {
    #[new]
    #[pyo3(signature = (source, *, cache = None))]
    fn new(source: &Bound<'_, PyAny>, cache: Option<usize>) -> PyResult<PyImage> {
        let py = source.py();
        let input = input_of(source)?;
        let opened = py.detach(|| Image::from_input(input.open()?)).map_err(|error| raise(py, error))?;
        let opened = cache.map_or(opened.clone(), |bytes| opened.cache(bytes));
        Ok(PyImage { opened: Mutex::new(Some(opened)), count: OnceLock::new() })
    }

    /// Stop further use of the image. Entries and files that are in use keep it open.
    fn close(&self, py: Python<'_>) {
        let closed = self.lock(py).take();
        // The last reference may close a file object of Python, which needs the lock of the image no more.
        drop(closed);
    }

    /// Whether close() was called.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.lock(py).is_none()
    }

    /// squashfs or erofs.
    #[getter]
    fn container(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.image(py)?.container().name())
    }

    /// The codec, as pack() takes it.
    #[getter]
    fn codec(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.image(py)?.codec().to_string())
    }

    /// The size of blocks in bytes.
    #[getter]
    fn block_size(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.image(py)?.block_size())
    }

    /// The size of the image in bytes.
    #[getter]
    fn size(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.image(py)?.size())
    }

    fn __getitem__(&self, py: Python<'_>, path: PathArgument) -> PyResult<PyEntry> {
        let image = self.image(py)?;
        let entry = py.detach(|| image.entry(&path.0)).map_err(|error| raise(py, error))?;
        Ok(PyEntry::new(&image, entry))
    }

    fn __contains__(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(PathArgument(path)) = path.extract() else { return Ok(false) };
        let image = self.image(py)?;
        match py.detach(|| image.entry(&path)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == packline::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(raise(py, error)),
        }
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<PyPaths> {
        Ok(PyPaths::new(all_entries(&self.image(py)?)))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        if let Some(count) = self.count.get() {
            return Ok(*count);
        }
        let image = self.image(py)?;
        let counted = py.detach(|| all_entries(&image).try_fold(0, |count, entry| entry.map(|_| count + 1)));
        let count = counted.map_err(|error: Error| raise(py, error))?;
        Ok(*self.count.get_or_init(|| count))
    }

    /// Return an iterator over the entries below the root, each directory before its entries. select is a pattern, or a list of patterns.
    ///
    /// >>> [entry.path for entry in image.entries("*.csv")]
    /// ['data/more/table.csv', 'data/table.csv']
    #[pyo3(signature = (select = None))]
    fn entries(&self, py: Python<'_>, select: Option<&Bound<'_, PyAny>>) -> PyResult<PyEntries> {
        let selection = selection(select)?;
        let image = self.image(py)?;
        let walk = all_entries(&image).filter(move |entry| {
            entry.as_ref().map_or(true, |entry: &Entry| selection.selects(entry.path(), entry.is_dir()))
        });
        Ok(PyEntries::new(image, Box::new(walk)))
    }

    /// Return an iterator over the entries of a directory, like os.scandir.
    ///
    /// >>> with image.scandir("etc") as entries:
    /// ...     [(entry.name, entry.size) for entry in entries]
    /// [('empty', 0), ('hostname', 4)]
    #[pyo3(signature = (path = None))]
    fn scandir(&self, py: Python<'_>, path: Option<PathArgument>) -> PyResult<PyEntries> {
        let image = self.image(py)?;
        let path = path.map_or_else(Vec::new, |path| path.0);
        let listing = py.detach(|| image.read_dir(&path)).map_err(|error| raise(py, error))?;
        Ok(PyEntries::new(image, Box::new(listing)))
    }

    /// Return the path without symbolic links.
    ///
    /// >>> image.resolve("bin/app")
    /// 'usr/bin/app'
    fn resolve<'py>(&self, py: Python<'py>, path: PathArgument) -> PyResult<Bound<'py, PyString>> {
        let image = self.image(py)?;
        let resolved = py.detach(|| resolve(&image, &path.0)).map_err(|error| raise(py, error))?;
        text(py, &resolved)
    }

    /// Return the content of a file. A file of more than limit bytes is a LimitError.
    ///
    /// >>> image.read("etc/hostname")
    /// b'box\n'
    #[pyo3(signature = (path, *, limit = None))]
    fn read<'py>(&self, py: Python<'py>, path: PathArgument, limit: Option<u64>) -> PyResult<Bound<'py, PyBytes>> {
        let image = self.image(py)?;
        let file = py.detach(|| image.open_file(&path.0)).map_err(|error| raise(py, error))?;
        file::check_limit(file.size(), limit).map_err(|fault| fault.raise(py))?;
        file::read(py, &file, 0, u64::MAX)
    }

    /// Open a file: return a File.
    ///
    /// >>> with image.open("etc/hostname") as file:
    /// ...     file.seek(1)
    /// ...     file.read()
    /// 1
    /// b'ox\n'
    fn open(&self, py: Python<'_>, path: PathArgument) -> PyResult<Py<PyAny>> {
        let image = self.image(py)?;
        let file = py.detach(|| image.open_file(&path.0)).map_err(|error| raise(py, error))?;
        file::wrap(py, file, text(py, &path.0)?.into_any())
    }

    /// Return an iterator over pairs of path and content, in order. Several threads read the files: all processors by default.
    ///
    /// It reads the next files when they are needed, at most 64 MiB at a time. A file of more than limit bytes is a LimitError. With
    /// on_error="return", a file that cannot be read is a pair of path and exception.
    ///
    /// >>> dict(image.read_many(["etc/hostname", "etc/empty"]))
    /// {'etc/hostname': b'box\n', 'etc/empty': b''}
    #[pyo3(signature = (paths, *, workers = None, limit = None, on_error = None))]
    fn read_many(
        &self,
        paths: &Bound<'_, PyAny>,
        workers: Option<usize>,
        limit: Option<u64>,
        on_error: Option<String>,
    ) -> PyResult<PyReadMany> {
        let requests = paths.try_iter()?.map(|path| Request::whole(path?, limit)).collect::<PyResult<Vec<_>>>()?;
        PyReadMany::new(paths.py(), self.image(paths.py())?, requests, workers, on_error.as_deref())
    }

    /// Return an iterator over pairs of range and content, like read_many. A range is a tuple of path, start and stop; stop may be None.
    ///
    /// >>> list(image.read_ranges([("etc/hostname", 0, 2)]))
    /// [(('etc/hostname', 0, 2), b'bo')]
    #[pyo3(signature = (ranges, *, workers = None, on_error = None))]
    fn read_ranges(
        &self,
        ranges: &Bound<'_, PyAny>,
        workers: Option<usize>,
        on_error: Option<String>,
    ) -> PyResult<PyReadMany> {
        let requests = ranges.try_iter()?.map(|range| Request::range(range?)).collect::<PyResult<Vec<_>>>()?;
        PyReadMany::new(ranges.py(), self.image(ranges.py())?, requests, workers, on_error.as_deref())
    }

    /// Unpack into a directory, which is created.
    ///
    /// select is a pattern, or a list of patterns. progress is called with a Progress about 20 times a second. With replace=True, files of an
    /// existing directory are replaced. With continue_on_error=True, errors of single entries are warnings. owners says whether owners and set-id
    /// bits are set; by default, if the process runs as root.
    ///
    /// >>> image.unpack("settings", select="etc").content_bytes
    /// 4
    #[pyo3(signature = (
        target, *, select = None, replace = false, continue_on_error = false, owners = None, progress = None, cancel = None,
        workers = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn unpack(
        &self,
        py: Python<'_>,
        target: PathArgument,
        select: Option<&Bound<'_, PyAny>>,
        replace: bool,
        continue_on_error: bool,
        owners: Option<bool>,
        progress: Option<Py<PyAny>>,
        cancel: Option<Py<PyCancelToken>>,
        workers: Option<usize>,
    ) -> PyResult<PyUnpacked> {
        let is_root = || py.import("os")?.call_method0("geteuid")?.extract::<u32>().map(|user| user == 0);
        let owners = owners.map_or_else(is_root, Ok)?;
        let unpacker = Unpacker::image(self.image(py)?).select(selection(select)?).replace(replace);
        let restore = RestoreAttributes { owners, set_id: owners, ..RestoreAttributes::ALL };
        let unpacker = unpacker.continue_on_error(continue_on_error).restore(restore);
        let target = target.into_host();
        let control = Control { progress, cancel, workers };
        let done = run(py, &control, |resources, reporter| {
            unpacker.resources(resources).observe(reporter).to_directory(target)
        })?;
        let Unpacked { content_bytes, errors, .. } = done;
        Ok(PyUnpacked { content_bytes, errors })
    }

    /// Check the whole image. Return a list of findings.
    ///
    /// >>> image.verify()
    /// []
    #[pyo3(signature = (*, cancel = None, workers = None))]
    fn verify(
        &self,
        py: Python<'_>,
        cancel: Option<Py<PyCancelToken>>,
        workers: Option<usize>,
    ) -> PyResult<Vec<PyFinding>> {
        let image = self.image(py)?;
        let control = Control { progress: None, cancel, workers };
        let findings = run(py, &control, |resources, _| image.verify(&resources))?;
        let findings = findings.into_iter().map(|finding| PyFinding {
            offset: finding.offset,
            what: finding.what,
            expected: finding.expected,
            fault: finding.severity == Severity::Fault,
        });
        Ok(findings.collect())
    }
}

impl PyImage {
    /// The image, unless it is closed. Operations that run keep it open.
    pub fn image(&self, py: Python<'_>) -> PyResult<Image> {
        self.lock(py).clone().ok_or_else(|| PyValueError::new_err("the image is closed"))
    }

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Option<Image>> {
        self.opened.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an image is opened from.
enum ImageSource {
    Path(std::path::PathBuf),
    Bytes(PyBackedBytes),
    Stream(PyStream),
}

impl ImageSource {
    fn open(self) -> Result<Input, Error> {
        match self {
            ImageSource::Path(path) => Ok(Input::file(path)),
            ImageSource::Bytes(bytes) => Ok(Input::bytes("the image", bytes)),
            ImageSource::Stream(stream) => Input::seekable("the image", stream),
        }
    }
}

/// Bytes are an image, not a path.
fn input_of(source: &Bound<'_, PyAny>) -> PyResult<ImageSource> {
    if let Ok(bytes) = source.extract::<PyBackedBytes>() {
        return Ok(ImageSource::Bytes(bytes));
    }
    if source.hasattr("read")? && source.hasattr("seek")? {
        return Ok(ImageSource::Stream(PyStream::new(source)));
    }
    source.extract().map(|path: PathArgument| ImageSource::Path(path.into_host()))
}

/// All entries without the root.
fn all_entries(image: &Image) -> Walk {
    Box::new(image.walk().filter(|entry| entry.as_ref().map_or(true, |entry| !entry.path().is_empty())))
}

/// Follows all symbolic links in a path.
///
/// # Errors
/// As [`Image::entry`], also for a path with too many links.
fn resolve(image: &Image, path: &[u8]) -> Result<Vec<u8>, Error> {
    let mut rest: Vec<Vec<u8>> = Vec::new();
    push_components(&mut rest, path);
    let mut at = Vec::new();
    let mut links = 0;
    while let Some(name) = rest.pop() {
        let above = at.len();
        if name == b".." {
            at.truncate(at.iter().rposition(|byte| *byte == b'/').unwrap_or(0));
            continue;
        }
        if !at.is_empty() {
            at.push(b'/');
        }
        at.extend_from_slice(&name);
        let entry = image.entry(&at)?;
        if let Some(target) = entry.link_target() {
            links += 1;
            if links > LINKS_MOST {
                let fault = packline::EntryFault::TooManyLinks;
                let expected = "a path with at most 40 symbolic links";
                return Err(Error::Entry { path: image.path().into(), entry: path.to_vec(), fault, expected });
            }
            at.truncate(if target.starts_with(b"/") { 0 } else { above });
            push_components(&mut rest, target);
        }
    }
    Ok(at)
}

/// Adds the components of a path to the end of a stack, the first on top.
fn push_components(stack: &mut Vec<Vec<u8>>, path: &[u8]) {
    let components = path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    stack.extend(components.rev().map(<[u8]>::to_vec));
}
