//! Handmade compressed streams: windows and dictionaries of gigabytes, wrong sizes, concatenated streams.

use super::Expect::{Contents, Rules, Sound};
use super::Specimen;
use super::bytes::{Put, over};
use super::codecs::{file_of, packed};

/// Block size.
const BLOCK: usize = 1 << 17;

/// A zstd frame of blocks of one repeated byte: any header after the magic, then `count` blocks of 128 KiB.
fn zstd(header: &[u8], count: u32) -> Vec<u8> {
    let mut out = Vec::new();
    out.u32(0xfd2f_b528).all(header);
    for index in 1..=count {
        let word = u32::from(index == count) | 1 << 1 | (BLOCK as u32) << 3;
        out.all(&word.to_le_bytes()[..3]).all(&[0]);
    }
    out
}

/// CRC-32 (ISO 3309), as in xz.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 })
    })
}

/// An xz stream whose block declares any dictionary: the property byte is in the block's header, which begins at byte 12.
fn xz_dictionary(property: u8) -> Vec<u8> {
    const HEADER: usize = 12;
    let mut bytes = packed("xz", BLOCK);
    let length = (usize::from(bytes[HEADER]) + 1) * 4;
    let header = &mut bytes[HEADER..HEADER + length];
    let filter = header.windows(2).position(|pair| pair == [0x21, 1]).unwrap_or_default();
    header[filter + 2] = property;
    let sum = crc32(&header[..length - 4]);
    over(header, length - 4, 4, sum.into());
    bytes
}

/// An lzma stream with one number of its 13-byte header changed.
fn lzma(at: usize, length: usize, number: u64) -> Vec<u8> {
    let mut bytes = packed("lzma", BLOCK);
    over(&mut bytes, at, length, number);
    bytes
}

/// A zlib stream that requires a preset dictionary.
fn preset() -> Vec<u8> {
    let mut out = vec![0x78, 0xbb, 0, 0, 0, 1];
    out.all(&packed("gzip", BLOCK)[2..]);
    out
}

/// A zlib stream with a changed checksum.
fn checksum() -> Vec<u8> {
    let mut bytes = packed("gzip", BLOCK);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    bytes
}

fn twice(codec: &str) -> Vec<u8> {
    packed(codec, BLOCK / 2).repeat(2)
}

/// A skippable zstd frame, then one of a block.
fn skipped() -> Vec<u8> {
    let mut out = Vec::new();
    out.u32(0x184d_2a50).u32(0xffff_fff0).all(&packed("zstd", BLOCK));
    out
}

pub(super) fn specimens() -> Vec<Specimen> {
    [of_zstd(), of_lzma(), of_gzip()].concat()
}

fn of_zstd() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-zstd-window-2-gib", Rules, "a zstd window of 2 GiB", || file_of("zstd", &zstd(&[0, 21 << 3], 1))),
        new("bad-zstd-window-most", Contents, "the largest possible zstd window, 3.75 TiB", || {
            file_of("zstd", &zstd(&[0, 0xff], 1))
        }),
        new("odd-zstd-without-size", Sound, "a zstd frame that does not say its size", || {
            file_of("zstd", &zstd(&[0, 7 << 3], 1))
        }),
        new("bad-zstd-without-size-bomb", Contents, "a zstd frame of 512 MiB that does not say its size", || {
            file_of("zstd", &zstd(&[0, 7 << 3], 4096))
        }),
        new("bad-zstd-size-2-to-62", Contents, "a zstd frame that says 2^62 bytes", || {
            file_of("zstd", &zstd(&[0xe0, 0, 0, 0, 0, 0, 0, 0, 0x40], 1))
        }),
        new("bad-zstd-size-lies", Contents, "a zstd frame that says a block and has 512 MiB", || {
            file_of("zstd", &zstd(&[0xa0, 0, 0, 2, 0], 4096))
        }),
        new("bad-zstd-dictionary", Contents, "a zstd frame that asks for dictionary 2^32-1", || {
            file_of("zstd", &zstd(&[3, 7 << 3, 255, 255, 255, 255], 1))
        }),
        new("bad-zstd-skipped", Contents, "a zstd frame that skips 4 GiB", || file_of("zstd", &skipped())),
        new("bad-zstd-twice", Contents, "two zstd frames in a block that together are too long", || {
            file_of("zstd", &packed("zstd", BLOCK).repeat(2))
        }),
    ]
}

fn of_lzma() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-xz-dictionary-4-gib", Contents, "an xz dictionary of 4 GiB less 1", || {
            file_of("xz", &xz_dictionary(40))
        }),
        new("bad-xz-dictionary-3-gib", Contents, "an xz dictionary of 3 GiB", || file_of("xz", &xz_dictionary(39))),
        new("bad-xz-dictionary-41", Contents, "an invalid xz dictionary size", || file_of("xz", &xz_dictionary(41))),
        new("bad-xz-twice", Contents, "two xz streams in a block that together are too long", || {
            file_of("xz", &packed("xz", BLOCK).repeat(2))
        }),
        new("bad-lzma-dictionary-4-gib", Contents, "an lzma dictionary of 4 GiB less 1", || {
            file_of("lzma", &lzma(1, 4, 0xffff_ffff))
        }),
        new("bad-lzma-size-2-to-63", Contents, "an lzma stream that says 2^63 bytes", || {
            file_of("lzma", &lzma(5, 8, 1 << 63))
        }),
        new("bad-lzma-size-1", Contents, "an lzma stream that says 1 byte", || file_of("lzma", &lzma(5, 8, 1))),
        new("bad-lzma-properties", Contents, "lzma properties that cannot be", || file_of("lzma", &lzma(0, 1, 0xff))),
        new("bad-lzma-twice", Contents, "two lzma streams in a block", || file_of("lzma", &twice("lzma"))),
    ]
}

fn of_gzip() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-gzip-preset", Contents, "a zlib stream that asks for a dictionary", || file_of("gzip", &preset())),
        new("bad-gzip-checksum", Contents, "a zlib stream of a wrong checksum", || file_of("gzip", &checksum())),
        new("bad-gzip-twice", Contents, "two zlib streams in a block", || file_of("gzip", &twice("gzip"))),
        new("bad-gzip-raw", Contents, "deflate without the header of zlib", || {
            file_of("gzip", &packed("gzip", BLOCK)[2..])
        }),
        new("bad-gzip-as-gzip", Contents, "a gzip header instead of that of zlib", || {
            let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
            bytes.all(&packed("gzip", BLOCK)[2..]);
            file_of("gzip", &bytes)
        }),
    ]
}
