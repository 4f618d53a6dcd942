//! Open images: attributes, walks, links, extended attributes, extraction.

use std::ffi::{CString, c_char, c_int, c_void};
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::ptr;

use packline::{Device, Entry, Image, Input, Kind, Resources, Selection, Unpacker};

use crate::PacklineCancel;
use crate::arguments::{buffer, buffer_mut, free, handle, null, optional_string, path, string};
use crate::failure::{PacklineError, guard, text};

/// `packline_image`.
pub struct PacklineImage(pub Image);

/// `packline_entry`.
#[repr(C)]
pub struct PacklineEntry {
    path: *const c_char,
    kind: u32,
    mode: u32,
    uid: u32,
    gid: u32,
    mtime: i64,
    mtime_nsec: u32,
    links: u32,
    id: u64,
    size: u64,
    major: u32,
    minor: u32,
}

/// `packline_entry_fn`.
pub type EntryFn = unsafe extern "C" fn(*mut c_void, *const PacklineEntry) -> c_int;
/// `packline_xattr_fn`.
pub type XattrFn = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_void, usize) -> c_int;

impl PacklineEntry {
    fn new(entry: &Entry, path: *const c_char) -> PacklineEntry {
        let meta = entry.meta();
        let (kind, device) = match entry.kind() {
            Kind::File { .. } | Kind::HardLink(_) => (1, Device { major: 0, minor: 0 }),
            Kind::Dir => (2, Device { major: 0, minor: 0 }),
            Kind::Symlink(_) => (3, Device { major: 0, minor: 0 }),
            Kind::BlockDevice(device) => (4, device),
            Kind::CharDevice(device) => (5, device),
            Kind::Fifo => (6, Device { major: 0, minor: 0 }),
            Kind::Socket => (7, Device { major: 0, minor: 0 }),
        };
        PacklineEntry {
            path,
            kind,
            mode: meta.mode.into(),
            uid: meta.uid,
            gid: meta.gid,
            mtime: meta.mtime.seconds(),
            mtime_nsec: meta.mtime.nanoseconds(),
            links: entry.links(),
            id: entry.id(),
            size: entry.size(),
            major: device.major,
            minor: device.minor,
        }
    }
}

fn boxed(image: Image) -> *mut PacklineImage {
    Box::into_raw(Box::new(PacklineImage(image)))
}

/// Opens the image in a file.
///
/// # Safety
/// (2); `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_open(name: *const c_char, error: *mut *mut PacklineError) -> *mut PacklineImage {
    // SAFETY: (2), and the contract of this function.
    unsafe { guard(error, ptr::null_mut(), || Ok(boxed(Image::open(path(name, "path")?)?))) }
}

/// Opens the image in an open file.
///
/// # Safety
/// `descriptor` is open; `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_open_fd(descriptor: c_int, error: *mut *mut PacklineError) -> *mut PacklineImage {
    let open = || {
        if descriptor < 0 {
            return Err(PacklineError::invalid("the descriptor is negative"));
        }
        // SAFETY: it is open, and borrowed only during this call.
        let owned = unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned();
        let name = format!("descriptor {descriptor}");
        let owned = owned.map_err(|cause| packline::Error::Source {
            path: name.clone().into(),
            action: "cannot open",
            cause,
        })?;
        Ok(boxed(Image::from_input(Input::of_file(name, File::from(owned))?)?))
    };
    // SAFETY: the contract of this function.
    unsafe { guard(error, ptr::null_mut(), open) }
}

/// Opens an image in memory.
///
/// # Safety
/// (3); `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_open_memory(
    bytes: *const c_void,
    length: usize,
    error: *mut *mut PacklineError,
) -> *mut PacklineImage {
    // SAFETY: (3), and the contract of this function.
    unsafe {
        guard(error, ptr::null_mut(), || {
            let bytes = buffer(bytes, length, "bytes")?.to_vec();
            Ok(boxed(Image::from_input(Input::bytes("memory", bytes))?))
        })
    }
}

/// Frees an image.
///
/// # Safety
/// (1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_image_free(image: *mut PacklineImage) {
    // SAFETY: (1)
    unsafe { free(image) };
}

