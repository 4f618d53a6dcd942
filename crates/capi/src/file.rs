//! Files of images, read at offsets.

use std::ffi::{c_char, c_void};
use std::ptr;

use packline::ImageFile;

use crate::arguments::{buffer_mut, free, handle, string};
use crate::failure::{PacklineError, guard};
use crate::image::PacklineImage;

/// `packline_file`.
pub struct PacklineFile(ImageFile);

/// Opens a regular file.
///
/// # Safety
/// (1), (2); `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_file_open(
    image: *const PacklineImage,
    path: *const c_char,
    error: *mut *mut PacklineError,
) -> *mut PacklineFile {
    // SAFETY: (1), (2), and the contract of this function.
    unsafe {
        guard(error, ptr::null_mut(), || {
            let file = handle(image, "image")?.0.open_file(string(path, "path")?)?;
            Ok(Box::into_raw(Box::new(PacklineFile(file))))
        })
    }
}

/// Returns the size in bytes.
///
/// # Safety
/// (1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_file_size(file: *const PacklineFile) -> u64 {
    // SAFETY: (1)
    unsafe { file.as_ref() }.map_or(0, |file| file.0.size())
}

/// Fills a buffer from an offset.
///
/// # Safety
/// (1), (3); `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_file_read_at(
    file: *const PacklineFile,
    offset: u64,
    out: *mut c_void,
    size: usize,
    error: *mut *mut PacklineError,
) -> i64 {
    // SAFETY: (1), (3), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            let file = &handle(file, "file")?.0;
            // A buffer larger than the file is not cleared for nothing.
            let left = usize::try_from(file.size().saturating_sub(offset)).unwrap_or(usize::MAX);
            let out = buffer_mut(out, size.min(left), "buffer")?;
            Ok(file.read_at(offset, out)? as i64)
        })
    }
}

/// Frees a file.
///
/// # Safety
/// (1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_file_free(file: *mut PacklineFile) {
    // SAFETY: (1)
    unsafe { free(file) };
}
