//! C interface of packline. `include/packline.h` describes each function.
//!
//! Each function is a thin layer over the crate `packline`:
//!
//! - Arguments are converted and checked in [`arguments`]. A NULL handle or string is an error, except where the header allows it.
//! - The body of each function that can fail runs in [`failure::guard`], which turns errors and panics into an error of C. No panic crosses the
//!   interface.
//! - A handle is a box of a type below. Its functions borrow it, and `packline_*_free` drops it.
//!
//! The safety comments rely on the contract of the header: (1) a handle comes from this library, was not freed, and is used by one thread at a
//! time unless the parameter is `const`; (2) a string is NUL-terminated; (3) a buffer has as many bytes as its length says; (4) a callback may be
//! called with its context until the function returns or, for a packer and a tree, until the packer has run.

#![allow(unsafe_code, reason = "an interface to C")]

mod arguments;
mod failure;
mod file;
mod image;
mod packer;
mod tree;

use std::ffi::c_char;

use packline::CancelToken;

/// `packline_cancel`.
pub struct PacklineCancel(CancelToken);

/// Returns the version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn packline_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Returns a token that is not set.
#[unsafe(no_mangle)]
pub extern "C" fn packline_cancel_new() -> *mut PacklineCancel {
    Box::into_raw(Box::new(PacklineCancel(CancelToken::new())))
}

/// Stops all work that uses the token.
///
/// # Safety
/// (1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_cancel_set(cancel: *const PacklineCancel) {
    // SAFETY: (1)
    if let Some(cancel) = unsafe { cancel.as_ref() } {
        cancel.0.cancel();
    }
}

/// Frees a token.
///
/// # Safety
/// (1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_cancel_free(cancel: *mut PacklineCancel) {
    // SAFETY: (1)
    unsafe { arguments::free(cancel) };
}
