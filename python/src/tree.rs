//! Trees that a program builds.

use std::sync::{Mutex, MutexGuard, PoisonError};

use packline::{Content, Device, Error, Kind, Time, Tree, TreeEntry};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyMemoryView};

use crate::arguments::PathArgument;
use crate::failure::{invalid, raise};
use crate::stream::PyStream;

/// A tree of entries for pack(), which can be packed once.
///
/// entries is a dict of paths and contents. Attributes of an entry are mode, uid, gid, mtime in seconds since 1970, and xattrs, a dict of names and
/// bytes. Owners are 0 by default. Missing directories are added.
///
/// >>> tree = packline.Tree({"etc/hostname": b"box"})
/// >>> tree.add("bin/app", b"#!/bin/sh", mode=0o755)
/// >>> tree.add_symlink("bin/other", "app")
/// >>> packed = packline.pack(tree, "other.sqfs")
/// >>> list(packline.open("other.sqfs"))
/// ['bin', 'bin/app', 'bin/other', 'etc', 'etc/hostname']
#[pyclass(name = "Tree", module = "packline", frozen)]
pub struct PyTree(Mutex<Option<Tree>>);

/// Attributes of an entry. Attributes that are not given keep the defaults of the library.
#[derive(Default)]
struct Attributes {
    mode: Option<u32>,
    uid: Option<u32>,
    gid: Option<u32>,
    mtime: Option<Time>,
    xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Attributes {
    fn new(given: Option<&Bound<'_, PyDict>>) -> PyResult<Attributes> {
        let mut attributes = Attributes::default();
        for (name, value) in given.into_iter().flat_map(|given| given.iter()) {
            let name: String = name.extract()?;
            if value.is_none() {
                continue;
            }
            match name.as_str() {
                "mode" => attributes.mode = Some(value.extract()?),
                "uid" => attributes.uid = Some(value.extract()?),
                "gid" => attributes.gid = Some(value.extract()?),
                "mtime" => attributes.mtime = Some(time(&value)?),
                "xattrs" => attributes.xattrs = xattrs(value.cast::<PyDict>()?)?,
                _ => {
                    let expected = "mode, uid, gid, mtime or xattrs";
                    return Err(PyTypeError::new_err(format!("unknown attribute '{name}' (expected {expected})")));
                }
            }
        }
        Ok(attributes)
    }

    fn set(self, mut entry: TreeEntry<'_>) {
        if let Some(mode) = self.mode {
            entry = entry.mode(mode);
        }
        entry = entry.owner(self.uid.unwrap_or(0), self.gid.unwrap_or(0));
        if let Some(mtime) = self.mtime {
            entry = entry.time(mtime);
        }
        for (name, value) in self.xattrs {
            entry = entry.xattr(name, value);
        }
    }
}

#[pymethods]
impl PyTree {
    #[new]
    #[pyo3(signature = (entries = None))]
    fn new(entries: Option<&Bound<'_, PyDict>>) -> PyResult<PyTree> {
        match entries {
            Some(entries) => PyTree::of(entries),
            None => Ok(PyTree(Mutex::new(Some(Tree::new())))),
        }
    }

    /// Add a file. content is bytes, an os.PathLike for a file of this machine, or a file object that is read when the tree is packed.
    #[pyo3(signature = (path, content, **attributes))]
    fn add(
        &self,
        py: Python<'_>,
        path: PathArgument,
        content: &Bound<'_, PyAny>,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let content = content_of(content)?;
        self.put(py, attributes, |tree| tree.file(path.0, content))
    }

    /// Add a directory.
    #[pyo3(signature = (path, **attributes))]
    fn add_directory(
        &self,
        py: Python<'_>,
        path: PathArgument,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.put(py, attributes, |tree| tree.directory(path.0))
    }

    /// Add a symbolic link to target.
    #[pyo3(signature = (path, target, **attributes))]
    fn add_symlink(
        &self,
        py: Python<'_>,
        path: PathArgument,
        target: PathArgument,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.put(py, attributes, |tree| tree.symlink(path.0, target.0))
    }

