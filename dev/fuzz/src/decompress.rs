//! Any bytes as a compressed input: no panic, no hang, and the same bytes and error with one thread and with three. As zpaq, which contains
//! programs: the same bytes in large and in small pieces, within the memory allowed. As a block of any codec, after its name: the same from a
//! decoder that was used before, and the content survives a round trip.

use std::io::{Cursor, Read};

use packline_archives::decompress::{Limits, open};
use packline_codec::{Outcome, Spec, ZpaqReader};

/// Output limit in bytes: bombs are tested elsewhere.
const MOST: u64 = 4 << 20;

fn read(bytes: &[u8], threads: usize) -> (Vec<u8>, Option<String>) {
    let limits = Limits { threads, window: 8 << 20, buffers: 4 << 20 };
    let mut out = Vec::new();
    let reader = open(Cursor::new(bytes.to_vec()), &limits).expect("a cursor reads");
    let outcome = reader.take(MOST).read_to_end(&mut out);
    (out, outcome.err().map(|error| error.to_string()))
}

/// The start of a block of the smallest known model, and the memory in bytes that the model needs.
const ZPAQ_MIN: &[u8] = b"zPQ\x01\x01\x1A\0\x01\x02\0\0\x02";
const ZPAQ_MIN_MEMORY: usize = 48 << 20;

/// Memory limit for all others: a program may consume that much input before its first output, which is slow here.
const ZPAQ_MEMORY: usize = 512 << 10;

/// Output limit of zpaq, bytes: a model of many components is slow.
const ZPAQ_MOST: u64 = 2 << 10;

fn zpaq(bytes: &[u8]) {
    let memory = if bytes.starts_with(ZPAQ_MIN) { ZPAQ_MIN_MEMORY } else { ZPAQ_MEMORY };
    let read = |piece: usize| {
        let mut reader = ZpaqReader::new(bytes, memory).take(ZPAQ_MOST);
        let mut made = Vec::new();
        let mut buffer = vec![0; piece];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Some(made),
                Ok(size) => made.extend_from_slice(&buffer[..size]),
                Err(_) => return None,
            }
        }
    };
    assert_eq!(read(ZPAQ_MOST as usize), read(37));
}

/// Block size, and memory limit of its decoder, both in bytes.
const BLOCK: usize = 64 << 10;
const BLOCK_MEMORY: usize = 8 << 20;

/// `block NAME\n` precedes a block.
fn block(spec: &Spec, bytes: &[u8]) {
    let Ok(mut decoder) = spec.decoder(BLOCK, BLOCK_MEMORY) else { return };
    let mut content = vec![0; BLOCK];
    let made = decoder.decompress(bytes, &mut content);
    let mut again = vec![0xFF; BLOCK];
    assert_eq!(made, decoder.decompress(bytes, &mut again), "{spec} remembers");
    let Ok(size) = made else { return };
    assert!(content[..size] == again[..size], "{spec} leaves bytes as they were");
    let shorter = size.saturating_sub(1);
    assert!(size == 0 || decoder.decompress(bytes, &mut again[..shorter]).is_err(), "{spec} fits into less");
    let mut packed = vec![0; size];
    let outcome = spec.encoder(BLOCK).and_then(|mut encoder| encoder.compress(&content[..size], &mut packed));
    if let Outcome::Smaller(length) = outcome.expect("a block that fits") {
        assert_eq!(decoder.decompress(&packed[..length], &mut again), Ok(size), "{spec}");
        assert!(content[..size] == again[..size], "{spec} does not come back");
    }
}

/// The codec named, and the block.
fn named(bytes: &[u8]) -> Option<(Spec, &[u8])> {
    let rest = bytes.strip_prefix(b"block ")?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let name = std::str::from_utf8(&rest[..end]).ok()?;
    // Without parameters: fuzzing would find the slow ones first.
    let spec = Spec::parse(name.split(':').next()?).ok()?;
    Some((spec, &rest[end + 1..]))
}

pub fn decompress(bytes: &[u8]) {
    if let Some((spec, bytes)) = named(bytes) {
        return block(&spec, bytes);
    }
    if bytes.starts_with(b"zPQ") {
        return zpaq(bytes);
    }
    let one = read(bytes, 1);
    // liblzma's own threads report damage differently.
    if !bytes.starts_with(b"\xfd7zXZ\0") {
        assert_eq!(one, read(bytes, 3));
    }
}
