//! Tells which of the standard streams were closed when the process started.
//!
//! Before `main` the Rust runtime opens /dev/null for each of the descriptors 0 to 2 that is closed, which later cannot be
//! distinguished from a /dev/null that the caller chose. Functions in `.init_array` run before the runtime, with glibc and with musl.
#![allow(unsafe_code, reason = "only functions in .init_array run before the runtime")]

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::{Errno, fcntl_getfd};
use rustix::stdio;

static STDIN: AtomicBool = AtomicBool::new(false);
static STDOUT: AtomicBool = AtomicBool::new(false);

// SAFETY: the section holds addresses of functions that take C's arguments of main, which one without parameters ignores, and
// return nothing. This one needs nothing of the runtime: it makes two system calls and stores two flags, and cannot panic.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    STDIN.store(is_closed(stdio::stdin()), Ordering::Relaxed);
    STDOUT.store(is_closed(stdio::stdout()), Ordering::Relaxed);
}

fn is_closed(descriptor: BorrowedFd<'_>) -> bool {
    fcntl_getfd(descriptor) == Err(Errno::BADF)
}

pub fn stdin() -> bool {
    STDIN.load(Ordering::Relaxed)
}

pub fn stdout() -> bool {
    STDOUT.load(Ordering::Relaxed)
}
