//! Faults of blocks: their lengths and their data.
//!
//! Long because each specimen is an entry of one table.

use super::Specimen;
use super::draft::*;
use super::sound::{SIZE, WORDS, chunk, opcodes, plain};

/// The sound chunk with another block of literals.
fn literals(block: Block) -> Vec<u8> {
    let mut chunk = chunk(true);
    chunk.streams[1] = vec![block];
    file(SIZE, &chunk)
}

/// The same, with numbers of full width.
fn wide(block: Block) -> Vec<u8> {
    file(SIZE, &Chunk::new(8, true, SIZE, vec![opcodes(8).end(&plain())], vec![block]))
}

/// Puts properties of LZMA into the magic.
fn with_props(mut file: Vec<u8>, props: [u8; 5]) -> Vec<u8> {
    file[16..21].copy_from_slice(&props);
    file
}

/// Compressed with zpaq, level 1.
fn zpaq(plain: &[u8]) -> Vec<u8> {
    let mut out = vec![0; plain.len()];
    let made = packline_codec::ZpaqEncoder::new(1)
        .and_then(|mut encoder| packline_codec::Encoder::compress(&mut encoder, plain, &mut out));
    match made {
        Ok(packline_codec::Outcome::Smaller(size)) => out.truncate(size),
        _ => out.clear(),
    }
    out
}

/// As LZO: a run of literals, and the end.
fn lzo(plain: &[u8]) -> Vec<u8> {
    [&[plain.len() as u8 + 17], plain, &[0x11, 0, 0]].concat()
}

const LENGTH: u64 = WORDS.len() as u64;

