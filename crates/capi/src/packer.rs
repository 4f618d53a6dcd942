//! Packs: sources, options as text, an observer, a token that cancels.

use std::ffi::{c_char, c_int, c_void};
use std::io::Seek;
use std::mem;

use packline::{CancelToken, Packed, Packer, Resources, Source, Tree};

use crate::arguments as arg;
use crate::cancel::PacklineCancel;
use crate::failure::{PacklineError, guard};
use crate::image::PacklineImage;
use crate::observer::PacklineObserver;
use crate::tree::{Callback, PacklineTree, ReadFn};

/// A pack of sources into an image. A packer runs once.
#[derive(Default)]
pub struct PacklinePacker {
    /// The lowest comes first.
    sources: Vec<Source>,
    options: Vec<(String, String)>,
    observer: Option<PacklineObserver>,
    cancel: Option<CancelToken>,
}

/// The result of a pack.
#[repr(C)]
pub struct PacklinePacked {
    /// The bytes of content of files, holes included.
    content_bytes: u64,
    /// The bytes of the output.
    output_bytes: u64,
    /// The compressed blocks that were copied from images that are sources or bases.
    copied_blocks: u64,
    /// The entries that could not be read and were left out; 0 for the sources of this interface.
    errors: u64,
    /// The warnings, which the observer received.
    warnings: u64,
}

/// Returns a packer without sources, which packs with zstd in blocks of 128 KiB on all processors. The caller
/// frees it with packline_packer_free.
#[unsafe(no_mangle)]
pub extern "C" fn packline_packer_new() -> *mut PacklinePacker {
    Box::into_raw(Box::default())
}

/// Frees a packer, with its trees. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_free(packer: *mut PacklinePacker) {
    // SAFETY: (1)
    unsafe { arg::free(packer) };
}

/// Adds a source.
///
/// # Safety
/// (1), (5)
unsafe fn add(
    packer: *mut PacklinePacker,
    error: *mut *mut PacklineError,
    source: impl FnOnce() -> Result<Source, PacklineError>,
) -> c_int {
    // SAFETY: (1), (5)
    unsafe {
        guard(error, -1, || {
            // A tree is taken and freed even if there is no packer.
            let source = source();
            arg::handle_mut(packer, "packer")?.sources.push(source?);
            Ok(0)
        })
    }
}

/// Adds the directory at `path` as a source, over the sources before it. The directory is read when the packer
/// runs. Returns 0, or -1 after an error: PACKLINE_ERROR_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_add_directory(
    packer: *mut PacklinePacker,
    path: *const c_char,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (5)
    unsafe { add(packer, error, || Ok(Source::directory(arg::path(path, "path")?))) }
}

/// Adds the tar at `path`, plain or compressed with gzip, xz, zstd, bzip2, lzma or lz4, as a source, over the
/// sources before it. The tar is read when the packer runs. Returns 0, or -1 after an error:
/// PACKLINE_ERROR_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_add_tar(
    packer: *mut PacklinePacker,
    path: *const c_char,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (5)
    unsafe { add(packer, error, || Ok(Source::tar_file(arg::path(path, "path")?))) }
}

/// As packline_packer_add_tar, for a tar that `read` returns when the packer runs. `context` must be valid until
/// then, or until the packer is freed. `name` names the tar in errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_add_tar_reader(
    packer: *mut PacklinePacker,
    name: *const c_char,
    read: ReadFn,
    context: *mut c_void,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (4), (5)
    unsafe {
        add(packer, error, || {
            let name = String::from_utf8_lossy(arg::string(name, "name")?);
            Ok(Source::tar_reader(name, Callback::new(read, context)?))
        })
    }
}

/// Adds an open image as a source, over the sources before it. The caller still has to free the image, at any
/// time. Blocks of the image are copied without compression if the codec and the block size are the same.
/// Returns 0, or -1 after an error: PACKLINE_ERROR_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_add_image(
    packer: *mut PacklinePacker,
    image: *const PacklineImage,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (5)
    unsafe { add(packer, error, || Ok(Source::image(arg::handle(image, "image")?.0.clone()))) }
}

/// Adds a tree as a source, over the sources before it. The packer takes the tree, even after an error: the
/// caller must not use it again. Returns 0, or -1 after an error: PACKLINE_ERROR_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_add_tree(
    packer: *mut PacklinePacker,
    tree: *mut PacklineTree,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (5). The box frees the tree after an error, too.
    unsafe {
        add(packer, error, || {
            if tree.is_null() {
                return Err(arg::null("tree"));
            }
            let PacklineTree(tree) = *Box::from_raw(tree);
            Ok(tree.into())
        })
    }
}

