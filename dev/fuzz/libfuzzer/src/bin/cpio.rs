//! Runs the target with libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| packline_fuzz::cpio(bytes));
