//! Any bytes as an image.
#![no_main]

#[path = "../src/read.rs"]
mod read;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| read::everything(bytes.to_vec()));
