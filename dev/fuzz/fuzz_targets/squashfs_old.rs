//! Any bytes as a SquashFS image of any version, byte order and magic. An unknown magic is corrected. The image is read and verified.
#![no_main]

use libfuzzer_sys::fuzz_target;
use packline_fuzz::read;
use packline_squashfs::MAGICS;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    if let Some(magic) = bytes.first_chunk_mut::<4>().filter(|magic| !MAGICS.contains(magic)) {
        *magic = MAGICS[usize::from(magic[0]) % MAGICS.len()];
    }
    read::verified(bytes.clone());
    read::everything(bytes);
});
