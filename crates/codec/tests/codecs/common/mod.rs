//! Shared by the tests: content of several kinds, and helpers that call a codec.
#![allow(dead_code)] // not every test file uses all of it

use packline_codec::{Encoder, Outcome, Spec};

pub const MEMORY: usize = 64 << 20;

/// Reproducible pseudo-random numbers (xorshift64*).
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

pub const KINDS: &[&str] = &["zeros", "random", "text", "code", "periodic", "mixed"];

/// `size` bytes of words of 5 bytes. There are matches everywhere, more than any table of a match finder holds, so that the result depends
/// on which entries are evicted.
pub fn crowded(size: usize, seed: u64) -> Vec<u8> {
    let mut numbers = Numbers::new(seed);
    let words: Vec<u64> = (0..4000).map(|_| numbers.next()).collect();
    let mut bytes = Vec::new();
    while bytes.len() < size {
        bytes.extend_from_slice(&words[numbers.below(4000) as usize].to_le_bytes()[..5]);
    }
    bytes.truncate(size);
    bytes
}

pub fn content(kind: &str, size: usize, seed: u64) -> Vec<u8> {
    let mut numbers = Numbers::new(seed);
    let mut bytes = match kind {
        "zeros" => vec![0; size],
        "random" => (0..size).map(|_| numbers.next() as u8).collect(),
        "text" => text(size, &mut numbers),
        "code" => code(size, &mut numbers),
        "periodic" => (0..size).map(|at| (at % 251) as u8).collect(),
        _ => mixed(size, &mut numbers),
    };
    bytes.truncate(size);
    bytes
}

fn text(size: usize, numbers: &mut Numbers) -> Vec<u8> {
    const WORDS: &[&str] = &["block", "the", "of", "inode", "table", "is", "written", "size", "a", "fragment", "\n"];
    let mut text = Vec::new();
    while text.len() < size {
        text.extend_from_slice(WORDS[numbers.below(WORDS.len() as u64) as usize].as_bytes());
        text.push(b' ');
        if numbers.below(9) == 0 {
            text.extend_from_slice(numbers.below(100_000).to_string().as_bytes());
        }
    }
    text
}

/// Moves, and calls of a few functions by relative address: input for branch filters.
fn code(size: usize, numbers: &mut Numbers) -> Vec<u8> {
    let functions: Vec<u64> = (0..24).map(|_| numbers.below(size as u64 + 1)).collect();
    let mut code: Vec<u8> = Vec::new();
    while code.len() < size {
        code.extend_from_slice(&[0x48, 0x89, 0xC0 | numbers.below(64) as u8]);
        if numbers.below(3) == 0 {
            let target = functions[numbers.below(24) as usize] as u32;
            code.push(0xE8);
            code.extend_from_slice(&target.wrapping_sub(code.len() as u32 + 4).to_le_bytes());
        }
    }
    code
}

fn mixed(size: usize, numbers: &mut Numbers) -> Vec<u8> {
    let mut mixed = Vec::new();
    while mixed.len() < size {
        let part = 1 + numbers.below(9000) as usize;
        let kind = KINDS[numbers.below(5) as usize];
        mixed.extend(content(kind, part, numbers.next()));
    }
    mixed
}

/// Specifications that cover each codec and each path through it.
pub const SPECS: &[&str] = &[
    "none",
    "gzip",
    "gzip:level=1",
    "gzip:level=12",
    "gzip:engine=zlib",
    "gzip:window=9",
    "gzip:default,filtered,huffman,rle,fixed",
    "xz",
    "xz:level=0",
    "xz:extreme",
    "xz:x86,arm",
    "xz:level=max,x86",
    "lzma",
    "lzma:level=max",
    "lzma:level=1,lc=0,lp=2",
    "zstd",
    "zstd:level=-5",
    "zstd:level=1",
    "zstd:level=3",
    "zstd:level=5",
    "zstd:level=7",
    "zstd:level=12",
    "zstd:level=13",
    "zstd:level=17",
    "zstd:level=19",
    "lz4",
    "lz4:acceleration=8",
    "lz4:hc",
    "lz4:hc,level=3",
    "lzo",
    "bzip2",
    "huff0",
    "zle",
];

pub fn spec(text: &str) -> Spec {
    Spec::parse(text).unwrap()
}

/// Returns the compressed block, or `None` if it does not get smaller.
pub fn compress(encoder: &mut dyn Encoder, src: &[u8]) -> Option<Vec<u8>> {
    let mut dst = vec![0xA5; src.len()];
    match encoder.compress(src, &mut dst).unwrap() {
        Outcome::Smaller(size) => {
            assert!(size < src.len(), "{size} bytes are not fewer than {}", src.len());
            dst.truncate(size);
            Some(dst)
        }
        Outcome::NotSmaller => None,
    }
}
