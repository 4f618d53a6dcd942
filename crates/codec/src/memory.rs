//! Memory from the system: buffers for blocks, large mappings, and freed memory that goes back.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::param::page_size;

/// Returns freed memory that the allocator caches to the system (glibc only). glibc keeps up to hundreds of megabytes of freed small
/// allocations for reuse as small allocations. Call this function after freeing many of them and before large allocations under a memory
/// limit. It affects only the resident size of the process.
pub fn release_freed_memory() {
    trim();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn trim() {
    unsafe extern "C" {
        /// malloc_trim(3): frees complete pages of all arenas; returns 1 if it freed any.
        fn malloc_trim(pad: usize) -> std::os::raw::c_int;
    }
    // SAFETY: any number is a valid argument, and glibc locks its arenas itself.
    let _ = unsafe { malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}

/// Bytes of a large page of x86-64, and of aarch64 with pages of 4 KiB. Where large pages are larger, some memory is in no large page,
/// which is harmless.
const LARGE_PAGE: usize = 2 << 20;

/// An anonymous mapping: zeroed, and returned to the system when dropped.
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

/// Bytes of a mapping; a larger buffer has a mapping of its own.
const MAPPING_SIZE: usize = 2 << 20;

/// A pool of buffers of one size for blocks, for all threads. Memory is allocated on demand, in large mappings.
///
/// Each page fault costs a trap into the kernel. The page faults of a block together are a good part of its decoding time. The pages of a
/// buffer are therefore populated in one call, and buffers are reused: the last one returned first, while it is still in a cache. All but a
/// few of the free buffers return their memory to the system.
///
/// The buffers do not ask for large pages: on many virtual machines the host must supply large pages again each time, which takes longer
/// than everything else.
#[derive(Debug)]
pub struct Slabs {
    size: usize,
    keep: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Free buffers with memory.
    ready: Vec<BufferStart>,
    /// Free buffers whose memory was returned to the system.
    empty: Vec<BufferStart>,
    mappings: Vec<Mapping>,
}

#[derive(Debug)]
struct BufferStart(NonNull<u8>);

// SAFETY: nothing else refers to this part of a mapping, and mappings are not tied to a thread.
unsafe impl Send for BufferStart {}
// SAFETY: a shared reference only allows reading the bytes.
unsafe impl Sync for BufferStart {}

/// A buffer, returned to its pool when dropped. The content is zeros or the bytes of an earlier user.
#[derive(Debug)]
pub struct SlabBuffer {
    start: BufferStart,
    slabs: Arc<Slabs>,
}

impl Slabs {
    /// A pool of buffers of `size` bytes, at least 1, rounded up to complete machine words. Up to `keep` free buffers keep their memory.
    pub fn new(size: usize, keep: usize) -> Arc<Slabs> {
        let size = size.max(1).next_multiple_of(size_of::<u64>());
        Arc::new(Slabs { size, keep, state: Mutex::default() })
    }

    /// Bytes of each buffer.
    pub fn size(&self) -> usize {
        self.size
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The lists are consistent at any time, so a poisoned lock is harmless.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a buffer.
    ///
    /// # Errors
    /// The system is out of memory.
    pub fn take(self: &Arc<Slabs>) -> io::Result<SlabBuffer> {
        let mut state = self.lock();
        if state.ready.is_empty() && state.empty.is_empty() {
            self.grow(&mut state)?;
        }
        if let Some(start) = state.ready.pop() {
            return Ok(SlabBuffer { start, slabs: Arc::clone(self) });
        }
        let start = state.empty.pop().ok_or(io::ErrorKind::OutOfMemory)?;
        drop(state);
        self.populate(&start);
        Ok(SlabBuffer { start, slabs: Arc::clone(self) })
    }

    /// Populates all pages of a buffer. Systems without this advice populate them one by one at the first write.
    fn populate(&self, start: &BufferStart) {
        // SAFETY: the bytes are part of a mapping. The advice does not change their content or their neighbours'.
        let _: Result<(), Errno> = unsafe { madvise(start.0.as_ptr().cast(), self.size, Advice::LinuxPopulateWrite) };
    }

    /// Adds a mapping, divided into buffers without memory.
    fn grow(&self, state: &mut State) -> io::Result<()> {
        let count = (MAPPING_SIZE / self.size).max(1);
        let mapping = Mapping::new(count * self.size)?;
        // SAFETY: each offset is within the mapping.
        let starts = (0..count).rev().map(|number| BufferStart(unsafe { mapping.start().add(number * self.size) }));
        state.empty.extend(starts);
        state.mappings.push(mapping);
        Ok(())
    }

    fn give_back(&self, start: BufferStart) {
        let mut state = self.lock();
        // If pages are larger than buffers, or a buffer ends within a page, a neighbour would lose its bytes.
        if state.ready.len() < self.keep || !self.size.is_multiple_of(page_size()) {
            state.ready.push(start);
            return;
        }
        drop(state);
        // SAFETY: the bytes are complete pages of the buffer that is being dropped.
        let _: Result<(), Errno> = unsafe { madvise(start.0.as_ptr().cast(), self.size, Advice::LinuxDontNeed) };
        self.lock().empty.push(start);
    }
}

impl Deref for SlabBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are mapped while `slabs` exists, initialised by the system, and only this value refers to them.
        unsafe { std::slice::from_raw_parts(self.start.0.as_ptr(), self.slabs.size) }
    }
}

impl DerefMut for SlabBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for reading, and this value is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.0.as_ptr(), self.slabs.size) }
    }
}

