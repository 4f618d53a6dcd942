//! Errors as C sees them, and the boundary that no panic crosses.

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use packline::ErrorKind;

use crate::arguments::free;

const INVALID: c_int = 11;
const INTERNAL: c_int = 13;

/// `packline_error`.
#[derive(Debug)]
pub struct PacklineError {
    kind: c_int,
    message: CString,
    path: Option<CString>,
    entry: Option<CString>,
    offset: i64,
}

impl PacklineError {
    /// An invalid argument.
    pub fn invalid(message: impl Into<Vec<u8>>) -> PacklineError {
        PacklineError { kind: INVALID, message: text(message), path: None, entry: None, offset: -1 }
    }
}

impl From<packline::Error> for PacklineError {
    fn from(error: packline::Error) -> PacklineError {
        let offset = error.corruption().and_then(|damage| i64::try_from(damage.offset).ok());
        PacklineError {
            kind: number(error.kind()),
            message: text(error.to_string()),
            path: error.path().map(|path| text(path.as_os_str().as_bytes())),
            entry: error.entry().map(text),
            offset: offset.unwrap_or(-1),
        }
    }
}

/// The number of a kind in the header.
fn number(kind: ErrorKind) -> c_int {
    match kind {
        ErrorKind::NotFound => 1,
        ErrorKind::Exists => 2,
        ErrorKind::Permission => 3,
        ErrorKind::NoSpace => 4,
        ErrorKind::Corrupt => 5,
        ErrorKind::WrongFormat => 6,
        ErrorKind::Unsupported => 7,
        ErrorKind::Limit => 8,
        ErrorKind::Cancelled => 9,
        ErrorKind::WrongKey => 10,
        ErrorKind::Invalid => INVALID,
        ErrorKind::Io => 12,
        _ => INTERNAL,
    }
}

/// A string for C. It cannot hold NUL, which is left out.
pub fn text(bytes: impl Into<Vec<u8>>) -> CString {
    let mut bytes = bytes.into();
    bytes.retain(|byte| *byte != 0);
    CString::new(bytes).unwrap_or_default()
}

/// Runs the body of a function. After an error or a panic, stores the error at `error`, and returns `failed`.
///
/// # Safety
/// `error` is NULL or valid for a write.
pub unsafe fn guard<T>(
    error: *mut *mut PacklineError,
    failed: T,
    body: impl FnOnce() -> Result<T, PacklineError>,
) -> T {
    // After a panic the caller can only free the handles that the body borrowed.
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => return value,
        Ok(Err(failure)) => failure,
        Err(_) => PacklineError { kind: INTERNAL, ..PacklineError::invalid("internal error: a panic") },
    };
    if !error.is_null() {
        // SAFETY: the contract of this function.
        unsafe { error.write(Box::into_raw(Box::new(failure))) };
    }
    failed
}

fn pointer(text: Option<&CString>) -> *const c_char {
    text.map_or(ptr::null(), |text| text.as_ptr())
}

/// Returns the kind.
///
/// # Safety
/// (1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_error_kind(error: *const PacklineError) -> c_int {
    // SAFETY: (1)
    unsafe { error.as_ref() }.map_or(0, |error| error.kind)
}

/// Returns the message.
///
/// # Safety
/// (1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_error_message(error: *const PacklineError) -> *const c_char {
    // SAFETY: (1)
    pointer(unsafe { error.as_ref() }.map(|error| &error.message))
}

/// Returns the file.
///
/// # Safety
/// (1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_error_path(error: *const PacklineError) -> *const c_char {
    // SAFETY: (1)
    pointer(unsafe { error.as_ref() }.and_then(|error| error.path.as_ref()))
}

/// Returns the path in the source or image.
///
/// # Safety
/// (1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_error_entry(error: *const PacklineError) -> *const c_char {
    // SAFETY: (1)
    pointer(unsafe { error.as_ref() }.and_then(|error| error.entry.as_ref()))
}

/// Returns the offset of damage.
///
/// # Safety
/// (1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_error_offset(error: *const PacklineError) -> i64 {
    // SAFETY: (1)
    unsafe { error.as_ref() }.map_or(-1, |error| error.offset)
}

/// Frees an error.
///
/// # Safety
/// (1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_error_free(error: *mut PacklineError) {
    // SAFETY: (1)
    unsafe { free(error) };
}
