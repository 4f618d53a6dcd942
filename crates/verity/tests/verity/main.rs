//! Trees compared with veritysetup, damaged trees, trees of images that are being written, and signatures compared with openssl.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may

mod damaged;
mod hostile;
mod peers;
mod signatures;
mod support;
mod written;
