//! Any bytes as an EROFS image. Its magic is corrected, and its checksum is ignored.
#![no_main]

use libfuzzer_sys::fuzz_target;
use packline_erofs::read::{MAGIC_BYTES, SUPERBLOCK_START};
use packline_fuzz::erofs;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    let start = SUPERBLOCK_START as usize;
    if bytes.len() > start + 128 {
        bytes[start..start + 4].copy_from_slice(&MAGIC_BYTES);
        bytes[start + 8] &= !1;
    }
    erofs::everything(bytes);
});