/// Stores the attributes of an entry.
///
/// # Safety
/// (1), (2); `entry` is valid for a write; `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_stat(
    image: *const PacklineImage,
    name: *const c_char,
    entry: *mut PacklineEntry,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            let found = handle(image, "image")?.0.entry(string(name, "path")?)?;
            if entry.is_null() {
                return Err(null("entry"));
            }
            entry.write(PacklineEntry::new(&found, ptr::null()));
            Ok(0)
        })
    }
}

/// Passes entries to a callback until it returns another value than 0.
///
/// # Safety
/// (4)
unsafe fn pass(
    entries: impl Iterator<Item = Result<Entry, packline::Error>>,
    each: Option<EntryFn>,
    context: *mut c_void,
) -> Result<c_int, PacklineError> {
    let each = each.ok_or_else(|| null("the function"))?;
    for entry in entries {
        let entry = entry?;
        let path = text(entry.path());
        // SAFETY: (4). The path outlives the call.
        if unsafe { each(context, &PacklineEntry::new(&entry, path.as_ptr())) } != 0 {
            break;
        }
    }
    Ok(0)
}

/// Calls a function for all entries that match a pattern.
///
/// # Safety
/// (1), (2), (4); `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_walk(
    image: *const PacklineImage,
    pattern: *const c_char,
    each: Option<EntryFn>,
    context: *mut c_void,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (4), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            let selection = selection(pattern)?;
            pass(handle(image, "image")?.0.entries(&selection), each, context)
        })
    }
}

/// Returns the selection of a pattern, or of everything.
///
/// # Safety
/// (2)
unsafe fn selection(pattern: *const c_char) -> Result<Selection, PacklineError> {
    // SAFETY: (2)
    match unsafe { optional_string(pattern) } {
        None => Ok(Selection::all()),
        Some(pattern) => Ok(Selection::pattern(pattern).map_err(packline::Error::from)?),
    }
}

/// Calls a function for the entries of a directory.
///
/// # Safety
/// (1), (2), (4); `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_list(
    image: *const PacklineImage,
    name: *const c_char,
    each: Option<EntryFn>,
    context: *mut c_void,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (4), and the contract of this function.
    unsafe { guard(error, -1, || pass(handle(image, "image")?.0.read_dir(string(name, "path")?)?, each, context)) }
}

/// Copies the target of a symbolic link.
///
/// # Safety
/// (1), (2), (3); `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_readlink(
    image: *const PacklineImage,
    name: *const c_char,
    out: *mut c_char,
    size: usize,
    error: *mut *mut PacklineError,
) -> i64 {
    // SAFETY: (1), (2), (3), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            let entry = handle(image, "image")?.0.entry(string(name, "path")?)?;
            let Some(target) = entry.link_target() else {
                return Err(PacklineError::invalid("the entry is not a symbolic link"));
            };
            // The rest of the buffer is zeros.
            let out = buffer_mut(out.cast(), size, "buffer")?;
            let count = target.len().min(out.len());
            out[..count].copy_from_slice(&target[..count]);
            Ok(target.len() as i64)
        })
    }
}

/// Calls a function for the extended attributes of an entry.
///
/// # Safety
/// (1), (2), (4); `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_xattrs(
    image: *const PacklineImage,
    name: *const c_char,
    each: Option<XattrFn>,
    context: *mut c_void,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (4), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            let each = each.ok_or_else(|| null("the function"))?;
            for xattr in handle(image, "image")?.0.entry(string(name, "path")?)?.xattrs()? {
                let name: CString = text(xattr.name);
                if each(context, name.as_ptr(), xattr.value.as_ptr().cast(), xattr.value.len()) != 0 {
                    break;
                }
            }
            Ok(0)
        })
    }
}

/// Unpacks entries to a directory.
///
/// # Safety
/// (1), (2); `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_extract(
    image: *const PacklineImage,
    pattern: *const c_char,
    directory: *const c_char,
    cancel: *const PacklineCancel,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            let mut resources = Resources::default();
            if let Some(cancel) = cancel.as_ref() {
                resources = resources.cancelled_by(&cancel.0);
            }
            let unpacker = Unpacker::image(handle(image, "image")?.0.clone());
            let unpacker = unpacker.select(selection(pattern)?).resources(resources);
            unpacker.to_directory(path(directory, "directory")?)?;
            Ok(0)
        })
    }
}
