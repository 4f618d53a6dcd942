//! The version, and tokens that cancel work.

use std::ffi::c_char;

use packline::CancelToken;

use crate::arguments as arg;

/// A token that cancels packs and extractions. One token may serve any number of calls.
pub struct PacklineCancel(pub(crate) CancelToken);

/// Returns the version of the library, "MAJOR.MINOR.PATCH". The string lives as long as the process.
#[unsafe(no_mangle)]
pub extern "C" fn packline_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Returns a token that is not set. The caller frees it with packline_cancel_free.
#[unsafe(no_mangle)]
pub extern "C" fn packline_cancel_new() -> *mut PacklineCancel {
    Box::into_raw(Box::new(PacklineCancel(CancelToken::new())))
}

/// Sets the token: all work that uses it ends soon with PACKLINE_ERROR_CANCELLED, and later work ends at once.
/// It may be called by any thread and by a signal handler. A token stays set. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_cancel_set(cancel: *const PacklineCancel) {
    // SAFETY: (1)
    if let Some(cancel) = unsafe { cancel.as_ref() } {
        cancel.0.cancel();
    }
}

/// Frees a token. Work that uses it continues, and can no longer be cancelled. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_cancel_free(cancel: *mut PacklineCancel) {
    // SAFETY: (1)
    unsafe { arg::free(cancel) };
}
