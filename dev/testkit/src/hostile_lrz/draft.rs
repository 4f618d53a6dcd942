//! Builds .lrz files, sound or not: every field can be set freely.

/// Types of blocks.
pub(super) const NONE: u8 = 3;
pub(super) const BZIP2: u8 = 4;
pub(super) const LZO: u8 = 5;
pub(super) const LZMA: u8 = 6;
pub(super) const ZLIB: u8 = 7;
pub(super) const ZPAQ: u8 = 8;

/// Size of a magic: the position of the first chunk.
pub(super) const MAGIC: usize = 24;

/// A block: its type, its data, and its plain size field.
#[derive(Clone)]
pub(super) struct Block {
    pub(super) tag: u8,
    pub(super) data: Vec<u8>,
    pub(super) stored: u64,
    pub(super) plain: u64,
    /// Replaces the position of the next block in its record.
    pub(super) next: Option<u64>,
}

impl Block {
    pub(super) fn new(tag: u8, data: &[u8], plain: u64) -> Block {
        Block { tag, data: data.to_vec(), stored: data.len() as u64, plain, next: None }
    }

    pub(super) fn stored(data: &[u8]) -> Block {
        Block::new(NONE, data, data.len() as u64)
    }
}

/// A chunk of 0.6, unless its header is replaced.
#[derive(Clone)]
pub(super) struct Chunk {
    /// Bytes before the first record.
    pub(super) head: Vec<u8>,
    /// Width of numbers in records.
    pub(super) width: usize,
    /// Replacements of the first records of the streams: type, stored, plain, next.
    pub(super) heads: [Option<(u8, u64, u64, u64)>; 2],
    pub(super) streams: [Vec<Block>; 2],
}

impl Chunk {
    /// A chunk with these blocks, whose header states `stated` bytes of plain data.
    pub(super) fn new(width: usize, last: bool, stated: u64, opcodes: Vec<Block>, literals: Vec<Block>) -> Chunk {
        let mut head = vec![width as u8, u8::from(last)];
        head.extend_from_slice(&stated.max(4096).to_le_bytes()[..width]);
        Chunk { head, width, heads: [None; 2], streams: [opcodes, literals] }
    }

    /// Its bytes: stream 0's blocks, then stream 1's.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let record = 1 + 3 * self.width as u64;
        let mut at = 2 * record;
        let mut starts = [Vec::new(), Vec::new()];
        for (stream, starts) in self.streams.iter().zip(&mut starts) {
            for block in stream {
                starts.push(at);
                at += record + block.data.len() as u64;
            }
        }
        let mut out = self.head.clone();
        for (head, starts) in self.heads.iter().zip(&starts) {
            let truth = (NONE, 0, 0, starts.first().copied().unwrap_or(0));
            self.record(head.unwrap_or(truth), &mut out);
        }
        for (stream, starts) in self.streams.iter().zip(&starts) {
            for (index, block) in stream.iter().enumerate() {
                let next = block.next.or(starts.get(index + 1).copied()).unwrap_or(0);
                self.record((block.tag, block.stored, block.plain, next), &mut out);
                out.extend_from_slice(&block.data);
            }
        }
        out
    }

    fn record(&self, (tag, stored, plain, next): (u8, u64, u64, u64), out: &mut Vec<u8>) {
        out.push(tag);
        for number in [stored, plain, next] {
            out.extend_from_slice(&number.to_le_bytes()[..self.width]);
        }
    }
}

/// A magic: version 0.`minor`, `size` bytes of plain data (0 if unknown), no LZMA, no digest, no encryption.
pub(super) fn magic(minor: u8, size: u64) -> Vec<u8> {
    let mut out = b"LRZI\0".to_vec();
    out.push(minor);
    out.extend_from_slice(&size.to_le_bytes());
    out.resize(MAGIC, 0);
    out
}

/// A file of 0.6 of one chunk.
pub(super) fn file(size: u64, chunk: &Chunk) -> Vec<u8> {
    [magic(6, size), chunk.bytes()].concat()
}

/// Opcodes with two-byte lengths and distances of a width.
#[derive(Clone)]
pub(super) struct Opcodes {
    width: usize,
    pub(super) bytes: Vec<u8>,
}

impl Opcodes {
    pub(super) fn new(width: usize) -> Opcodes {
        Opcodes { width, bytes: Vec::new() }
    }

    pub(super) fn literals(mut self, length: u16) -> Opcodes {
        self.bytes.push(0);
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self
    }

    pub(super) fn repeat(mut self, length: u16, distance: u64) -> Opcodes {
        self.bytes.push(1);
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(&distance.to_le_bytes()[..self.width]);
        self
    }

    /// Appends the end, and the CRC of `plain`.
    pub(super) fn end(self, plain: &[u8]) -> Block {
        let mut bytes = self.literals(0).bytes;
        bytes.extend_from_slice(&crc(plain).to_le_bytes());
        Block::stored(&bytes)
    }
}

/// CRC-32 that begins with 0 and is not inverted.
pub(super) fn crc(plain: &[u8]) -> u32 {
    plain.iter().fold(0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1)))
    })
}

/// A zlib stream of stored blocks.
pub(super) fn zlib(plain: &[u8]) -> Vec<u8> {
    let length = plain.len() as u16;
    let mut out = vec![0x78, 0x01, 1];
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(plain);
    let (low, high) = plain.iter().fold((1u32, 0u32), |(low, high), &byte| {
        let low = (low + u32::from(byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    out.extend_from_slice(&(high << 16 | low).to_be_bytes());
    out
}

/// Raw LZMA of level 1 with the properties [`LZMA_PROPS`].
pub(super) fn lzma(plain: &[u8]) -> Vec<u8> {
    let mut out = vec![0; plain.len()];
    let made = packline_codec::RawLzma::new(1)
        .and_then(|raw| raw.encoder(plain.len()))
        .and_then(|mut encoder| encoder.compress(plain, &mut out));
    match made {
        Ok(packline_codec::Outcome::Smaller(size)) => out.truncate(size),
        _ => out.clear(),
    }
    out
}

/// Properties of LZMA in a magic: lc 3, lp 0, pb 2, a dictionary of 1 MiB.
pub(super) const LZMA_PROPS: [u8; 5] = [0x5d, 0, 0, 0x10, 0];
