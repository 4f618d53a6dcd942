//! Errors as C sees them, and the boundary that no panic crosses.

use std::any::Any;
use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Once;

use packline::ErrorKind;

use crate::arguments as arg;

/// Kinds of errors, which packline_error_kind returns. Later versions may add kinds.
#[allow(clippy::enum_variant_names, reason = "the names in C")]
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// A file, or a path in an image, does not exist.
    PacklineErrorNotFound = 1,
    /// The output exists, and replace=yes was not set.
    PacklineErrorExists = 2,
    /// The system denies access.
    PacklineErrorPermission = 3,
    /// The disk is full, or a quota is exceeded; also in the directory for temporary files.
    PacklineErrorNoSpace = 4,
    /// The input is damaged.
    PacklineErrorCorrupt = 5,
    /// The input is something else.
    PacklineErrorWrongFormat = 6,
    /// The input has a feature that packline does not support.
    PacklineErrorUnsupported = 7,
    /// The memory limit or a limit of the format is exceeded.
    PacklineErrorLimit = 8,
    /// The token was set.
    PacklineErrorCancelled = 9,
    /// A key or password is missing or wrong.
    PacklineErrorWrongKey = 10,
    /// An argument is NULL, an option is unknown, a value or a pattern is malformed, or options exclude each
    /// other.
    PacklineErrorInvalid = 11,
    /// Another error of the system, or of a callback.
    PacklineErrorIo = 12,
    /// A bug in packline.
    PacklineErrorInternal = 13,
}

/// An error. It does not change, and any number of threads may read it.
#[derive(Debug)]
pub struct PacklineError {
    kind: Failure,
    message: CString,
    path: Option<CString>,
    entry: Option<CString>,
    offset: i64,
}

impl PacklineError {
    /// An invalid argument.
    pub fn invalid(message: impl Into<Vec<u8>>) -> PacklineError {
        let kind = Failure::PacklineErrorInvalid;
        PacklineError { kind, message: text(message), path: None, entry: None, offset: -1 }
    }

    fn of_panic(payload: &(dyn Any + Send)) -> PacklineError {
        let literal = payload.downcast_ref::<&str>().copied();
        let what = literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic");
        let kind = Failure::PacklineErrorInternal;
        PacklineError { kind, ..PacklineError::invalid(format!("internal error: {what}")) }
    }
}

impl From<packline::Error> for PacklineError {
    fn from(error: packline::Error) -> PacklineError {
        let offset = error.corruption().and_then(|damage| i64::try_from(damage.offset).ok());
        PacklineError {
            kind: error.kind().into(),
            message: text(error.to_string()),
            path: error.path().map(|path| text(path.as_os_str().as_bytes())),
            entry: error.entry().map(text),
            offset: offset.unwrap_or(-1),
        }
    }
}

impl From<ErrorKind> for Failure {
    fn from(kind: ErrorKind) -> Failure {
        match kind {
            ErrorKind::NotFound => Failure::PacklineErrorNotFound,
            ErrorKind::Exists => Failure::PacklineErrorExists,
            ErrorKind::Permission => Failure::PacklineErrorPermission,
            ErrorKind::NoSpace => Failure::PacklineErrorNoSpace,
            ErrorKind::Corrupt => Failure::PacklineErrorCorrupt,
            ErrorKind::WrongFormat => Failure::PacklineErrorWrongFormat,
            ErrorKind::Unsupported => Failure::PacklineErrorUnsupported,
            ErrorKind::Limit => Failure::PacklineErrorLimit,
            ErrorKind::Cancelled => Failure::PacklineErrorCancelled,
            ErrorKind::WrongKey => Failure::PacklineErrorWrongKey,
            ErrorKind::Invalid => Failure::PacklineErrorInvalid,
            ErrorKind::Io => Failure::PacklineErrorIo,
            _ => Failure::PacklineErrorInternal,
        }
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
/// (5)
pub unsafe fn guard<T>(
    error: *mut *mut PacklineError,
    failed: T,
    body: impl FnOnce() -> Result<T, PacklineError>,
) -> T {
    log_panics();
    // After a panic the caller can only free the handles that the body borrowed.
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => return value,
        Ok(Err(failure)) => failure,
        Err(payload) => PacklineError::of_panic(payload.as_ref()),
    };
    if !error.is_null() {
        // SAFETY: (5)
        unsafe { error.write(Box::into_raw(Box::new(failure))) };
    }
    failed
}

/// Sends messages of panics to the log. The standard library would print them. It belongs to this library
/// alone, as does its hook.
fn log_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| panic::set_hook(Box::new(|panic| log::error!("{panic}"))));
}

fn pointer(text: Option<&CString>) -> *const c_char {
    text.map_or(ptr::null(), |text| text.as_ptr())
}

/// Returns the kind (packline_failure); 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_error_kind(error: *const PacklineError) -> c_int {
    // SAFETY: (1)
    unsafe { error.as_ref() }.map_or(0, |error| error.kind as c_int)
}

/// Returns a complete message in English, in one line, with the names of the files; NULL for NULL. The string
/// lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_error_message(error: *const PacklineError) -> *const c_char {
    // SAFETY: (1)
    pointer(unsafe { error.as_ref() }.map(|error| &error.message))
}

/// Returns the file of this machine that the error concerns, or the name that messages give to a descriptor, to
/// an image in memory or to a tar of a callback; otherwise NULL. The string lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_error_path(error: *const PacklineError) -> *const c_char {
    // SAFETY: (1)
    pointer(unsafe { error.as_ref() }.and_then(|error| error.path.as_ref()))
}

/// Returns the path in the source or the image that the error concerns, or NULL. The string lives as long as
/// the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_error_entry(error: *const PacklineError) -> *const c_char {
    // SAFETY: (1)
    pointer(unsafe { error.as_ref() }.and_then(|error| error.entry.as_ref()))
}

/// Returns the offset of damage in the image in bytes, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_error_offset(error: *const PacklineError) -> i64 {
    // SAFETY: (1)
    unsafe { error.as_ref() }.map_or(-1, |error| error.offset)
}

/// Frees an error and its strings. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_error_free(error: *mut PacklineError) {
    // SAFETY: (1)
    unsafe { arg::free(error) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of a body that fails.
    fn caught(body: impl FnOnce() -> Result<c_int, PacklineError>) -> PacklineError {
        let mut error = ptr::null_mut();
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { guard(&raw mut error, -1, body) }, -1);
        // SAFETY: the guard stored an error.
        *unsafe { Box::from_raw(error) }
    }

    #[test]
    fn a_panic_is_an_internal_error() {
        let formatted = caught(|| Ok([1, 2][std::hint::black_box(2)]));
        let literal = caught(|| Ok(std::hint::black_box(None::<c_int>).expect("a number")));
        for (error, message) in
            [(formatted, "internal error: index out of bounds"), (literal, "internal error: a number")]
        {
            assert_eq!(error.kind, Failure::PacklineErrorInternal);
            assert!(error.message.to_string_lossy().starts_with(message), "{error:?}");
        }
    }

    #[test]
    fn an_error_without_a_place_for_it_is_dropped() {
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { guard(ptr::null_mut(), 7, || Err(PacklineError::invalid("x"))) }, 7);
    }
}
