//! The codec bzip2: each block is one bzip2 stream (bzip2 1.0.8 manual).

use bzip2::{Action, Compress, Compression, Decompress, Status};

use crate::parameters::{ListWriter, items};
use crate::traits::Compressor;
use crate::{CodecError, Decoder};

pub(crate) const NAME: &str = "bzip2";

pub(crate) const HELP: &str = "\
bzip2: one bzip2 stream per block
  level=1..9         sort up to level * 100,000 bytes together (default 9); also compression-level=
";

const KNOWN: &str = "level";
/// The library's default: how soon the sorting of repetitive data switches to the slower algorithm with a bounded time.
pub(crate) const WORK_FACTOR: u32 = 0;
/// Bytes sorted together, per level.
pub(crate) const LEVEL_BYTES: usize = 100_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bzip2Params {
    /// Sort block size in units of 100,000 bytes, 1 to 9. Default 9.
    pub level: u32,
}

impl Bzip2Params {
    /// Largest level, and the default.
    pub const MAX_LEVEL: u32 = 9;

    pub(crate) fn parse(list: &str) -> Result<Self, CodecError> {
        let mut params = Bzip2Params::default();
        for item in items(NAME, list) {
            match item.key {
                "level" | "compression-level" => params.level = item.number(1..=Self::MAX_LEVEL)?,
                _ => return Err(item.unknown(KNOWN)),
            }
        }
        Ok(params)
    }

    pub(crate) fn print(&self) -> String {
        let mut printed = ListWriter::default();
        printed.value("level", self.level, Self::MAX_LEVEL);
        printed.list()
    }

    pub(crate) fn check(&self) -> Result<(), CodecError> {
        if (1..=Self::MAX_LEVEL).contains(&self.level) {
            return Ok(());
        }
        let found = format!("level={}", self.level);
        let expected = "1 to 9".to_owned();
        Err(CodecError::Conflict { codec: NAME, found, expected })
    }

    /// Returns the lowest level that sorts a block of `size` bytes in one piece, because both sides allocate by the level. Run-length
    /// coding turns four bytes into five before sorting, and 19 bytes are kept free.
    pub(crate) fn level_for(&self, size: usize) -> u32 {
        let needed = (size + size / 4 + 20).div_ceil(LEVEL_BYTES);
        needed.clamp(1, self.level as usize) as u32
    }
}

impl Default for Bzip2Params {
    fn default() -> Self {
        Bzip2Params { level: Self::MAX_LEVEL }
    }
}

/// Memory of an encoder, bytes (bzip2(1), "Memory management").
pub(crate) fn encoder_memory(level: u32) -> usize {
    (400 << 10) + 8 * LEVEL_BYTES * level as usize
}

/// Memory of a decoder in bytes. It is the largest level's, because the level is in the block.
pub(crate) const DECODER_MEMORY: usize = (100 << 10) + 4 * LEVEL_BYTES * Bzip2Params::MAX_LEVEL as usize;

/// Creates the library's state for each block, because the state cannot be reused.
pub(crate) struct Bzip2Encoder(Bzip2Params);

impl Bzip2Encoder {
    pub(crate) fn new(params: &Bzip2Params) -> Self {
        Bzip2Encoder(params.clone())
    }
}

impl Compressor for Bzip2Encoder {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let mut coder = Compress::new(Compression::new(self.0.level_for(src.len())), WORK_FACTOR);
        loop {
            let taken = coder.total_in() as usize;
            let made = coder.total_out() as usize;
            if made == out.len() {
                return Ok(None);
            }
            let status = coder.compress(&src[taken..], &mut out[made..], Action::Finish);
            let progressed = coder.total_in() as usize > taken || coder.total_out() as usize > made;
            match status {
                Ok(Status::StreamEnd) => return Ok(Some(coder.total_out() as usize)),
                Ok(_) if progressed => {}
                _ => return Err(CodecError::Library { codec: NAME, function: "BZ2_bzCompress", code: 0 }),
            }
        }
    }
}

pub(crate) struct Bzip2Decoder;

impl Decoder for Bzip2Decoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let bad = |reason| CodecError::Malformed { codec: NAME, size: src.len(), reason };
        let mut coder = Decompress::new(false);
        loop {
            let taken = coder.total_in() as usize;
            let made = coder.total_out() as usize;
            let status = coder.decompress(&src[taken..], &mut dst[made..]);
            let progressed = coder.total_in() as usize > taken || coder.total_out() as usize > made;
            match status {
                Ok(Status::StreamEnd) if coder.total_in() as usize == src.len() => break,
                Ok(Status::StreamEnd) => return Err(bad("bytes after the end of the stream")),
                Ok(Status::MemNeeded) => return Err(CodecError::OutOfMemory { codec: NAME }),
                Ok(_) if progressed => {}
                Ok(_) if made == dst.len() => {
                    return Err(CodecError::TooLong { codec: NAME, size: src.len(), capacity: dst.len() });
                }
                Ok(_) => return Err(bad("ends too early")),
                Err(_) => return Err(bad("not a bzip2 stream, or its checksum is wrong")),
            }
        }
        Ok(coder.total_out() as usize)
    }
}
