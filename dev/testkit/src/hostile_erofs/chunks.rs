//! Content in chunks.

use super::Specimen;
use super::draft::*;
use crate::hostile::bytes::Put;

/// A file of two chunks of 4 KiB with these entries.
fn file(format: u32, entries: &[u8]) -> Vec<u8> {
    let mut draft = Draft::new();
    draft.set(INCOMPAT, 4);
    draft.store(&[7; 8192]);
    draft.of_node(&Node::new(FILE, CHUNKS, 8192).start(format).tail(entries))
}

fn blocks(first: u32, second: u32) -> Vec<u8> {
    let mut entries = Vec::new();
    entries.u32(first).u32(second);
    entries
}

pub(super) fn all() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-chunk-format", "chunked inode of format 0x80", "an unknown bit of the format", || {
            file(0x80, &blocks(1, 2))
        })
        .in_data(),
        new("bad-chunk-beyond", "chunk to byte", "a chunk after the end of the image", || file(0, &blocks(1, 9999)))
            .in_data(),
        new("bad-chunk-device", "chunk on device 5", "a chunk of a device that does not exist", || {
            let mut draft = Draft::new();
            let table = draft.store(&[b'd'; 384]);
            let mut entries = Vec::new();
            // Four devices take 3 bits.
            entries.u16(0).u16(5).u32(1).u16(0).u16(0).u32(1);
            draft.set(INCOMPAT, 0xc).set(DEVICES, 4).set(DEVICE_TABLE, u64::from(table) * 32);
            draft.of_node(&Node::new(FILE, CHUNKS, 8192).start(0x20).tail(&entries))
        })
        .in_data(),
        new("odd-chunk-huge", "", "chunks of 2^43 bytes", || file(31, &blocks(1, 2))),
        new("bad-chunk-entries-beyond", "to byte", "a file of 2^50 bytes with two entries", || {
            let mut draft = Draft::new();
            draft.set(INCOMPAT, 4);
            draft.of_node(&Node::new(FILE, CHUNKS, 1 << 50).start(0).tail(&blocks(u32::MAX, u32::MAX)))
        })
        .in_data(),
        new("bad-chunks-without-feature", "without the feature \"chunks\"", "chunks without their feature", || {
            let mut draft = Draft::new();
            draft.store(&[7; 8192]);
            draft.of_node(&Node::new(FILE, CHUNKS, 8192).tail(&blocks(1, 2)))
        })
        .in_data(),
        new("odd-chunk-holes", "", "two chunks that are holes", || file(0, &blocks(u32::MAX, u32::MAX))),
        new("odd-chunk-shared", "", "one block as two chunks", || file(0, &blocks(1, 1))),
    ]
}
