//! Memory from the system: buffers for blocks, large mappings, and freed memory that goes back.

#[allow(unsafe_code)] // maps memory
pub(crate) mod mapping;
#[allow(unsafe_code)] // maps memory
mod slabs;

pub use slabs::{SlabBuffer, Slabs};

/// Returns freed memory that the allocator caches to the system (glibc only). glibc keeps up to hundreds of megabytes of freed small
/// allocations for reuse as small allocations. Call this function after freeing many of them and before large allocations under a memory
/// limit. It affects only the resident size of the process.
pub fn release_freed_memory() {
    trim();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)] // calls the C library
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
}
