//! Faults of opcodes.
//!
//! Long because each specimen is an entry of one table.

use super::Specimen;
use super::draft::*;
use super::sound::{SIZE, WORDS, chunk, opcodes, plain};

/// The sound chunk with other opcodes, of a width.
fn with(width: usize, opcodes: Block) -> Vec<u8> {
    file(SIZE, &Chunk::new(width, true, SIZE, vec![opcodes], vec![Block::stored(WORDS)]))
}

/// Few bytes of LZMA that decode to many opcodes: matches of `length` bytes.
fn bomb(size: u64, length: u16) -> Vec<u8> {
    let mut all = Opcodes::new(4).literals(WORDS.len() as u16).bytes;
    let one = Opcodes::new(4).repeat(length, 1).bytes;
    (0..300_000).for_each(|_| all.extend_from_slice(&one));
    let block = Block::new(LZMA, &lzma(&all), all.len() as u64);
    let mut file = file(size, &Chunk::new(4, true, size, vec![block], vec![Block::stored(WORDS)]));
    file[16..21].copy_from_slice(&LZMA_PROPS);
    file
}

/// Opcodes of 0.4: a literal, and one of these lengths.
fn four(tag: u8, length: u64) -> Vec<u8> {
    let mut opcodes = vec![0];
    opcodes.extend_from_slice(&(WORDS.len() as u64).to_le_bytes());
    opcodes.push(tag);
    opcodes.extend_from_slice(&length.to_le_bytes());
    opcodes.extend_from_slice(&1u64.to_le_bytes());
    opcodes.extend_from_slice(&[0; 13]);
    let mut chunk = Chunk::new(8, true, 0, vec![Block::stored(&opcodes)], vec![Block::stored(WORDS)]);
    chunk.head = vec![];
    [magic(4, SIZE), chunk.bytes()].concat()
}

const LENGTH: u16 = WORDS.len() as u16;

pub(super) fn all() -> Vec<Specimen> {
    vec![
        Specimen::new("bad-distance-0", "0 bytes back", "a match with itself", || {
            with(1, Opcodes::new(1).literals(LENGTH).repeat(5, 0).end(&[]))
        }),
        Specimen::new("bad-distance-before", "13 bytes back", "a match that reaches before the beginning", || {
            with(1, Opcodes::new(1).literals(LENGTH).repeat(5, 13).end(&[]))
        }),
        Specimen::new("bad-distance-first", "1 bytes back", "a match where nothing is yet", || {
            with(1, Opcodes::new(1).repeat(5, 1).end(&[]))
        }),
        Specimen::new("bad-distance-chunk", "40 bytes back", "a match that reaches into the previous chunk", || {
            let mut second = chunk(true);
            second.streams[0] = vec![Opcodes::new(1).literals(LENGTH).repeat(5, 40).end(&[])];
            [magic(6, 0), chunk(false).bytes(), second.bytes()].concat()
        }),
        Specimen::new("bad-distance-huge", "18446744073709551615 bytes", "a match 2^64 - 1 bytes back", || {
            with(8, Opcodes::new(8).literals(LENGTH).repeat(5, u64::MAX).end(&[]))
        }),
        Specimen::new("bad-match-empty", "0 bytes", "a match of no bytes", || {
            with(1, Opcodes::new(1).literals(LENGTH).repeat(0, 1).end(&[]))
        }),
        Specimen::new("bad-no-end", "stream 0 ends", "opcodes without an end", || {
            with(1, Block::stored(&opcodes(1).bytes))
        }),
        Specimen::new("bad-no-opcodes", "stream 0 ends", "no opcodes at all", || {
            file(SIZE, &Chunk::new(1, true, SIZE, vec![], vec![Block::stored(WORDS)]))
        }),
        Specimen::new("bad-opcode-cut", "stream 0 ends", "half an opcode", || {
            with(1, Block::stored(&Opcodes::new(1).literals(LENGTH).repeat(5, 1).bytes[..6]))
        }),
        Specimen::new("bad-no-crc", "stream 0 ends", "no CRC", || {
            with(1, Block::stored(&opcodes(1).literals(0).bytes))
        }),
        Specimen::new("bad-crc", "CRC", "a CRC of something else", || with(1, opcodes(1).end(b"x"))),
        Specimen::new("bad-literals-missing", "stream 1 ends", "more literals than there are", || {
            with(1, Opcodes::new(1).literals(LENGTH + 1).end(&[]))
        }),
        Specimen::new("bad-literals-left", "unused bytes in stream 1", "fewer literals than there are", || {
            let chunk = Chunk::new(
                1,
                true,
                11,
                vec![Opcodes::new(1).literals(11).end(&WORDS[..11])],
                vec![Block::stored(WORDS)],
            );
            file(11, &chunk)
        }),
        Specimen::new("bad-opcodes-left", "unused bytes in stream 0", "opcodes after the end", || {
            let mut block = opcodes(1).end(&plain());
            block.data.push(0);
            with(1, Block::stored(&block.data))
        }),
        Specimen::new("bad-bomb-small", "as the file states", "20 GB from a file that says 1000", || {
            bomb(1000, u16::MAX)
        }),
        Specimen::new("bad-bomb-empty", "0 bytes", "matches of no bytes, a great many", || bomb(1000, 0)),
        Specimen::new("bad-four-literals", "stream 1 ends", "0.4: 2^64 - 1 literals", || four(0, u64::MAX)),
        Specimen::new("bad-four-match", "as the file states", "0.4: a match of 2^64 - 1 bytes", || four(1, u64::MAX)),
    ]
}
