//! Faults of chunk and stream headers, and of block positions.
//!
//! Long because each specimen is an entry of one table.

use super::Specimen;
use super::draft::*;
use super::sound::{SIZE, WORDS, chunk, opcodes, plain, sound};

/// A file with the sound chunk, changed.
fn changed(change: fn(&mut Chunk)) -> Vec<u8> {
    let mut chunk = chunk(true);
    change(&mut chunk);
    file(SIZE, &chunk)
}

/// A chunk whose literals are three blocks in stream 1.
fn three_blocks() -> Chunk {
    let blocks = [&WORDS[..4], &WORDS[4..8], &WORDS[8..]].map(Block::stored);
    Chunk::new(1, true, SIZE, vec![opcodes(1).end(&plain())], blocks.to_vec())
}

/// Returns the chunk of [`three_blocks`], with the `next` of one block replaced by the position of another.
fn looped(from: usize, to: usize) -> Vec<u8> {
    let mut chunk = three_blocks();
    // A record and four bytes each, after two records and stream 0's block.
    let first = 8 + 4 + chunk.streams[0][0].data.len() as u64;
    chunk.streams[1][from].next = Some(first + 8 * to as u64);
    file(SIZE, &chunk)
}

/// A file with a chunk of 0.7 with a filter.
fn seven(filter: u8, part: &[u8]) -> Vec<u8> {
    let mut chunk = chunk(false);
    chunk.head.insert(1, filter);
    let mut magic = magic(7, 2 * SIZE);
    magic[14] = 1;
    [magic, chunk.bytes(), part.to_vec()].concat()
}

pub(super) fn all() -> Vec<Specimen> {
    vec![
        Specimen::new("bad-width-0", "width of 0", "numbers of no bytes", || changed(|chunk| chunk.head[0] = 0)),
        Specimen::new("bad-width-9", "width of 9", "numbers of 9 bytes", || changed(|chunk| chunk.head[0] = 9)),
        Specimen::new("bad-last-flag", "2 for the last", "an end mark of 2", || changed(|chunk| chunk.head[1] = 2)),
        Specimen::new("bad-no-last", "(expected all of them)", "no last chunk", || file(0, &chunk(false))),
        Specimen::new("bad-said", "4096", "more plain data than the chunk states", || {
            let opcodes = Opcodes::new(2).literals(1).repeat(60_000, 1).end(&vec![b'x'; 60_001]);
            file(0, &Chunk::new(2, true, 0, vec![opcodes], vec![Block::stored(b"x")]))
        })
        .in_data(),
        Specimen::new("bad-head-type", "head is 6", "a stream whose head has a type", || {
            changed(|chunk| chunk.heads[1] = Some((6, 0, 0, 20)))
        }),
        Specimen::new("bad-head-length", "head is 3 5", "a stream whose head has data", || {
            changed(|chunk| chunk.heads[0] = Some((NONE, 5, 5, 8)))
        }),
        Specimen::new("bad-head-next", "next record", "a stream that begins in its own head", || {
            changed(|chunk| chunk.heads[0] = Some((NONE, 0, 0, 4)))
        }),
        Specimen::new("bad-next-self", "next record", "a block that is followed by itself", || looped(1, 1)),
        Specimen::new("bad-next-loop", "next record", "blocks that follow each other for ever", || looped(2, 0)),
        Specimen::new("bad-next-in-data", "next record", "a block inside the one before", || {
            let mut chunk = three_blocks();
            chunk.streams[1][0].next = Some(8 + 4 + chunk.streams[0][0].data.len() as u64 + 5);
            file(SIZE, &chunk)
        }),
        Specimen::new("bad-next-outside", "(expected all of them)", "a block past the end of the file", || {
            changed(|chunk| chunk.streams[1][0].next = Some(250))
        }),
        Specimen::new("bad-next-huge", "(expected all of them)", "a block at the end of all numbers", || {
            let block = Block { next: Some(u64::MAX), ..Block::stored(WORDS) };
            file(SIZE, &Chunk::new(8, true, SIZE, vec![opcodes(8).end(&plain())], vec![block]))
        }),
        Specimen::new("bad-shared", "overlap", "two streams of the same blocks", || {
            // A literal of six bytes: this opcode and the end. With a digest, the CRC may be missing.
            let opcodes = Block::stored(&Opcodes::new(1).literals(6).literals(0).bytes);
            let mut chunk = Chunk::new(1, true, 6, vec![opcodes], vec![]);
            chunk.heads[1] = Some((NONE, 0, 0, 8));
            let mut file = file(6, &chunk);
            file[21] = 1;
            [file, vec![0; 16]].concat()
        }),
        Specimen::new("bad-cut-head", "(expected all of them)", "a file that ends in a chunk's head", || {
            sound()[..MAGIC + 2].to_vec()
        }),
        Specimen::new("bad-cut-record", "(expected all of them)", "a file that ends in a record", || {
            sound()[..MAGIC + 9].to_vec()
        }),
        Specimen::new("bad-cut-data", "(expected all of them)", "a file that ends in a block", || {
            let file = sound();
            file[..file.len() - 1].to_vec()
        }),
        Specimen::new("bad-filter", "version 0.7", "0.7: an unknown filter", || seven(3, &[])),
        Specimen::new("bad-part-missing", "(expected all of them)", "0.7: a part that is missing", || seven(0, &[])),
        Specimen::new("bad-part-mark", "LRZC", "0.7: a part with another mark", || seven(0, &[7; 24])),
        Specimen::new("bad-part-size", "(expected all of them)", "0.7: a part larger than the file", || {
            let mut head = b"LRZC".to_vec();
            head.resize(12, 0);
            head.extend_from_slice(&u64::MAX.to_le_bytes());
            head.resize(24, 0);
            seven(0, &head)
        }),
    ]
}
