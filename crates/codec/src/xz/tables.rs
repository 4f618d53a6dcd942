//! The allocator of a liblzma stream: large tables use large pages.
//!
//! A match finder reads random positions of its tables for each byte of input. Large pages save a sixth of the time for a dictionary of 24
//! MiB. The library reuses its tables for streams with the same options, so that they are allocated only once.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use liblzma_sys as sys;

use crate::memory::LargePages;

/// Minimum size for large pages in bytes. The TLB covers smaller tables, and clearing large pages is slow for short-lived blocks.
const LARGE: usize = 4 << 20;

/// An allocator for one stream at a time, and the allocations of the stream.
pub(super) struct Tables {
    /// `allocator` and `held` are boxes that belong to this value. The library keeps the address of the allocator, which contains the
    /// address of `held`.
    allocator: NonNull<sys::lzma_allocator>,
    held: NonNull<Vec<Allocation>>,
}

// SAFETY: both boxes are owned by this value alone, and the allocations are not tied to a thread.
unsafe impl Send for Tables {}

/// An allocation of the library.
enum Allocation {
    Small(Vec<u128>),
    Large(LargePages),
}

impl Tables {
    pub(super) fn new() -> Tables {
        let held = NonNull::from(Box::leak(Box::<Vec<Allocation>>::default()));
        let allocator = sys::lzma_allocator { alloc: Some(alloc), free: Some(free), opaque: held.as_ptr().cast() };
        Tables { allocator: NonNull::from(Box::leak(Box::new(allocator))), held }
    }

    /// The allocator to pass to the library, valid while this value exists.
    pub(super) fn allocator(&self) -> *const sys::lzma_allocator {
        self.allocator.as_ptr()
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        // SAFETY: the addresses are those of boxes made in `new`, and the stream that used them has ended.
        unsafe {
            drop(Box::from_raw(self.allocator.as_ptr()));
            drop(Box::from_raw(self.held.as_ptr()));
        }
    }
}

impl Allocation {
    /// Allocates `bytes` bytes. `None` if memory is short.
    fn new(bytes: usize) -> Option<Allocation> {
        if bytes >= LARGE {
            return LargePages::new(bytes).ok().map(Allocation::Large);
        }
        let mut words = Vec::new();
        words.try_reserve_exact(bytes.div_ceil(size_of::<u128>())).ok()?;
        Some(Allocation::Small(words))
    }

    fn start(&mut self) -> *mut u8 {
        match self {
            Allocation::Small(words) => words.as_mut_ptr().cast(),
            Allocation::Large(pages) => pages.start().as_ptr(),
        }
    }
}

/// Called by the library to allocate.
unsafe extern "C" fn alloc(held: *mut c_void, count: usize, size: usize) -> *mut c_void {
    // SAFETY: the library passes on the pointer that `Tables::new` gave it, and makes one call at a time. Nothing else accesses the list.
    let held = unsafe { &mut *held.cast::<Vec<Allocation>>() };
    let made = count.checked_mul(size).and_then(Allocation::new).filter(|_| held.try_reserve(1).is_ok());
    made.map_or(null_mut(), |mut one| {
        let start = one.start();
        held.push(one);
        start.cast()
    })
}

/// Called by the library to free.
unsafe extern "C" fn free(held: *mut c_void, start: *mut c_void) {
    // SAFETY: as for `alloc`.
    let held = unsafe { &mut *held.cast::<Vec<Allocation>>() };
    if let Some(index) = held.iter_mut().position(|one| one.start() == start.cast()) {
        held.swap_remove(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(tables: &Tables, bytes: usize) -> *mut u8 {
        // SAFETY: the pointer is to the list of the tables.
        unsafe { alloc(tables.held.as_ptr().cast(), 1, bytes).cast() }
    }

    fn count(tables: &Tables) -> usize {
        // SAFETY: nothing else accesses the list.
        unsafe { tables.held.as_ref().len() }
    }

    #[test]
    fn tables_do_not_overlap_and_are_freed() {
        let tables = Tables::new();
        let sizes = [1, 100, LARGE - 1, LARGE, LARGE + 4097, 9 << 20];
        let starts: Vec<*mut u8> = sizes.iter().map(|&size| taken(&tables, size)).collect();
        for ((number, &size), &start) in (1..).zip(&sizes).zip(&starts) {
            assert_eq!(start.align_offset(if size < LARGE { 16 } else { 2 << 20 }), 0, "{size}");
            // SAFETY: `size` bytes were allocated.
            unsafe { start.write_bytes(number, size) };
        }
        for ((number, &size), &start) in (1..).zip(&sizes).zip(&starts) {
            // SAFETY: the bytes were written.
            let bytes = unsafe { std::slice::from_raw_parts(start, size) };
            assert!(bytes.iter().all(|&byte| byte == number), "{size}");
        }
        assert_eq!(count(&tables), sizes.len());
        // SAFETY: the pointer is to the list of the tables.
        starts[1..].iter().for_each(|start| unsafe { free(tables.held.as_ptr().cast(), start.cast()) });
        assert_eq!(count(&tables), 1);
    }

    #[test]
    fn rejects_impossible_sizes() {
        let tables = Tables::new();
        assert!(taken(&tables, usize::MAX).is_null());
        assert!(taken(&tables, usize::MAX / 2).is_null());
        // SAFETY: the pointer is to the list of the tables.
        assert!(unsafe { alloc(tables.held.as_ptr().cast(), usize::MAX, 2) }.is_null());
        assert_eq!(count(&tables), 0);
    }
}