pub(super) fn all() -> Vec<Specimen> {
    vec![
        Specimen::new("bad-type-2", "type 2", "a block of an unknown type", || literals(Block::new(2, WORDS, LENGTH))),
        Specimen::new("bad-type-9", "type 9", "a type of 0.7 in 0.6", || literals(Block::new(9, WORDS, LENGTH))),
        Specimen::new("bad-stored-more", "(expected all of them)", "a block longer than the file", || {
            literals(Block { stored: 200, plain: 200, ..Block::stored(WORDS) })
        }),
        Specimen::new("bad-stored-huge", "(expected all of them)", "a block of 2^64 - 1 bytes", || {
            wide(Block { stored: u64::MAX, ..Block::new(ZLIB, WORDS, LENGTH) })
        }),
        Specimen::new("bad-plain-differs", "uncompressed", "a stored block with another length of plain data", || {
            literals(Block::new(NONE, WORDS, LENGTH + 1))
        }),
        Specimen::new("bad-plain-huge", "9223372036854775808", "2^64 - 1 bytes of plain data", || {
            wide(Block::new(ZLIB, &zlib(WORDS), u64::MAX))
        }),
        Specimen::new("bad-plain-zlib", "gzip", "2^40 bytes of plain data from 23 of zlib", || {
            wide(Block::new(ZLIB, &zlib(WORDS), 1 << 40))
        })
        .in_data(),
        Specimen::new("bad-plain-lzo", "lzo", "2^34 bytes of plain data from 16 of LZO", || {
            wide(Block::new(LZO, &lzo(WORDS), 1 << 34))
        })
        .in_data(),
        Specimen::new(
            "bad-plain-lzma",
            "lzma",
            "2^40 bytes of plain data from a little LZMA, and no dictionary size",
            || with_props(wide(Block::new(LZMA, &lzma(&plain()), 1 << 40)), [0x5d, 0, 0, 0, 0]),
        )
        .in_data(),
        Specimen::new("bad-plain-bzip2", "bzip2", "2^40 bytes of plain data from no bzip2", || {
            wide(Block::new(BZIP2, WORDS, 1 << 40))
        })
        .in_data(),
        Specimen::new("bad-plain-zpaq", "zpaq", "2^40 bytes of plain data from a little zpaq", || {
            wide(Block::new(ZPAQ, &zpaq(&plain()), 1 << 40))
        })
        .in_data(),
        Specimen::new("bad-empty-opcodes", "0 bytes for 0", "an empty block of stream 0", || {
            let mut chunk = chunk(true);
            chunk.streams[0].push(Block::stored(&[]));
            file(SIZE, &chunk)
        }),
        Specimen::new("bad-empty-first", "0 bytes for 0", "an empty block of stream 1 that is not the last", || {
            let mut chunk = chunk(true);
            chunk.streams[1].insert(0, Block::stored(&[]));
            file(SIZE, &chunk)
        }),
        Specimen::new("bad-no-plain", "for 0", "a block that holds nothing", || literals(Block::new(ZLIB, WORDS, 0))),
        Specimen::new("bad-zlib-less", "gzip", "zlib that holds less than it says", || {
            literals(Block::new(ZLIB, &zlib(WORDS), LENGTH + 1))
        })
        .in_data(),
        Specimen::new("bad-zlib-more", "gzip", "zlib that holds more than it says", || {
            literals(Block::new(ZLIB, &zlib(WORDS), LENGTH - 1))
        })
        .in_data(),
        Specimen::new("bad-lzo-less", "lzo", "LZO that holds less than it says", || {
            literals(Block::new(LZO, &lzo(WORDS), LENGTH + 1))
        })
        .in_data(),
        Specimen::new("bad-lzo-more", "lzo", "LZO that holds more than it says", || {
            literals(Block::new(LZO, &lzo(WORDS), LENGTH - 1))
        })
        .in_data(),
        Specimen::new("bad-lzo-back", "lzo", "LZO whose match reaches before the block", || {
            literals(Block::new(LZO, &[18, b'a', 0xff, 0xff, 0x11, 0, 0], LENGTH))
        })
        .in_data(),
        Specimen::new("bad-bzip2", "bzip2", "no bzip2", || literals(Block::new(BZIP2, b"BZh9 is all", LENGTH)))
            .in_data(),
        Specimen::new("bad-lzma", "lzma", "no LZMA", || {
            with_props(literals(Block::new(LZMA, &[0xff; 40], LENGTH)), LZMA_PROPS)
        })
        .in_data(),
        Specimen::new("bad-lzma-more", "lzma", "LZMA that holds more than it says", || {
            with_props(literals(Block::new(LZMA, &lzma(&plain()), LENGTH)), LZMA_PROPS)
        })
        .in_data(),
        Specimen::new("bad-lzma-contexts", "contexts", "LZMA with contexts that do not exist", || {
            with_props(literals(Block::new(LZMA, &lzma(&plain()), SIZE)), [0xff, 0, 0, 16, 0])
        })
        .in_data(),
        Specimen::new("bad-zpaq-more", "zpaq", "zpaq that holds more than it says", || {
            literals(Block::new(ZPAQ, &zpaq(&plain()), LENGTH))
        })
        .in_data(),
        Specimen::new("bad-zpaq-less", "zpaq", "zpaq that holds less than it says", || {
            literals(Block::new(ZPAQ, &zpaq(&plain()), SIZE + 1))
        })
        .in_data(),
        Specimen::new("bad-zpaq-model", "zpaq", "zpaq whose model takes 2^32 bytes and more", || {
            // One direct context model of 2^30 numbers, and no program.
            literals(Block::new(ZPAQ, &zpaq_of(&[0, 0, 0, 0, 1, 2, 30, 0, 0, 56, 0]), LENGTH))
        })
        .in_data(),
        Specimen::new("bad-zpaq-endless", "zpaq", "zpaq whose model never ends making what means nothing", || {
            // One constant, and for each byte: OUT, and back to it.
            literals(Block::new(ZPAQ, &zpaq_of(&[0, 0, 0, 0, 1, 1, 9, 0, 57, 63, 253, 0]), LENGTH))
        })
        .in_data(),
    ]
}

/// A zpaq block of a model, with a few bytes of data.
fn zpaq_of(header: &[u8]) -> Vec<u8> {
    let size = (header.len() as u16).to_le_bytes();
    [b"zPQ\x01\x01", &size[..], header, &[1, 0, 0, 0, 9, 9, 9, 9]].concat()
}
