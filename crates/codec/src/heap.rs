//! Freed memory that the allocator keeps, given back to the system.

/// Gives back what the allocator keeps of memory that was freed, where it is asked for that: glibc keeps the room of many small
/// allocations, hundreds of megabytes of them, for more of their kind. For who frees much and then wants much of another kind
/// within a limit. Nothing but the size of the process depends on it.
pub fn give_back_freed() {
    trim();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)] // calls the C library
fn trim() {
    unsafe extern "C" {
        /// malloc_trim(3): frees whole pages of all arenas; 1 if there were any.
        fn malloc_trim(pad: usize) -> std::os::raw::c_int;
    }
    // SAFETY: it takes any number, and glibc's allocator locks its arenas itself.
    let _ = unsafe { malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resident pages of this process, bytes.
    fn resident() -> usize {
        let sizes = std::fs::read_to_string("/proc/self/statm").unwrap();
        sizes.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    #[test]
    fn freed_pages_go_back_to_the_system() {
        const BYTES: usize = 256 << 20;
        let pages: Vec<Vec<u8>> = (0..BYTES / 8192).map(|_| vec![1; 8192]).collect();
        // The last of them holds the heap's end where it is.
        let last = pages.last().cloned();
        let full = resident();
        drop(pages);
        give_back_freed();
        assert!(full > BYTES && resident() < full - BYTES / 2, "{full} {}", resident());
        drop(last);
    }
}
