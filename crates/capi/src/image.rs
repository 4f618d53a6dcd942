//! Open images: attributes, walks, links, extended attributes, extraction.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use packline::{Device, Entry, Image, Input, Kind, Resources, Selection, Unpacker};

use crate::arguments as arg;
use crate::cancel::PacklineCancel;
use crate::failure::{PacklineError, guard, text};
use crate::observer::PacklineObserver;

/// An open SquashFS or EROFS image. Any number of threads may use it.
pub struct PacklineImage(pub Image);

/// Types of entries.
#[allow(clippy::enum_variant_names, reason = "the names in C")]
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryType {
    /// A regular file.
    PacklineFile = 1,
    /// A directory.
    PacklineDirectory = 2,
    /// A symbolic link.
    PacklineSymlink = 3,
    /// A block device.
    PacklineBlockDevice = 4,
    /// A character device.
    PacklineCharDevice = 5,
    /// A named pipe.
    PacklineFifo = 6,
    /// A socket.
    PacklineSocket = 7,
}

/// The attributes of an entry of an image.
#[repr(C)]
pub struct PacklineEntry {
    /// The path below the root, "" for the root. It is valid only during the call that passes the entry;
    /// packline_stat stores NULL.
    path: *const c_char,
    /// The type (packline_type).
    r#type: u32,
    /// The permissions, 12 bits.
    mode: u32,
    /// The owner.
    uid: u32,
    /// The group.
    gid: u32,
    /// The modification time in seconds since 1970.
    mtime: i64,
    /// The nanoseconds of the modification time. A SquashFS image has whole seconds.
    mtime_nsec: u32,
    /// The number of names of a file; for a directory, the number that stat shows.
    links: u32,
    /// Identifies the file in its image: the names of one file have the same id.
    id: u64,
    /// The size of a regular file in bytes, holes included; 0 for any other type.
    size: u64,
    /// The major number of a device; 0 for any other type.
    major: u32,
    /// The minor number of a device; 0 for any other type.
    minor: u32,
}

/// Receives an entry, which is valid only during the call. The walk continues if it returns 0, and otherwise
/// ends without an error.
pub type EntryFn = Option<unsafe extern "C" fn(context: *mut c_void, entry: *const PacklineEntry) -> c_int>;

/// Receives an extended attribute: its full name, such as "user.note", and its value of `length` bytes. Both
/// are valid only during the call. The next attribute follows if it returns 0.
pub type XattrFn = Option<
    unsafe extern "C" fn(context: *mut c_void, name: *const c_char, value: *const c_void, length: usize) -> c_int,
>;

impl PacklineEntry {
    fn new(entry: &Entry, path: *const c_char) -> PacklineEntry {
        let meta = entry.meta();
        let (kind, device) = match entry.kind() {
            Kind::File { .. } | Kind::HardLink(_) => (EntryType::PacklineFile, None),
            Kind::Dir => (EntryType::PacklineDirectory, None),
            Kind::Symlink(_) => (EntryType::PacklineSymlink, None),
            Kind::BlockDevice(device) => (EntryType::PacklineBlockDevice, Some(device)),
            Kind::CharDevice(device) => (EntryType::PacklineCharDevice, Some(device)),
            Kind::Fifo => (EntryType::PacklineFifo, None),
            Kind::Socket => (EntryType::PacklineSocket, None),
        };
        let device = device.unwrap_or(Device { major: 0, minor: 0 });
        PacklineEntry {
            path,
            r#type: kind as u32,
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

/// Opens the image at the start of a file or block device, or after other data in it, as in an AppImage. Only
/// the superblock and tables are read. The file must not change while it is open. Returns an image, which the
/// caller frees with packline_image_free, or NULL after an error: PACKLINE_ERROR_NOT_FOUND,
/// PACKLINE_ERROR_WRONG_FORMAT if there is no image, PACKLINE_ERROR_CORRUPT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_open(path: *const c_char, error: *mut *mut PacklineError) -> *mut PacklineImage {
    // SAFETY: (2), (5)
    unsafe { guard(error, ptr::null_mut(), || Ok(boxed(Image::open(arg::path(path, "path")?)?))) }
}

/// As packline_open, for an open descriptor of a file or block device. The image is read at offsets from a copy
/// of the descriptor: the caller may close the descriptor, and its position does not change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_open_fd(descriptor: c_int, error: *mut *mut PacklineError) -> *mut PacklineImage {
    let open = || {
        let (name, file) = arg::descriptor(descriptor)?;
        Ok(boxed(Image::from_input(Input::of_file(name, file)?)?))
    };
    // SAFETY: (5)
    unsafe { guard(error, ptr::null_mut(), open) }
}

/// As packline_open, for an image of `length` bytes in memory. The bytes are copied, so that the caller may
/// free them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_open_memory(
    bytes: *const c_void,
    length: usize,
    error: *mut *mut PacklineError,
) -> *mut PacklineImage {
    // SAFETY: (3), (5)
    unsafe {
        guard(error, ptr::null_mut(), || {
            let bytes = arg::buffer(bytes, length, "bytes")?.to_vec();
            Ok(boxed(Image::from_input(Input::bytes("image in memory", bytes))?))
        })
    }
}

