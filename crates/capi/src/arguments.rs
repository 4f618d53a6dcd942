//! Arguments of C: pointers that are checked for NULL and converted.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice;

use crate::failure::PacklineError;

/// Borrows a handle.
///
/// # Safety
/// (1), for as long as the result is used.
pub unsafe fn handle<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, PacklineError> {
    // SAFETY: (1)
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// Borrows a handle to change it.
///
/// # Safety
/// (1), for as long as the result is used.
pub unsafe fn handle_mut<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, PacklineError> {
    // SAFETY: (1)
    unsafe { pointer.as_mut() }.ok_or_else(|| null(name))
}

/// Drops the value of a handle, if there is one.
///
/// # Safety
/// (1); the handle is not used again.
pub unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: (1): the pointer comes from Box::into_raw.
        drop(unsafe { Box::from_raw(pointer) });
    }
}

/// Returns the bytes of a string, without the NUL.
///
/// # Safety
/// (2), for as long as the result is used.
pub unsafe fn string<'a>(text: *const c_char, name: &str) -> Result<&'a [u8], PacklineError> {
    // SAFETY: (2)
    unsafe { optional_string(text) }.ok_or_else(|| null(name))
}

/// As [`string`], where NULL is allowed.
///
/// # Safety
/// (2), for as long as the result is used.
pub unsafe fn optional_string<'a>(text: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: (2)
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Returns a path of this machine.
///
/// # Safety
/// (2), for as long as the result is used.
pub unsafe fn path<'a>(text: *const c_char, name: &str) -> Result<&'a Path, PacklineError> {
    // SAFETY: (2)
    unsafe { string(text, name) }.map(|bytes| Path::new(OsStr::from_bytes(bytes)))
}

/// Returns the bytes of a buffer. NULL is allowed for an empty one.
///
/// # Safety
/// (3), for as long as the result is used.
pub unsafe fn buffer<'a>(bytes: *const c_void, length: usize, name: &str) -> Result<&'a [u8], PacklineError> {
    match length {
        0 => Ok(&[]),
        _ if bytes.is_null() => Err(null(name)),
        // SAFETY: (3)
        _ => Ok(unsafe { slice::from_raw_parts(bytes.cast(), length) }),
    }
}

/// As [`buffer`], to write to.
///
/// # Safety
/// (3), for as long as the result is used; the bytes are initialised or of a type without invalid values.
pub unsafe fn buffer_mut<'a>(bytes: *mut c_void, length: usize, name: &str) -> Result<&'a mut [u8], PacklineError> {
    match length {
        0 => Ok(&mut []),
        _ if bytes.is_null() => Err(null(name)),
        // SAFETY: (3). The buffer may be uninitialised in C, so it is set to zeros before it becomes a slice.
        _ => Ok(unsafe {
            bytes.cast::<u8>().write_bytes(0, length);
            slice::from_raw_parts_mut(bytes.cast(), length)
        }),
    }
}

/// The error of a pointer that must not be NULL.
pub fn null(name: &str) -> PacklineError {
    PacklineError::invalid(format!("{name} is NULL"))
}