impl Drop for SlabBuffer {
    fn drop(&mut self) {
        self.slabs.give_back(BufferStart(self.start.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resident memory of this process in bytes.
    fn resident() -> usize {
        let sizes = std::fs::read_to_string("/proc/self/statm").unwrap();
        sizes.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    #[test]
    fn returns_freed_pages_to_the_system() {
        const BYTES: usize = 256 << 20;
        let pages: Vec<Vec<u8>> = (0..BYTES / 8192).map(|_| vec![1; 8192]).collect();
        // The last page keeps the end of the heap in place.
        let last = pages.last().cloned();
        let full = resident();
        drop(pages);
        release_freed_memory();
        assert!(full > BYTES && resident() < full - BYTES / 2, "{full} {}", resident());
        drop(last);
    }

    #[test]
    fn buffers_do_not_overlap_and_are_reused() {
        for size in [4096, 8192, 1 << 20, 3 << 20] {
            let slabs = Slabs::new(size, 2);
            let mut buffers: Vec<SlabBuffer> = (0..9).map(|_| slabs.take().unwrap()).collect();
            assert!(buffers.iter().all(|buffer| buffer.len() == size && buffer.iter().all(|&byte| byte == 0)));
            (1..).zip(&mut buffers).for_each(|(number, buffer)| buffer.fill(number));
            assert!((1..).zip(&buffers).all(|(number, buffer)| buffer.iter().all(|&byte| byte == number)));
            let counts = || {
                let state = slabs.lock();
                (state.ready.len(), state.mappings.len())
            };
            let mappings = counts().1;
            drop(buffers);
            assert_eq!(counts(), (2, mappings));
            // Buffers with memory come first.
            assert!(slabs.take().unwrap()[0] != 0);
            let again: Vec<SlabBuffer> = (0..9).map(|_| slabs.take().unwrap()).collect();
            assert_eq!((again.len(), counts()), (9, (0, mappings)));
        }
    }

    #[test]
    fn free_buffers_return_their_memory() {
        let slabs = Slabs::new(1 << 20, 1);
        let mut buffers: Vec<SlabBuffer> = (0..4).map(|_| slabs.take().unwrap()).collect();
        buffers.iter_mut().for_each(|buffer| buffer.fill(7));
        drop(buffers);
        let mut kept: Vec<bool> = (0..4).map(|_| slabs.take().unwrap()).map(|buffer| buffer[9] == 7).collect();
        kept.dedup();
        // The buffer that kept its memory is reused.
        assert_eq!(kept, [true]);
        let buffers: Vec<SlabBuffer> = (0..4).map(|_| slabs.take().unwrap()).collect();
        assert_eq!(buffers.iter().filter(|buffer| buffer[9] == 7).count(), 1);
    }

    #[test]
    fn buffer_outlives_its_pool() {
        let buffer = Slabs::new(4096, 0).take().unwrap();
        assert_eq!(buffer.len(), 4096);
    }
}