/// Frees an image. Its open files, and packers that got it, remain valid. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_image_free(image: *mut PacklineImage) {
    // SAFETY: (1)
    unsafe { arg::free(image) };
}

/// Stores the attributes of the entry at `path` ("" for the root), with a NULL path. Symbolic links are not
/// followed. Returns 0, or -1 after an error: PACKLINE_ERROR_NOT_FOUND, PACKLINE_ERROR_CORRUPT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_stat(
    image: *const PacklineImage,
    path: *const c_char,
    entry: *mut PacklineEntry,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (5)
    unsafe {
        guard(error, -1, || {
            let found = arg::handle(image, "image")?.0.entry(arg::string(path, "path")?)?;
            if entry.is_null() {
                return Err(arg::null("entry"));
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
    each: EntryFn,
    context: *mut c_void,
) -> Result<c_int, PacklineError> {
    let each = each.ok_or_else(|| arg::null("each"))?;
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

/// Calls `each` for the entries that match a pattern, and for everything below them; for all entries if
/// `pattern` is NULL. A pattern without a slash, such as "*.conf", matches a name at any depth; a pattern with
/// a slash, such as "etc/ssl/?.pem", matches a complete path. A directory comes before its entries. The entries
/// of a directory come in the order of the image, which sorts them by the bytes of their names.
/// `each` may call functions that take the image. Returns 0, or -1 after an error, at which the walk ends:
/// PACKLINE_ERROR_CORRUPT, PACKLINE_ERROR_INVALID for a malformed pattern.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_walk(
    image: *const PacklineImage,
    pattern: *const c_char,
    each: EntryFn,
    context: *mut c_void,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (4), (5)
    unsafe {
        guard(error, -1, || {
            let selection = match arg::optional_string(pattern) {
                None => Selection::all(),
                Some(pattern) => Selection::pattern(pattern)?,
            };
            pass(arg::handle(image, "image")?.0.entries(&selection), each, context)
        })
    }
}

/// Calls `each` for the entries of the directory at `path` ("" for the root), in the order of the image.
/// Symbolic links are not followed. Returns 0, or -1 after an error: PACKLINE_ERROR_NOT_FOUND,
/// PACKLINE_ERROR_INVALID if it is not a directory, PACKLINE_ERROR_CORRUPT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_list(
    image: *const PacklineImage,
    path: *const c_char,
    each: EntryFn,
    context: *mut c_void,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (4), (5)
    unsafe {
        guard(error, -1, || pass(arg::handle(image, "image")?.0.read_dir(arg::string(path, "path")?)?, each, context))
    }
}

/// Copies the target of the symbolic link at `path` to `buffer`: at most `size` bytes, with zeros after it if
/// there is room. Returns the length of the target, which may be larger than `size`, or -1 after an error:
/// PACKLINE_ERROR_NOT_FOUND, PACKLINE_ERROR_INVALID if it is not a symbolic link.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_readlink(
    image: *const PacklineImage,
    path: *const c_char,
    buffer: *mut c_char,
    size: usize,
    error: *mut *mut PacklineError,
) -> i64 {
    // SAFETY: (1), (2), (3), (5)
    unsafe {
        guard(error, -1, || {
            let entry = arg::handle(image, "image")?.0.entry(arg::string(path, "path")?)?;
            let Some(target) = entry.link_target() else {
                return Err(PacklineError::invalid("the entry is not a symbolic link"));
            };
            let buffer = arg::buffer_mut(buffer.cast(), size, "buffer")?;
            let count = target.len().min(buffer.len());
            buffer[..count].copy_from_slice(&target[..count]);
            Ok(target.len() as i64)
        })
    }
}

/// Calls `each` for the extended attributes of the entry at `path` ("" for the root), in the order of the
/// image. Symbolic links are not followed. Returns 0, or -1 after an error: PACKLINE_ERROR_NOT_FOUND,
/// PACKLINE_ERROR_CORRUPT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_xattrs(
    image: *const PacklineImage,
    path: *const c_char,
    each: XattrFn,
    context: *mut c_void,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (4), (5)
    unsafe {
        guard(error, -1, || {
            let each = each.ok_or_else(|| arg::null("each"))?;
            for xattr in arg::handle(image, "image")?.0.entry(arg::string(path, "path")?)?.xattrs()? {
                let name = text(xattr.name);
                if each(context, name.as_ptr(), xattr.value.as_ptr().cast(), xattr.value.len()) != 0 {
                    break;
                }
            }
            Ok(0)
        })
    }
}

