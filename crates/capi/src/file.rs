//! Files of images, read at offsets.

use std::ffi::{c_char, c_void};
use std::ptr;

use packline::ImageFile;

use crate::arguments as arg;
use crate::failure::{PacklineError, guard};
use crate::image::PacklineImage;

/// An open regular file of an image. Any number of threads may read it.
pub struct PacklineFile(ImageFile);

/// Opens the regular file at `path` of an image. Symbolic links are followed inside the image. The file may
/// outlive the image. Any number of threads may open files of one image. All files of an image share a cache of
/// decoded blocks of 32 MiB. Returns a file, which the caller frees with packline_file_free, or NULL after an
/// error: PACKLINE_ERROR_NOT_FOUND, PACKLINE_ERROR_INVALID if it is not a regular file, PACKLINE_ERROR_CORRUPT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_file_open(
    image: *const PacklineImage,
    path: *const c_char,
    error: *mut *mut PacklineError,
) -> *mut PacklineFile {
    // SAFETY: (1), (2), (5)
    unsafe {
        guard(error, ptr::null_mut(), || {
            let file = arg::handle(image, "image")?.0.open_file(arg::string(path, "path")?)?;
            Ok(Box::into_raw(Box::new(PacklineFile(file))))
        })
    }
}

/// Returns the size of a file in bytes; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_file_size(file: *const PacklineFile) -> u64 {
    // SAFETY: (1)
    unsafe { file.as_ref() }.map_or(0, |file| file.0.size())
}

/// Reads `size` bytes from `offset` into `buffer`. Any number of threads may read one file. Returns the number
/// of bytes, which is smaller than `size` only at the end of the file, and 0 after the end; -1 after an error,
/// such as PACKLINE_ERROR_CORRUPT, and `buffer` then has any content.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_file_read_at(
    file: *const PacklineFile,
    offset: u64,
    buffer: *mut c_void,
    size: usize,
    error: *mut *mut PacklineError,
) -> i64 {
    // SAFETY: (1), (3), (5)
    unsafe {
        guard(error, -1, || {
            let file = &arg::handle(file, "file")?.0;
            // The part of the buffer after the end of the file is not cleared.
            let left = usize::try_from(file.size().saturating_sub(offset)).unwrap_or(usize::MAX);
            let buffer = arg::buffer_mut(buffer, size.min(left), "buffer")?;
            Ok(file.read_at(offset, buffer)? as i64)
        })
    }
}

/// Frees a file. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_file_free(file: *mut PacklineFile) {
    // SAFETY: (1)
    unsafe { arg::free(file) };
}
