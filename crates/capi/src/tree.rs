//! Trees that a C program builds.

use std::ffi::{c_char, c_int, c_void};
use std::io::{self, Read};

use packline::{Content, Device, Kind, Meta, Time, Tree, TreeEntry};

use crate::arguments as arg;
use crate::failure::{PacklineError, guard};

/// A source of a pack that the program builds: entries, added in any order. Missing directories above an entry
/// are added with the mode 755.
pub struct PacklineTree(pub Tree);

/// The attributes of an entry of a tree.
#[repr(C)]
pub struct PacklineAttributes {
    /// The permissions, 12 bits. Other bits are ignored, so that it may be an st_mode.
    mode: u32,
    /// The owner.
    uid: u32,
    /// The group.
    gid: u32,
    /// The modification time in seconds since 1970.
    mtime: i64,
    /// The nanoseconds of the modification time. A SquashFS image stores whole seconds.
    mtime_nsec: u32,
}

/// Reads the next part of a content or a tar into `buffer`, which has room for `size` bytes. Returns the number
/// of bytes, 0 at the end, or -1 after an error, which ends the pack with PACKLINE_ERROR_IO. It is called by
/// packline_packer_run and packline_packer_run_fd, on any thread, but never by two at the same time, and from the
/// start to the end once.
pub type ReadFn = Option<unsafe extern "C" fn(context: *mut c_void, buffer: *mut c_void, size: usize) -> i64>;

/// A content or a tar that a callback returns.
pub struct Callback {
    read: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> i64,
    context: *mut c_void,
}

impl Callback {
    /// Returns the reader of a callback, which must not be NULL.
    pub fn new(read: ReadFn, context: *mut c_void) -> Result<Callback, PacklineError> {
        Ok(Callback { read: read.ok_or_else(|| arg::null("read"))?, context })
    }
}

// SAFETY: (4): the header says that any thread may call the function, one at a time.
unsafe impl Send for Callback {}

impl Read for Callback {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: (4)
        let count = unsafe { (self.read)(self.context, buffer.as_mut_ptr().cast(), buffer.len()) };
        let count = usize::try_from(count).ok().filter(|count| *count <= buffer.len());
        count.ok_or_else(|| io::Error::other("the function that reads failed"))
    }
}

/// Adds an entry and sets its attributes, if there are any.
///
/// # Safety
/// (1), (2), (5)
unsafe fn add(
    tree: *mut PacklineTree,
    path: *const c_char,
    attributes: *const PacklineAttributes,
    error: *mut *mut PacklineError,
    entry: impl for<'t> FnOnce(&'t mut Tree, &[u8]) -> Result<TreeEntry<'t>, PacklineError>,
) -> c_int {
    // SAFETY: the contract of this function.
    unsafe {
        guard(error, -1, || {
            let entry = entry(&mut arg::handle_mut(tree, "tree")?.0, arg::string(path, "path")?)?;
            if let Some(attributes) = attributes.as_ref() {
                let &PacklineAttributes { mode, uid, gid, mtime, mtime_nsec } = attributes;
                let mode = (mode & 0o7777) as u16;
                entry.meta(Meta { mode, uid, gid, mtime: Time::new(mtime, mtime_nsec) });
            }
            Ok(0)
        })
    }
}

/// Returns an empty tree. The caller frees it with packline_tree_free, or gives it to packline_packer_add_tree.
#[unsafe(no_mangle)]
pub extern "C" fn packline_tree_new() -> *mut PacklineTree {
    Box::into_raw(Box::new(PacklineTree(Tree::new())))
}

/// Frees a tree. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_free(tree: *mut PacklineTree) {
    // SAFETY: (1)
    unsafe { arg::free(tree) };
}

/// Adds a regular file with a copy of `length` bytes, or replaces the entry at `path`. `attributes` may be
/// NULL: mode 644, owner root, time 0. Returns 0, or -1 after an error: PACKLINE_ERROR_INVALID for a path that
/// is empty or leads outside, for a directory with entries at `path`, and for a path below an entry that is not
/// a directory. This holds for all functions that add an entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_bytes(
    tree: *mut PacklineTree,
    path: *const c_char,
    bytes: *const c_void,
    length: usize,
    attributes: *const PacklineAttributes,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (3), (5)
    unsafe {
        add(tree, path, attributes, error, |tree, path| Ok(tree.file(path, arg::buffer(bytes, length, "bytes")?)?))
    }
}

