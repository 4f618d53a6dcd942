//! Any bytes as a compressed input: no panic, no hang, and the same bytes and error for one thread and for three. As zpaq, which
//! has programs of its own: the same bytes at once and in pieces, within the memory allowed.
#![no_main]

use std::io::{Cursor, Read};

use libfuzzer_sys::fuzz_target;
use packline_codec::{Decoder, ZpaqDecoder, ZpaqReader};
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

/// What a block of the smallest of the known models begins with, and the memory that it takes, bytes.
const ZPAQ_MIN: &[u8] = b"zPQ\x01\x01\x1A\0\x01\x02\0\0\x02";
const ZPAQ_MIN_MEMORY: usize = 48 << 20;

/// Memory of any other: a program may swallow as much before it has to make something, which takes long here.
const ZPAQ_MEMORY: usize = 512 << 10;

/// Bytes of zpaq that are looked at: a model of many components is slow.
const ZPAQ_MOST: usize = 2 << 10;

fn zpaq(bytes: &[u8]) {
    let memory = if bytes.starts_with(ZPAQ_MIN) { ZPAQ_MIN_MEMORY } else { ZPAQ_MEMORY };
    let mut whole = vec![0; ZPAQ_MOST];
    let made = ZpaqDecoder::new(memory).decompress(bytes, &mut whole);
    let mut pieces = Vec::new();
    let mut reader = ZpaqReader::new(bytes, memory);
    let mut piece = [0; 37];
    let outcome = loop {
        match reader.read(&mut piece) {
            Ok(0) => break Ok(()),
            Ok(size) => pieces.extend_from_slice(&piece[..size]),
            Err(error) => break Err(error),
        }
        if pieces.len() > ZPAQ_MOST {
            break Ok(());
        }
    };
    match made {
        Ok(size) => assert!(outcome.is_ok() && pieces == whole[..size]),
        Err(_) => assert!(outcome.is_err() || pieces.len() > ZPAQ_MOST),
    }
}

fuzz_target!(|bytes: &[u8]| {
    if bytes.starts_with(b"zPQ") {
        return zpaq(bytes);
    }
    let one = read(bytes, 1);
    // liblzma's own threads report damage in their own way.
    if !bytes.starts_with(b"\xfd7zXZ\0") {
        assert_eq!(one, read(bytes, 3));
    }
});
