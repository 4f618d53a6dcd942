//! bzip2 as a codec of blocks: a bzip2 stream each (bzip2 1.0.8 manual), as long as it has to be.

use bzip2::{Action, Compress, Compression, Decompress, Status};

use crate::bounded::Press;
use crate::item::{Printed, items};
use crate::names::BZIP2;
use crate::{CodecError, Decoder};

/// Names of all parameters, for error messages.
const KNOWN: &str = "level";
/// The library's own default: when sorting gives up on repetitive data and takes the slower, steady way.
const WORK_FACTOR: u32 = 0;
/// Bytes that are sorted together, for each level.
const LEVEL_BYTES: usize = 100_000;

/// What a user may choose of bzip2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bzip2Params {
    /// Up to how many times 100,000 bytes are sorted together, 1 to 9. Default 9.
    pub level: u32,
}

impl Bzip2Params {
    /// Largest level, and the one when none is chosen.
    pub const MAX_LEVEL: u32 = 9;

    pub(crate) fn parse(list: &str) -> Result<Self, CodecError> {
        let mut params = Bzip2Params::default();
        for item in items(BZIP2, list) {
            match item.key {
                "level" | "compression-level" => params.level = item.number(1..=Self::MAX_LEVEL)?,
                _ => return Err(item.unknown(KNOWN)),
            }
        }
        Ok(params)
    }

    pub(crate) fn print(&self) -> String {
        let mut printed = Printed::default();
        printed.value("level", self.level, Self::MAX_LEVEL);
        printed.list()
    }

    pub(crate) fn check(&self) -> Result<(), CodecError> {
        if (1..=Self::MAX_LEVEL).contains(&self.level) {
            return Ok(());
        }
        let (found, expected) = (format!("level={}", self.level), "1 to 9".to_owned());
        Err(CodecError::Conflict { codec: BZIP2, found, expected })
    }

    /// The level for a block of `size` bytes: no higher than it takes to sort all of it together, since both sides take
    /// memory by the level. Runs of four bytes become five before sorting, and 19 bytes are kept free.
    fn level_for(&self, size: usize) -> u32 {
        let needed = (size + size / 4 + 20).div_ceil(LEVEL_BYTES);
        needed.clamp(1, self.level as usize) as u32
    }
}

impl Default for Bzip2Params {
    fn default() -> Self {
        Bzip2Params { level: Self::MAX_LEVEL }
    }
}

/// Bytes that an encoder takes for a block of `size` bytes (bzip2(1), "Memory management").
pub(crate) fn encoder_memory(params: &Bzip2Params, size: usize) -> usize {
    (400 << 10) + 8 * LEVEL_BYTES * params.level_for(size) as usize
}

/// Bytes that a decoder takes at most: a block says its level itself.
pub(crate) fn decoder_memory() -> usize {
    (100 << 10) + 4 * LEVEL_BYTES * Bzip2Params::MAX_LEVEL as usize
}

/// Compresses blocks. The library's state is made anew for each: it cannot be used twice.
pub(crate) struct Bzip2Encoder(Bzip2Params);

impl Bzip2Encoder {
    pub(crate) fn new(params: &Bzip2Params) -> Self {
        Bzip2Encoder(params.clone())
    }
}

impl Press for Bzip2Encoder {
    fn press(&mut self, src: &[u8], room: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let mut coder = Compress::new(Compression::new(self.0.level_for(src.len())), WORK_FACTOR);
        loop {
            let (taken, made) = (coder.total_in() as usize, coder.total_out() as usize);
            if made == room.len() {
                return Ok(None);
            }
            let status = coder.compress(&src[taken..], &mut room[made..], Action::Finish);
            let went_on = coder.total_in() as usize > taken || coder.total_out() as usize > made;
            match status {
                Ok(Status::StreamEnd) => return Ok(Some(coder.total_out() as usize)),
                Ok(_) if went_on => {}
                _ => return Err(CodecError::Library { codec: BZIP2, function: "BZ2_bzCompress", code: 0 }),
            }
        }
    }
}

/// Decompresses blocks.
pub(crate) struct Bzip2Decoder;

impl Decoder for Bzip2Decoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let bad = |reason| CodecError::Malformed { codec: BZIP2, size: src.len(), reason };
        let mut coder = Decompress::new(false);
        loop {
            let (taken, made) = (coder.total_in() as usize, coder.total_out() as usize);
            let status = coder.decompress(&src[taken..], &mut dst[made..]);
            let went_on = coder.total_in() as usize > taken || coder.total_out() as usize > made;
            match status {
                Ok(Status::StreamEnd) if coder.total_in() as usize == src.len() => break,
                Ok(Status::StreamEnd) => return Err(bad("bytes after the end of the stream")),
                Ok(Status::MemNeeded) => return Err(CodecError::OutOfMemory { codec: BZIP2 }),
                Ok(_) if went_on => {}
                Ok(_) if made == dst.len() => {
                    return Err(CodecError::TooLong { codec: BZIP2, size: src.len(), room: dst.len() });
                }
                Ok(_) => return Err(bad("ends too early")),
                Err(_) => return Err(bad("not a bzip2 stream, or its checksum is wrong")),
            }
        }
        Ok(coder.total_out() as usize)
    }
}
