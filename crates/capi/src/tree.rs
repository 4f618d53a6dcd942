//! Trees that a C program builds.

use std::ffi::{c_char, c_int, c_void};
use std::io::{self, Read};

use packline::{Content, Device, Kind, Meta, Time, Tree, TreeEntry};

use crate::arguments::{buffer, free, handle_mut, null, path, string};
use crate::failure::{PacklineError, guard};

/// `packline_tree`.
pub struct PacklineTree(pub Tree);

/// `packline_attributes`.
#[repr(C)]
pub struct PacklineAttributes {
    mode: u32,
    uid: u32,
    gid: u32,
    mtime: i64,
    mtime_nsec: u32,
}

/// `packline_read_fn`.
pub type ReadFn = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> i64;

/// A content that a callback returns.
struct Callback {
    read: ReadFn,
    context: *mut c_void,
}

// SAFETY: (4): the header allows calls on the thread that packs, and a reader is used by one thread at a time.
unsafe impl Send for Callback {}

impl Read for Callback {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: (4)
        let count = unsafe { (self.read)(self.context, buffer.as_mut_ptr().cast(), buffer.len()) };
        let count = usize::try_from(count).ok().filter(|count| *count <= buffer.len());
        count.ok_or_else(|| io::Error::other("the function that reads the content failed"))
    }
}

/// Sets the attributes of an entry, if there are any.
///
/// # Safety
/// `attributes` is NULL or valid for a read.
unsafe fn set(entry: TreeEntry<'_>, attributes: *const PacklineAttributes) -> c_int {
    // SAFETY: the contract of this function.
    if let Some(attributes) = unsafe { attributes.as_ref() } {
        let &PacklineAttributes { mode, uid, gid, mtime, mtime_nsec } = attributes;
        let mode = (mode & 0o7777) as u16;
        entry.meta(Meta { mode, uid, gid, mtime: Time::new(mtime, mtime_nsec) });
    }
    0
}

/// Returns an empty tree.
#[unsafe(no_mangle)]
pub extern "C" fn packline_tree_new() -> *mut PacklineTree {
    Box::into_raw(Box::new(PacklineTree(Tree::new())))
}

/// Frees a tree.
///
/// # Safety
/// (1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_free(tree: *mut PacklineTree) {
    // SAFETY: (1)
    unsafe { free(tree) };
}

/// Adds a file with bytes.
///
/// # Safety
/// (1), (2), (3); `attributes` is NULL or valid for a read; `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_bytes(
    tree: *mut PacklineTree,
    name: *const c_char,
    bytes: *const c_void,
    length: usize,
    attributes: *const PacklineAttributes,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (3), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            let content = buffer(bytes, length, "bytes")?;
            Ok(set(handle_mut(tree, "tree")?.0.file(string(name, "path")?, content)?, attributes))
        })
    }
}

/// Adds a file with the content of a file of this machine.
///
/// # Safety
/// (1), (2); `attributes` is NULL or valid for a read; `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_file(
    tree: *mut PacklineTree,
    name: *const c_char,
    source: *const c_char,
    attributes: *const PacklineAttributes,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            let content = Content::path(path(source, "source")?);
            Ok(set(handle_mut(tree, "tree")?.0.file(string(name, "path")?, content)?, attributes))
        })
    }
}

/// Adds a file whose content a callback returns.
///
/// # Safety
/// (1), (2), (4); `attributes` is NULL or valid for a read; `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_reader(
    tree: *mut PacklineTree,
    name: *const c_char,
    read: Option<ReadFn>,
    context: *mut c_void,
    size: i64,
    attributes: *const PacklineAttributes,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            let reader = Callback { read: read.ok_or_else(|| null("the function"))?, context };
            let content = match u64::try_from(size) {
                Ok(size) => Content::sized(reader, size),
                Err(_) => Content::reader(reader),
            };
            Ok(set(handle_mut(tree, "tree")?.0.file(string(name, "path")?, content)?, attributes))
        })
    }
}

/// Adds a directory.
///
/// # Safety
/// (1), (2); `attributes` is NULL or valid for a read; `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_directory(
    tree: *mut PacklineTree,
    name: *const c_char,
    attributes: *const PacklineAttributes,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), and the contract of this function.
    unsafe { guard(error, -1, || Ok(set(handle_mut(tree, "tree")?.0.directory(string(name, "path")?)?, attributes))) }
}

/// Adds a symbolic link.
///
/// # Safety
/// (1), (2); `attributes` is NULL or valid for a read; `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_symlink(
    tree: *mut PacklineTree,
    name: *const c_char,
    target: *const c_char,
    attributes: *const PacklineAttributes,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            let target = string(target, "target")?;
            Ok(set(handle_mut(tree, "tree")?.0.symlink(string(name, "path")?, target)?, attributes))
        })
    }
}

/// Adds another name of an entry.
///
/// # Safety
/// (1), (2); `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_hard_link(
    tree: *mut PacklineTree,
    name: *const c_char,
    target: *const c_char,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            handle_mut(tree, "tree")?.0.hard_link(string(name, "path")?, string(target, "target")?)?;
            Ok(0)
        })
    }
}

/// Adds a device, a named pipe or a socket.
///
/// # Safety
/// (1), (2); `attributes` is NULL or valid for a read; `error` is NULL or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_special(
    tree: *mut PacklineTree,
    name: *const c_char,
    kind: u32,
    major: u32,
    minor: u32,
    attributes: *const PacklineAttributes,
    error: *mut *mut PacklineError,
) -> c_int {
    let kind = match kind {
        4 => Some(Kind::BlockDevice(Device { major, minor })),
        5 => Some(Kind::CharDevice(Device { major, minor })),
        6 => Some(Kind::Fifo),
        7 => Some(Kind::Socket),
        _ => None,
    };
    // SAFETY: (1), (2), and the contract of this function.
    unsafe {
        guard(error, -1, || {
            let kind =
                kind.ok_or_else(|| PacklineError::invalid("the type is not that of a device, a pipe or a socket"))?;
            Ok(set(handle_mut(tree, "tree")?.0.special(string(name, "path")?, kind)?, attributes))
        })
    }
}
