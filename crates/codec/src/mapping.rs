//! Memory that comes from the system directly, all zeros, and goes back to it when it is dropped.

use std::io;
use std::ptr::NonNull;

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Bytes of a large page, as x86-64 has them and aarch64 with pages of 4 KiB. Where they are of another size, some memory is
/// not covered by any, and that is all.
const LARGE_PAGE: usize = 2 << 20;

/// A mapping of its own.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// A mapping of `length` bytes, of which none takes memory before it is written to.
    ///
    /// # Errors
    /// The system has no room for it.
    pub(crate) fn new(length: usize) -> io::Result<Mapping> {
        let (access, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a new mapping of no particular address overlaps nothing.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), length, access, kind) }?;
        Ok(Mapping { start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?, length })
    }

    /// Its first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and whoever has an address in it keeps this value.
        let _: Result<(), Errno> = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Memory in large pages, where the system has them: for tables of many megabytes that are read here and there, where a
/// processor looks up addresses of small pages longer than it does anything else.
///
/// A large page is in memory as soon as a byte of it is written to, but none reaches beyond the end.
#[derive(Debug)]
pub(crate) struct LargePages {
    place: NonNull<u8>,
    _mapping: Mapping,
}

// SAFETY: the place is part of the mapping, which belongs to the process, not to a thread.
unsafe impl Send for LargePages {}

impl LargePages {
    /// `length` bytes, from the beginning of a large page on.
    ///
    /// # Errors
    /// The system has no room for them.
    pub(crate) fn new(length: usize) -> io::Result<LargePages> {
        let room = length.checked_add(LARGE_PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let mapping = Mapping::new(room)?;
        let before = mapping.start().as_ptr().align_offset(LARGE_PAGE).min(LARGE_PAGE);
        // SAFETY: so much more is mapped than is asked for.
        let place = unsafe { mapping.start().add(before) };
        // SAFETY: the bytes are part of the mapping; their content stays as it is. A system without large pages has small ones.
        let _: Result<(), Errno> = unsafe { madvise(place.as_ptr().cast(), length, Advice::LinuxHugepage) };
        Ok(LargePages { place, _mapping: mapping })
    }

    /// Its first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.place
    }
}
