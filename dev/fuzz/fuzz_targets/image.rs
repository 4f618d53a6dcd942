//! Any bytes as an image.
#![no_main]

use libfuzzer_sys::fuzz_target;
use packline_fuzz::read;

fuzz_target!(|bytes: &[u8]| read::everything(bytes.to_vec()));
