//! Compresses blocks: one segment without a name, a comment or a checksum, and no post-processing.

use super::NAME;
use super::coder::BitEncoder;
use super::fault::Fault;
use super::model::known::{HEADERS, Max, Mid, Min};
use super::model::{Predictor, memory_of_level};
use super::source::Source;
use crate::traits::{Bounded, Compressor};
use crate::{CodecError, Encoder, Footprint, Outcome};

/// Start of a block: the name of the format, its level, and the type of its programs.
pub(super) const START: [u8; 5] = *b"zPQ\x01\x01";

/// Start of a segment: no name, no comment, a reserved zero.
const SEGMENT: [u8; 4] = [1, 0, 0, 0];

/// The ends of the coded data, of a segment without a checksum, and of a block.
const END: [u8; 6] = [0, 0, 0, 0, 254, 255];

/// Allowance for allocator overhead and small structures of each model.
const SLACK: usize = 64 * 1024;

/// Compresses blocks with one of the three models of libzpaq before version 6, byte for byte as `lrzip -z` does.
pub struct ZpaqEncoder(Bounded<ZpaqCompressor>);

impl ZpaqEncoder {
    /// An encoder of level 1 (`min`), 2 (`mid`) or 3 (`max`). Each call allocates its memory.
    ///
    /// # Errors
    /// The level is not 1, 2 or 3.
    pub fn new(level: u32) -> Result<Self, CodecError> {
        check(level)?;
        Ok(ZpaqEncoder(Bounded::new(ZpaqCompressor { level }, usize::MAX)))
    }

    /// Memory of an encoder of a level, and of a decoder of its output: about 38, 106 and 240 MiB, for any block size.
    ///
    /// # Errors
    /// The level is not 1, 2 or 3.
    pub fn footprint(level: u32) -> Result<Footprint, CodecError> {
        check(level)?;
        let model = usize::try_from(memory_of_level(level)).unwrap_or(usize::MAX);
        Ok(Footprint { encoder: model + SLACK, decoder: model + SLACK + Source::<&[u8]>::MEMORY })
    }
}

impl Encoder for ZpaqEncoder {
    fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Outcome, CodecError> {
        self.0.compress(src, dst)
    }
}

fn check(level: u32) -> Result<(), CodecError> {
    if (1..=3).contains(&level) {
        return Ok(());
    }
    let parameter = "level".to_owned();
    let found = level.to_string();
    Err(CodecError::Value { codec: NAME, parameter, found, expected: "1 to 3".to_owned() })
}

struct ZpaqCompressor {
    level: u32,
}

impl Compressor for ZpaqCompressor {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let header = HEADERS[self.level as usize - 1];
        let size = (header.len() as u16).to_le_bytes();
        let Some(start) = put(out, 0, &[&START, &size, header, &SEGMENT]) else {
            return Ok(None);
        };
        let coder = BitEncoder::new(out, start);
        let coded = match self.level {
            1 => code(&mut *Box::new(Min::new()), coder, src),
            2 => code(&mut *Box::new(Mid::new()), coder, src),
            _ => code(&mut *Box::new(Max::new()), coder, src),
        };
        let end = coded.map_err(|fault| fault.into_codec(src.len() as u64, 0))?;
        Ok(end.and_then(|end| put(out, end, &[&END])))
    }
}

/// Codes data. Returns the end of the output, or `None` if it does not fit.
fn code(model: &mut impl Predictor, mut coder: BitEncoder, src: &[u8]) -> Result<Option<usize>, Fault> {
    // The first byte says that no program precedes the data.
    coder.byte(model, 0)?;
    for &byte in src {
        coder.byte(model, byte)?;
        if !coder.fits() {
            return Ok(None);
        }
    }
    Ok(Some(coder.end()))
}

/// Writes parts into `out` from `at` on. Returns their end, or `None` if they do not fit.
fn put(out: &mut [u8], mut at: usize, parts: &[&[u8]]) -> Option<usize> {
    for part in parts {
        out.get_mut(at..at.checked_add(part.len())?)?.copy_from_slice(part);
        at += part.len();
    }
    Some(at)
}
