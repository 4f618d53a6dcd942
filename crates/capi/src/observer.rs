//! Callbacks that observe a pack or an extraction.

use std::ffi::{c_char, c_void};

use packline::{EntryInfo, Observer, Problem, Progress};

use crate::failure::text;

/// What has been read so far.
#[repr(C)]
pub struct PacklineProgress {
    /// The number of entries.
    entries: u64,
    /// The bytes of content of files, holes included.
    content_bytes: u64,
    /// The bytes of an image that were written so far; 0 for an extraction.
    image_bytes: u64,
}

/// Callbacks, which are called one at a time, on the thread that packs or unpacks. Each may be NULL. Pointers
/// that they receive are valid only during the call. They must not use the packer that runs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PacklineObserver {
    /// The first argument of the callbacks.
    context: *mut c_void,
    /// An entry is about to be packed or unpacked. `path` is its path in the image.
    entry: Option<unsafe extern "C" fn(context: *mut c_void, path: *const c_char)>,
    /// Content was read: at most a few hundred kilobytes, or a hole.
    advance: Option<unsafe extern "C" fn(context: *mut c_void, progress: *const PacklineProgress)>,
    /// Something was skipped or changed; or, with continue=yes, an entry failed. `message` is a complete
    /// message in English.
    warning: Option<unsafe extern "C" fn(context: *mut c_void, message: *const c_char)>,
}

// SAFETY: (4): the header says that the callbacks are called on the thread that packs or unpacks, one at a time.
unsafe impl Send for PacklineObserver {}

impl Observer for PacklineObserver {
    fn entry(&mut self, entry: EntryInfo<'_>, _progress: &Progress) {
        if let Some(report) = self.entry {
            let path = text(entry.path);
            // SAFETY: (4). The path outlives the call.
            unsafe { report(self.context, path.as_ptr()) };
        }
    }

    fn advance(&mut self, progress: &Progress) {
        if let Some(report) = self.advance {
            let &Progress { entries, content_bytes, image_bytes, .. } = progress;
            // SAFETY: (4)
            unsafe { report(self.context, &PacklineProgress { entries, content_bytes, image_bytes }) };
        }
    }

    fn problem(&mut self, problem: Problem<'_>) {
        self.warning(&problem.error.to_string());
    }

    fn warning(&mut self, message: &str) {
        if let Some(report) = self.warning {
            let message = text(message);
            // SAFETY: (4). The message outlives the call.
            unsafe { report(self.context, message.as_ptr()) };
        }
    }
}
