//! Valid files.
//!
//! Long because each specimen is an entry of one table.

use super::Specimen;
use super::draft::*;

/// The literals of most files here; repeated `TIMES` times.
pub(super) const WORDS: &[u8] = b"some words, ";
pub(super) const TIMES: usize = 10;

/// The content of most files.
pub(super) fn plain() -> Vec<u8> {
    WORDS.repeat(TIMES)
}

/// Its size in bytes.
pub(super) const SIZE: u64 = (WORDS.len() * TIMES) as u64;

/// Opcodes that produce it.
pub(super) fn opcodes(width: usize) -> Opcodes {
    let length = WORDS.len() as u16;
    Opcodes::new(width).literals(length).repeat(SIZE as u16 - length, WORDS.len() as u64)
}

/// A chunk that contains it.
pub(super) fn chunk(last: bool) -> Chunk {
    Chunk::new(1, last, SIZE, vec![opcodes(1).end(&plain())], vec![Block::stored(WORDS)])
}

/// A sound file of 0.6: a few words, repeated.
pub fn sound() -> Vec<u8> {
    file(SIZE, &chunk(true))
}

pub(super) fn all() -> Vec<Specimen> {
    vec![
        Specimen::new("odd-sound", "", "nothing", sound),
        Specimen::new("odd-two-chunks", "", "two chunks, and no size in the magic", || {
            [magic(6, 0), chunk(false).bytes(), chunk(true).bytes()].concat()
        }),
        Specimen::new("odd-each-last", "", "two chunks that both are the last, where the magic has the size", || {
            [magic(6, 2 * SIZE), chunk(true).bytes(), chunk(true).bytes()].concat()
        }),
        Specimen::new("odd-no-bytes", "", "no plain data at all", || {
            file(0, &Chunk::new(1, true, 0, vec![Opcodes::new(1).end(&[])], vec![]))
        }),
        Specimen::new("odd-empty-literals", "", "an empty block at the end of stream 1", || {
            let mut chunk = chunk(true);
            chunk.streams[1].push(Block::stored(&[]));
            file(SIZE, &chunk)
        }),
        Specimen::new("odd-dictionary", "", "a dictionary of 4 GiB for a block of 120 bytes", || {
            let mut chunk = chunk(true);
            chunk.streams[0] = vec![Opcodes::new(1).literals(SIZE as u16).end(&plain())];
            chunk.streams[1] = vec![Block::new(LZMA, &lzma(&plain()), SIZE)];
            let mut bytes = file(SIZE, &chunk);
            bytes[16..21].copy_from_slice(&[0x5d, 0xff, 0xff, 0xff, 0xff]);
            bytes
        }),
        Specimen::new("odd-version-4", "", "version 0.4, and a match longer than later versions can say", || {
            let mut opcodes = vec![0; 1];
            opcodes.extend_from_slice(&1u64.to_le_bytes());
            opcodes.push(1);
            opcodes.extend_from_slice(&99_999u64.to_le_bytes());
            opcodes.extend_from_slice(&1u64.to_le_bytes());
            opcodes.extend_from_slice(&[0; 9]);
            opcodes.extend_from_slice(&crc(&vec![b'x'; 100_000]).to_le_bytes());
            let mut chunk = Chunk::new(8, true, 0, vec![Block::stored(&opcodes)], vec![Block::stored(b"x")]);
            chunk.head = vec![];
            [magic(4, 100_000), chunk.bytes()].concat()
        }),
        Specimen::new(
            "odd-version-5",
            "",
            "version 0.5: records of full width, a head of one byte, two chunks",
            || {
                let mut chunk = chunk(true);
                chunk.width = 8;
                chunk.head = vec![1];
                [magic(5, 2 * SIZE), chunk.bytes(), chunk.bytes()].concat()
            },
        ),
        Specimen::new("odd-version-7", "", "version 0.7.1: a byte for a filter, no CRC, two parts", || {
            let part = |last: bool| {
                let mut chunk = chunk(last);
                chunk.head.insert(1, 0);
                let end = opcodes(1).literals(0).bytes;
                chunk.streams[0] = vec![Block::stored(&end)];
                chunk.bytes()
            };
            let mut magic = magic(7, 2 * SIZE);
            magic[14] = 1;
            let mut head = b"LRZC".to_vec();
            head.extend_from_slice(&SIZE.to_le_bytes());
            head.extend_from_slice(&(part(true).len() as u64).to_le_bytes());
            head.extend_from_slice(&[1, 0, 0, 0]);
            [magic, part(false), head, part(true)].concat()
        }),
    ]
}
