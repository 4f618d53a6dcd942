//! Anonymous memory mappings: zeroed, and returned to the system when dropped.

use std::io;
use std::ptr::NonNull;

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Bytes of a large page of x86-64, and of aarch64 with pages of 4 KiB. Where large pages are larger, some memory is in no large page,
/// which is harmless.
const LARGE_PAGE: usize = 2 << 20;

#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes. They use no memory before they are written to.
    ///
    /// # Errors
    /// The system cannot map them.
    pub(crate) fn new(length: usize) -> io::Result<Mapping> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let kind = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping without a requested address overlaps nothing.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), length, access, kind) }?;
        Ok(Mapping { start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?, length })
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and users of its addresses keep this value alive.
        let _: Result<(), Errno> = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Memory in large pages, where the system supports them. It is for random access to tables of many megabytes, where address translation of
/// small pages dominates.
///
/// A write to one byte makes its complete large page resident. No large page extends beyond the end.
#[derive(Debug)]
pub(crate) struct LargePages {
    place: NonNull<u8>,
    _mapping: Mapping,
}

// SAFETY: the memory is part of the mapping, which belongs to the process, not to a thread.
unsafe impl Send for LargePages {}

impl LargePages {
    /// Maps `length` bytes, aligned to a large page.
    ///
    /// # Errors
    /// The system cannot map them.
    pub(crate) fn new(length: usize) -> io::Result<LargePages> {
        let total = length.checked_add(LARGE_PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let mapping = Mapping::new(total)?;
        let before = mapping.start().as_ptr().align_offset(LARGE_PAGE).min(LARGE_PAGE);
        // SAFETY: the mapping is longer than requested by at least `before`.
        let place = unsafe { mapping.start().add(before) };
        // SAFETY: the bytes are part of the mapping; their content does not change. Without large pages the advice has no effect.
        let _: Result<(), Errno> = unsafe { madvise(place.as_ptr().cast(), length, Advice::LinuxHugepage) };
        Ok(LargePages { place, _mapping: mapping })
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.place
    }
}
