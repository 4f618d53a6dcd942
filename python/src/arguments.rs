//! Arguments of Python: paths, patterns, options as text.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use packline::Selection;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyList, PyString, PyTuple};

use crate::failure::raise;

/// A path in an image or of this machine: `str`, `bytes` or `os.PathLike`, as in the functions of `os`.
pub struct PathArgument(pub Vec<u8>);

impl PathArgument {
    /// The path as a path of this machine.
    pub fn into_host(self) -> PathBuf {
        std::ffi::OsString::from_vec(self.0).into()
    }
}

impl<'py> FromPyObject<'_, 'py> for PathArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(PathArgument(bytes.as_bytes().to_vec()));
        }
        let path: PathBuf = object.extract()?;
        Ok(PathArgument(path.into_os_string().into_vec()))
    }
}

/// Returns a path as `str`. Bytes that are not UTF-8 become surrogates, as in `os.fsdecode`.
pub fn text<'py>(py: Python<'py>, path: &[u8]) -> PyResult<Bound<'py, PyString>> {
    Ok(OsStr::from_bytes(path).into_pyobject(py)?)
}

/// Returns the selection of one pattern, of several, or of everything.
pub fn selection(patterns: Option<&Bound<'_, PyAny>>) -> PyResult<Selection> {
    let mut selection = Selection::all();
    let Some(patterns) = patterns else { return Ok(selection) };
    let py = patterns.py();
    for pattern in one_or_more(patterns)? {
        let PathArgument(pattern) = pattern.extract()?;
        selection = selection.include(&pattern).map_err(|error| raise(py, error))?;
    }
    Ok(selection)
}

/// Returns the items of a list or a tuple, or the object alone.
pub fn one_or_more<'py>(object: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return object.try_iter()?.collect();
    }
    Ok(vec![object.clone()])
}

/// Returns the values of an option as `Packer::set` takes them: a list sets the option several times, and a pair of numbers is an owner.
pub fn option_values(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if name == "owner"
        && let Ok((uid, gid)) = value.extract::<(u32, u32)>()
    {
        return Ok(vec![format!("{uid}:{gid}")]);
    }
    one_or_more(value)?.iter().map(|value| option_value(name, value)).collect()
}

fn option_value(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(switch) = value.cast::<PyBool>() {
        return Ok(if switch.is_true() { "yes" } else { "no" }.to_string());
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(value.str()?.to_cow()?.into_owned());
    }
    let path = value.extract::<PathBuf>().ok().and_then(|path| path.into_os_string().into_string().ok());
    path.ok_or_else(|| PyTypeError::new_err(format!("option {name}: expected str, int, bool or os.PathLike")))
}
