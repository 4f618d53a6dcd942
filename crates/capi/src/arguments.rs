//! Arguments of C: pointers that are checked for NULL and converted.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fs::File;
use std::os::fd::BorrowedFd;
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

/// Returns the name and the value of an option.
///
/// # Safety
/// (2), for as long as the result is used.
pub unsafe fn option<'a>(text: *const c_char) -> Result<(&'a str, &'a str), PacklineError> {
    // SAFETY: (2)
    let text = std::str::from_utf8(unsafe { string(text, "option") }?);
    let text = text.map_err(|_| PacklineError::invalid("the option is not UTF-8"))?;
    text.split_once('=').ok_or_else(|| PacklineError::invalid(format!("option '{text}': expected NAME=VALUE")))
}

/// Returns the options of an array that ends with NULL. NULL is allowed for an empty array.
///
/// # Safety
/// (2) for each string, for as long as the result is used; the array ends with NULL.
pub unsafe fn options<'a>(mut array: *const *const c_char) -> Result<Vec<(&'a str, &'a str)>, PacklineError> {
    let mut options = Vec::new();
    // SAFETY: the contract of this function.
    unsafe {
        while !array.is_null() && !(*array).is_null() {
            options.push(option(*array)?);
            array = array.add(1);
        }
    }
    Ok(options)
}

/// Returns the bytes of a buffer. NULL is allowed for an empty one.
///
/// # Safety
/// (3), for as long as the result is used.
pub unsafe fn buffer<'a>(bytes: *const c_void, length: usize, name: &str) -> Result<&'a [u8], PacklineError> {
    match length {
        0 => Ok(&[]),
        _ if bytes.is_null() => Err(null(name)),
        _ if isize::try_from(length).is_err() => Err(too_long(name)),
        // SAFETY: (3)
        _ => Ok(unsafe { slice::from_raw_parts(bytes.cast(), length) }),
    }
}

/// As [`buffer`], to write to.
///
/// # Safety
/// (3), for as long as the result is used.
pub unsafe fn buffer_mut<'a>(bytes: *mut c_void, length: usize, name: &str) -> Result<&'a mut [u8], PacklineError> {
    match length {
        0 => Ok(&mut []),
        _ if bytes.is_null() => Err(null(name)),
        _ if isize::try_from(length).is_err() => Err(too_long(name)),
        // SAFETY: (3). The buffer may be uninitialised in C, so it is set to zeros before it becomes a slice.
        _ => Ok(unsafe {
            bytes.cast::<u8>().write_bytes(0, length);
            slice::from_raw_parts_mut(bytes.cast(), length)
        }),
    }
}

/// Returns a copy of an open descriptor, which shares its position, and the name of the descriptor in errors.
pub fn descriptor(descriptor: c_int) -> Result<(String, File), PacklineError> {
    if descriptor < 0 {
        return Err(PacklineError::invalid("the descriptor is negative"));
    }
    // SAFETY: the caller keeps the descriptor open during this call. For a closed one the system reports an error.
    let owned = unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned();
    let name = format!("descriptor {descriptor}");
    let owned =
        owned.map_err(|cause| packline::Error::Source { path: (&name).into(), action: "cannot open", cause })?;
    Ok((name, File::from(owned)))
}

/// The error of a pointer that must not be NULL.
pub fn null(name: &str) -> PacklineError {
    PacklineError::invalid(format!("{name} is NULL"))
}

/// No object is larger than half of the address space.
fn too_long(name: &str) -> PacklineError {
    PacklineError::invalid(format!("{name} has an invalid length"))
}
