//! Any bytes as a compressed input: no panic, no hang, and the same bytes and error for one thread and for three.
#![no_main]

use std::io::{Cursor, Read};

use libfuzzer_sys::fuzz_target;
use packline_tree::decompress::{Limits, open};

/// Bytes of output that are looked at: bombs are not the point here.
const MOST: u64 = 4 << 20;

fn read(bytes: &[u8], threads: usize) -> (Vec<u8>, Option<String>) {
    let limits = Limits { threads, window: 8 << 20, buffers: 4 << 20 };
    let mut out = Vec::new();
    let reader = open(Cursor::new(bytes.to_vec()), &limits).expect("a cursor reads");
    let outcome = reader.take(MOST).read_to_end(&mut out);
    (out, outcome.err().map(|error| error.to_string()))
}

fuzz_target!(|bytes: &[u8]| {
    let one = read(bytes, 1);
    // liblzma's own threads report damage in their own way.
    if !bytes.starts_with(b"\xfd7zXZ\0") {
        assert_eq!(one, read(bytes, 3));
    }
});
