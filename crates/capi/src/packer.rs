//! Packs: sources, options as text, an observer, a token that cancels.

use std::ffi::{c_char, c_int, c_void};
use std::mem;

use packline::{CancelToken, EntryInfo, Observer, Packer, Progress, Resources, Source, Tree};

use crate::PacklineCancel;
use crate::arguments::{free, handle, handle_mut, null, path, string};
use crate::failure::{PacklineError, guard, text};
use crate::image::PacklineImage;
use crate::tree::PacklineTree;

/// `packline_packer`.
#[derive(Default)]
pub struct PacklinePacker {
    /// The lowest comes first.
    sources: Vec<Source>,
    options: Vec<(String, String)>,
    observer: Option<PacklineObserver>,
    cancel: Option<CancelToken>,
}

/// `packline_progress`.
#[repr(C)]
pub struct PacklineProgress {
    entries: u64,
    content_bytes: u64,
    image_bytes: u64,
}

/// `packline_packed`.
#[repr(C)]
pub struct PacklinePacked {
    content_bytes: u64,
    output_bytes: u64,
    copied_blocks: u64,
    errors: u64,
    warnings: u64,
}

/// `packline_observer`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PacklineObserver {
    context: *mut c_void,
    entry: Option<unsafe extern "C" fn(*mut c_void, *const c_char)>,
    advance: Option<unsafe extern "C" fn(*mut c_void, *const PacklineProgress)>,
    warning: Option<unsafe extern "C" fn(*mut c_void, *const c_char)>,
}

// SAFETY: (4): the header allows calls on the thread that packs, one at a time.
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

    fn warning(&mut self, message: &str) {
        if let Some(report) = self.warning {
            let message = text(message);
            // SAFETY: (4). The message outlives the call.
            unsafe { report(self.context, message.as_ptr()) };
        }
    }
}

/// Returns a packer without sources.
#[unsafe(no_mangle)]
pub extern "C" fn packline_packer_new() -> *mut PacklinePacker {
    Box::into_raw(Box::default())
}

/// Frees a packer.
///
/// # Safety
/// (1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_free(packer: *mut PacklinePacker) {
    // SAFETY: (1)
    unsafe { free(packer) };
}

/// Adds a source.
///
/// # Safety
/// (1); `error` is NULL or valid for a write.
unsafe fn add(
    packer: *mut PacklinePacker,
    error: *mut *mut PacklineError,
    source: impl FnOnce() -> Result<Source, PacklineError>,
) -> c_int {
    // SAFETY: (1), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            // A tree is taken and freed even if there is no packer.
            let source = source();
            handle_mut(packer, "packer")?.sources.push(source?);
            Ok(0)
        })
    }
}

/// Adds a directory.
///
/// # Safety
/// (1), (2); `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_add_directory(
    packer: *mut PacklinePacker,
    name: *const c_char,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), and the contract of this function.
    unsafe { add(packer, error, || Ok(Source::directory(path(name, "path")?))) }
}

/// Adds a tar.
///
/// # Safety
/// (1), (2); `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_add_tar(
    packer: *mut PacklinePacker,
    name: *const c_char,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), and the contract of this function.
    unsafe { add(packer, error, || Ok(Source::tar_file(path(name, "path")?))) }
}

/// Adds an image.
///
/// # Safety
/// (1); `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_add_image(
    packer: *mut PacklinePacker,
    image: *const PacklineImage,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), and the contract of this function.
    unsafe { add(packer, error, || Ok(Source::image(handle(image, "image")?.0.clone()))) }
}

/// Adds a tree, which it takes.
///
/// # Safety
/// (1); `tree` is not used again; `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_add_tree(
    packer: *mut PacklinePacker,
    tree: *mut PacklineTree,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), and the contract of this function. The box frees the tree after an error, too.
    unsafe {
        add(packer, error, || {
            if tree.is_null() {
                return Err(null("tree"));
            }
            let PacklineTree(tree) = *Box::from_raw(tree);
            Ok(tree.into())
        })
    }
}

/// Sets an option.
///
/// # Safety
/// (1), (2); `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_set(
    packer: *mut PacklinePacker,
    option: *const c_char,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            let option = std::str::from_utf8(string(option, "option")?);
            let option = option.map_err(|_| PacklineError::invalid("the option is not UTF-8"))?;
            let named = option.split_once('=');
            let (name, value) = named.ok_or_else(|| PacklineError::invalid("the option is not NAME=VALUE"))?;
            // The option is checked now, and applied when the packer runs.
            Packer::new(Tree::new()).set(name, value)?;
            handle_mut(packer, "packer")?.options.push((name.to_string(), value.to_string()));
            Ok(0)
        })
    }
}

/// Sets the observer.
///
/// # Safety
/// (1), (4); `observer` is NULL or valid for a read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_observe(packer: *mut PacklinePacker, observer: *const PacklineObserver) {
    // SAFETY: (1), and the contract of this function.
    if let Some(packer) = unsafe { packer.as_mut() } {
        // SAFETY: the contract of this function.
        packer.observer = unsafe { observer.as_ref() }.copied();
    }
}

/// Sets the token that cancels the pack.
///
/// # Safety
/// (1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_use_cancel(packer: *mut PacklinePacker, cancel: *const PacklineCancel) {
    // SAFETY: (1)
    if let Some(packer) = unsafe { packer.as_mut() } {
        // SAFETY: (1)
        packer.cancel = unsafe { cancel.as_ref() }.map(|cancel| cancel.0.clone());
    }
}

impl PacklinePacker {
    /// Returns the packer with all sources and options.
    fn take(&mut self) -> Result<Packer<'static>, PacklineError> {
        let mut sources = mem::take(&mut self.sources);
        let source = match (sources.pop(), sources.is_empty()) {
            (None, _) => return Err(PacklineError::invalid("the packer has no sources, or has run")),
            (Some(source), true) => source,
            (Some(last), false) => {
                sources.push(last);
                Source::stack(sources)
            }
        };
        let mut packer = Packer::new(source);
        if let Some(cancel) = &self.cancel {
            packer = packer.resources(Resources::default().cancelled_by(cancel));
        }
        for (name, value) in &self.options {
            packer = packer.set(name, value)?;
        }
        Ok(if let Some(observer) = self.observer { packer.observe(observer) } else { packer })
    }
}

/// Packs the sources.
///
/// # Safety
/// (1), (2), (4); `packed` is NULL or valid for a write; `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_run(
    packer: *mut PacklinePacker,
    output: *const c_char,
    packed: *mut PacklinePacked,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (4), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            let output = path(output, "output")?;
            let done = handle_mut(packer, "packer")?.take()?.write_to(output)?;
            if !packed.is_null() {
                packed.write(PacklinePacked {
                    content_bytes: done.content_bytes,
                    output_bytes: done.output_bytes,
                    copied_blocks: done.copied_blocks,
                    errors: done.errors,
                    warnings: done.warnings,
                });
            }
            Ok(0)
        })
    }
}
