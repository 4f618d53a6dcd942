//! C interface of packline. The comments of its functions, types and constants are those of `include/packline.h`, which `cargo xtask c-header`
//! generates.
//!
//! Each function is a thin layer over the crate `packline`:
//!
//! - Arguments are converted and checked in [`arguments`]. A NULL handle or string is an error, except where the header allows it.
//! - The body of each function that can fail runs in [`failure::guard`], which turns errors and panics into an error of C. No panic crosses the
//!   interface.
//! - A handle is a box of a type below. Its functions borrow it, and `packline_*_free` drops it.
//!
//! The safety comments rely on the contract of the header: (1) a handle comes from this library, was not freed, and is used by one thread at a
//! time unless the parameter is `const`; (2) a string is NUL-terminated; (3) a buffer has as many bytes as its length says; (4) a callback may be
//! called with its context until the function returns or, for a packer and a tree, until the packer has run; (5) a pointer to a struct or to an
//! error is NULL or valid.

#![allow(unsafe_code, reason = "an interface to C")]

mod arguments;
mod cancel;
mod failure;
mod file;
mod image;
mod logging;
mod observer;
mod packer;
mod tree;