/// Adds a regular file with the content of the file of this machine at `source`, which is opened when the tree
/// is packed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_file(
    tree: *mut PacklineTree,
    path: *const c_char,
    source: *const c_char,
    attributes: *const PacklineAttributes,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (5)
    unsafe {
        add(tree, path, attributes, error, |tree, path| {
            Ok(tree.file(path, Content::path(arg::path(source, "source")?))?)
        })
    }
}

/// Adds a regular file whose content `read` returns when the tree is packed. `context` must be valid until the
/// packer has run or is freed. `size` is the size of the content in bytes; another size ends the pack with an
/// error. If it is negative, the size is unknown: contents of more than 16 MiB are then stored in an unnamed
/// temporary file first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_reader(
    tree: *mut PacklineTree,
    path: *const c_char,
    read: ReadFn,
    context: *mut c_void,
    size: i64,
    attributes: *const PacklineAttributes,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (4), (5)
    unsafe {
        add(tree, path, attributes, error, |tree, path| {
            let reader = Callback::new(read, context)?;
            let content = match u64::try_from(size) {
                Ok(size) => Content::sized(reader, size),
                Err(_) => Content::reader(reader),
            };
            Ok(tree.file(path, content)?)
        })
    }
}

/// Adds a directory, or sets the attributes of the directory at `path` ("/" for the root). `attributes` may be
/// NULL: mode 755, owner root, time 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_directory(
    tree: *mut PacklineTree,
    path: *const c_char,
    attributes: *const PacklineAttributes,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (5)
    unsafe { add(tree, path, attributes, error, |tree, path| Ok(tree.directory(path)?)) }
}

/// Adds a symbolic link. The target is stored unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_symlink(
    tree: *mut PacklineTree,
    path: *const c_char,
    target: *const c_char,
    attributes: *const PacklineAttributes,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (5)
    unsafe { add(tree, path, attributes, error, |tree, path| Ok(tree.symlink(path, arg::string(target, "target")?)?)) }
}

/// Adds another name of the entry at `target`, which may be added later, or be in a source below the tree. Both
/// names have the attributes of the target. If the target does not exist, the pack fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_hard_link(
    tree: *mut PacklineTree,
    path: *const c_char,
    target: *const c_char,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (5)
    unsafe {
        add(tree, path, std::ptr::null(), error, |tree, path| Ok(tree.hard_link(path, arg::string(target, "target")?)?))
    }
}

/// Adds a device with its numbers, a named pipe or a socket (packline_type). `major` and `minor` are
/// ignored for pipes and sockets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_special(
    tree: *mut PacklineTree,
    path: *const c_char,
    r#type: u32,
    major: u32,
    minor: u32,
    attributes: *const PacklineAttributes,
    error: *mut *mut PacklineError,
) -> c_int {
    let kind = match r#type {
        4 => Ok(Kind::BlockDevice(Device { major, minor })),
        5 => Ok(Kind::CharDevice(Device { major, minor })),
        6 => Ok(Kind::Fifo),
        7 => Ok(Kind::Socket),
        _ => Err(PacklineError::invalid("the type is not that of a device, a pipe or a socket")),
    };
    // SAFETY: (1), (2), (5)
    unsafe { add(tree, path, attributes, error, |tree, path| Ok(tree.special(path, kind?)?)) }
}

/// Sets an extended attribute of the entry at `path` ("/" for the root), by its full name, such as "user.note",
/// to a copy of `length` bytes. The entry must have been added before. An attribute of the same name is
/// replaced. Returns 0, or -1 after an error: PACKLINE_ERROR_INVALID without an entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_tree_xattr(
    tree: *mut PacklineTree,
    path: *const c_char,
    name: *const c_char,
    value: *const c_void,
    length: usize,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (3), (5)
    unsafe {
        add(tree, path, std::ptr::null(), error, |tree, path| {
            let name = arg::string(name, "name")?;
            let value = arg::buffer(value, length, "value")?;
            Ok(tree.entry(path)?.xattr(name, value))
        })
    }
}