/// Sets an option, "NAME=VALUE". Later options override earlier ones. Sizes may end in K, M, G or T.
///
/// - codec=NAME[:KEY=VALUE,...]: zstd:level=19, xz, lz4, gzip, none and others; default zstd.
/// - block-size=SIZE: a power of two from 4K to 1M; default 128K.
/// - container=squashfs or erofs; by default the ending of the name of the output chooses.
/// - exclude=PATTERN: leave out what matches, as in packline_walk, and everything below it; may be repeated.
/// - replace=yes: replace an existing output. By default it is an error.
/// - base=IMAGE: reuse the blocks of an earlier image; may be repeated.
/// - time=SECONDS, mtime=SECONDS: the time of the image, which is the latest time of entries, too; the time of
///   all entries.
/// - owner=UID:GID, xattrs=no: the owner of all entries; store no extended attributes.
/// - offset=SIZE: bytes before the image. layout=compact or stable. order=path or similar. verify=yes: read the
///   image back.
/// - jobs=N, memory=SIZE, scratch=DIRECTORY: limits of workers and memory, and the directory for temporary
///   files. They never change the output.
///
/// Returns 0, or -1 after an error: PACKLINE_ERROR_INVALID for an unknown option and for a malformed value. A
/// codec is checked when the packer runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_set(
    packer: *mut PacklinePacker,
    option: *const c_char,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (5)
    unsafe {
        guard(error, -1, || {
            let (name, value) = arg::option(option)?;
            // The option is checked now, and applied when the packer runs.
            Packer::new(Tree::new()).set(name, value)?;
            arg::handle_mut(packer, "packer")?.options.push((name.to_string(), value.to_string()));
            Ok(0)
        })
    }
}

/// Sets the observer, which is copied. Its context must be valid until the packer has run or is freed. NULL
/// removes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_observe(packer: *mut PacklinePacker, observer: *const PacklineObserver) {
    // SAFETY: (1), (5)
    if let Some(packer) = unsafe { packer.as_mut() } {
        // SAFETY: (5)
        packer.observer = unsafe { observer.as_ref() }.copied();
    }
}

/// Sets the token that cancels the pack. The caller may free the token at any time. NULL removes it.
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

/// Packs the sources into a file, which gets the name `output` when it is complete and synced. After an error
/// the name is unchanged. `packed` may be NULL. The call blocks until the pack is done, and uses other threads.
/// The output depends on the sources and options alone. Returns 0, or -1 after an error: PACKLINE_ERROR_EXISTS,
/// PACKLINE_ERROR_NOT_FOUND, PACKLINE_ERROR_PERMISSION, PACKLINE_ERROR_NO_SPACE, PACKLINE_ERROR_CANCELLED,
/// PACKLINE_ERROR_INVALID for options that exclude each other, for an unknown codec, and for a packer that has
/// run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_run(
    packer: *mut PacklinePacker,
    output: *const c_char,
    packed: *mut PacklinePacked,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (2), (4), (5)
    unsafe {
        guard(error, -1, || {
            let output = arg::path(output, "output")?;
            store(packed, &arg::handle_mut(packer, "packer")?.take()?.write_to(output)?);
            Ok(0)
        })
    }
}

/// As packline_packer_run, into an open descriptor, which the caller still has to close. The image is a SquashFS
/// image unless container=erofs is set. A file must be open for reading and writing; the image begins at its
/// position, which is at the end of the image afterwards. After an error the file has a part of an image, whose
/// first bytes are not those of an image. A pipe or a socket gets only a complete image: it is stored in an
/// unnamed temporary file in the directory of the option scratch first, which must be set. The caller syncs the
/// descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_packer_run_fd(
    packer: *mut PacklinePacker,
    descriptor: c_int,
    packed: *mut PacklinePacked,
    error: *mut *mut PacklineError,
) -> c_int {
    // SAFETY: (1), (4), (5)
    unsafe {
        guard(error, -1, || {
            let (_, mut file) = arg::descriptor(descriptor)?;
            let packer = arg::handle_mut(packer, "packer")?.take()?;
            let seeks = file.stream_position().is_ok();
            store(packed, &if seeks { packer.write_into(&mut file)? } else { packer.write_stream(file)? });
            Ok(0)
        })
    }
}

/// Stores the result of a pack, unless the pointer is NULL.
///
/// # Safety
/// (5)
unsafe fn store(packed: *mut PacklinePacked, done: &Packed) {
    if !packed.is_null() {
        let &Packed { content_bytes, output_bytes, copied_blocks, errors, warnings, .. } = done;
        // SAFETY: (5)
        unsafe { packed.write(PacklinePacked { content_bytes, output_bytes, copied_blocks, errors, warnings }) };
    }
}