/// Unpacks an image to `directory`, which is created or must be empty. `options` is NULL, or an array of
/// strings that ends with NULL:
///
/// - select=PATTERN: unpack only what matches, as in packline_walk; may be repeated.
/// - exclude=PATTERN: leave out what matches; may be repeated.
/// - replace=yes: the directory may have entries. Files are replaced, and directories are kept.
/// - continue=yes: report errors of single entries to the observer, and continue. Zeros replace damaged
///   content.
/// - owners=no, permissions=no, times=no, xattrs=no: do not set these attributes. Owners need root.
/// - sparse=no: write holes as zeros.
/// - jobs=N, memory=SIZE, scratch=DIRECTORY: limits of workers and memory (sizes such as 512M), and the
///   directory for temporary files.
///
/// `observer` and `cancel` may be NULL. The observer is called on the thread of the caller. Nothing is written
/// outside of the directory, whatever the image contains. Returns the number of entries that failed, which is 0
/// without continue=yes, or -1 after an error. A directory that was created is removed then. Errors:
/// PACKLINE_ERROR_EXISTS, PACKLINE_ERROR_PERMISSION, PACKLINE_ERROR_NO_SPACE, PACKLINE_ERROR_CORRUPT,
/// PACKLINE_ERROR_CANCELLED; PACKLINE_ERROR_INVALID for an unknown option and for a pattern of select that
/// matches nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_extract(
    image: *const PacklineImage,
    directory: *const c_char,
    options: *const *const c_char,
    observer: *const PacklineObserver,
    cancel: *const PacklineCancel,
    error: *mut *mut PacklineError,
) -> i64 {
    // SAFETY: (1), (2), (4), (5)
    unsafe {
        guard(error, -1, || {
            let mut unpacker = Unpacker::image(arg::handle(image, "image")?.0.clone());
            if let Some(cancel) = cancel.as_ref() {
                unpacker = unpacker.resources(Resources::default().cancelled_by(&cancel.0));
            }
            if let Some(observer) = observer.as_ref() {
                unpacker = unpacker.observe(*observer);
            }
            for (name, value) in arg::options(options)? {
                unpacker = unpacker.set(name, value)?;
            }
            let unpacked = unpacker.to_directory(arg::path(directory, "directory")?)?;
            Ok(unpacked.errors as i64)
        })
    }
}