    /// Add another path of the file target, which may be added later.
    fn add_hard_link(&self, py: Python<'_>, path: PathArgument, target: PathArgument) -> PyResult<()> {
        self.put(py, None, |tree| tree.hard_link(path.0, target.0))
    }

    /// Add a device, a fifo or a socket. kind is block_device, char_device, fifo or socket.
    #[pyo3(signature = (path, kind, *, major = 0, minor = 0, **attributes))]
    fn add_special(
        &self,
        py: Python<'_>,
        path: PathArgument,
        kind: String,
        major: u32,
        minor: u32,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let kind = match kind.as_str() {
            "block_device" => Kind::BlockDevice(Device { major, minor }),
            "char_device" => Kind::CharDevice(Device { major, minor }),
            "fifo" => Kind::Fifo,
            "socket" => Kind::Socket,
            _ => {
                let expected = "block_device, char_device, fifo or socket";
                return Err(invalid(py, &format!("unknown kind '{kind}' (expected {expected})")));
            }
        };
        self.put(py, attributes, |tree| tree.special(path.0, kind))
    }
}

impl PyTree {
    /// The tree of a dict of contents.
    pub fn of(entries: &Bound<'_, PyDict>) -> PyResult<PyTree> {
        let mut tree = Tree::new();
        for (path, content) in entries {
            let PathArgument(path) = path.extract()?;
            tree.file(path, content_of(&content)?).map_err(|error| raise(entries.py(), error))?;
        }
        Ok(PyTree(Mutex::new(Some(tree))))
    }

    /// Takes the tree. Readers in it can be read only once.
    pub fn take(&self, py: Python<'_>) -> PyResult<Tree> {
        self.lock(py).take().ok_or_else(|| packed_already(py))
    }

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Option<Tree>> {
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn put(
        &self,
        py: Python<'_>,
        attributes: Option<&Bound<'_, PyDict>>,
        add: impl for<'t> FnOnce(&'t mut Tree) -> Result<TreeEntry<'t>, Error>,
    ) -> PyResult<()> {
        let attributes = Attributes::new(attributes)?;
        let mut tree = self.lock(py);
        let tree = tree.as_mut().ok_or_else(|| packed_already(py))?;
        attributes.set(add(tree).map_err(|error| raise(py, error))?);
        Ok(())
    }
}

fn packed_already(py: Python<'_>) -> PyErr {
    invalid(py, "the tree was packed already; build a new Tree")
}

/// The content that an object of Python stands for.
fn content_of(object: &Bound<'_, PyAny>) -> PyResult<Content> {
    if let Ok(bytes) = object.extract::<PyBackedBytes>() {
        return Ok(Content::from(&bytes[..]));
    }
    if let Ok(view) = object.cast::<PyMemoryView>() {
        let bytes: PyBackedBytes = view.call_method0("tobytes")?.extract()?;
        return Ok(Content::from(&bytes[..]));
    }
    if object.hasattr("read")? {
        return Ok(Content::reader(PyStream::new(object)));
    }
    if object.hasattr("__fspath__")? {
        return Ok(Content::path(object.extract::<PathArgument>()?.into_host()));
    }
    let found = object.get_type().name()?;
    Err(PyTypeError::new_err(format!("the content is {found} (expected bytes, os.PathLike or a file object)")))
}

/// Seconds since 1970, whole or with a fraction.
fn time(value: &Bound<'_, PyAny>) -> PyResult<Time> {
    if let Ok(seconds) = value.extract::<i64>() {
        return Ok(Time::from_seconds(seconds));
    }
    let seconds: f64 = value.extract()?;
    if seconds.is_nan() || seconds.abs() > 9e15 {
        return Err(PyValueError::new_err(format!("invalid time {seconds} (expected seconds since 1970)")));
    }
    let whole = seconds.floor();
    Ok(Time::new(whole as i64, ((seconds - whole) * 1e9) as u32))
}

fn xattrs(given: &Bound<'_, PyDict>) -> PyResult<Vec<(Vec<u8>, Vec<u8>)>> {
    given
        .iter()
        .map(|(name, value)| Ok((name.extract::<PathArgument>()?.0, value.extract::<PyBackedBytes>()?.to_vec())))
        .collect()
}
