//! Reads and decodes clusters.

use std::sync::Arc;

use packline_codec::{BareCodec, BareDecoder, BlockPart, CodecError};
use packline_runtime::TaskError;
use packline_volume::{ReadError, Unit, UnitDecoder};

use super::map::window::ReadBytes;
use super::map::{Coded, MapImage};

/// Reads and decodes single units of an image; for use by one thread. Holds the stored bytes of the current units in addition to its decoders.
pub(crate) struct ClusterDecoder {
    input: Arc<dyn ReadBytes>,
    image: MapImage,
    /// The decoders of the algorithms in use.
    decoders: Vec<(u8, BareDecoder)>,
    /// Stored bytes of the current units.
    stored: Vec<u8>,
}

impl std::fmt::Debug for ClusterDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterDecoder").field("image", &self.image).finish_non_exhaustive()
    }
}

impl ClusterDecoder {
    pub(crate) fn new(input: Arc<dyn ReadBytes>, image: &MapImage) -> ClusterDecoder {
        ClusterDecoder { input, image: *image, decoders: Vec::new(), stored: Vec::new() }
    }

    /// Upper bound in bytes of the memory of a decoder without stored bytes.
    pub(crate) fn memory(image: &MapImage) -> u64 {
        image.algorithms.codecs().map(|codec| codec.memory() as u64).sum()
    }

    fn decoder(&mut self, unit: Unit, algorithm: u8) -> Result<&mut BareDecoder, ReadError> {
        let known = self.decoders.iter().position(|(number, _)| *number == algorithm);
        let index = match known {
            Some(index) => index,
            None => {
                let codec = self.image.algorithms.codec(algorithm);
                let codec = codec.ok_or_else(|| ReadError::internal(format!("a unit of algorithm {algorithm}")))?;
                let made = codec.decoder().map_err(|error| failed(unit, &error))?;
                self.decoders.push((algorithm, made));
                self.decoders.len() - 1
            }
        };
        let decoder = self.decoders.get_mut(index).map(|(_, decoder)| decoder);
        decoder.ok_or_else(|| ReadError::internal("no decoder".into()))
    }

    /// Returns the number of zeros before the compressed bytes of a unit. They all are in its first block.
    fn padding(&self, unit: Unit, stored: &[u8]) -> Result<usize, ReadError> {
        if !self.image.zero_padding {
            return Ok(0);
        }
        let block = 1u64 << self.image.block_bits;
        let first = (block - unit.offset % block).min(stored.len() as u64) as usize;
        let zeros = stored.iter().take(first).position(|byte| *byte != 0);
        zeros.ok_or_else(|| {
            let what = format!("cluster of {} bytes with {first} zeros at its start", unit.stored);
            ReadError::corrupt(unit.offset, what, "compressed bytes in its first block")
        })
    }

    /// Decodes the unit at index `at` of the loaded bytes.
    fn unpack(&mut self, unit: Unit, at: usize, out: &mut [u8]) -> Result<usize, ReadError> {
        let length = unit.length as usize;
        let space = out.len();
        let Some(out) = out.get_mut(..length) else {
            return Err(ReadError::internal(format!("unit of {length} bytes for {space}")));
        };
        // The bytes are moved out, because the decoder belongs to `self`, too.
        let stored = std::mem::take(&mut self.stored);
        let decoded = self.unpack_from(unit, stored.get(at..at + unit.stored as usize), out);
        self.stored = stored;
        decoded.map(|()| length)
    }

    fn unpack_from(&mut self, unit: Unit, stored: Option<&[u8]>, out: &mut [u8]) -> Result<(), ReadError> {
        let Some(stored) = stored else { return Err(ReadError::internal("a unit that was not loaded".into())) };
        let Some(Coded { algorithm, is_partial }) = Coded::of_number(unit.form) else {
            return plain(unit, stored, out);
        };
        let padding = self.padding(unit, stored)?;
        // Old programs wrote lz4 at the start of its blocks, with other bytes after it.
        let is_at_start = !self.image.zero_padding && self.image.algorithms.codec(algorithm) == Some(BareCodec::Lz4);
        let part = if is_partial || is_at_start { BlockPart::Start } else { BlockPart::Whole };
        let stored = stored.get(padding..).unwrap_or(&[]);
        self.decoder(unit, algorithm)?.fill(stored, out, part).map_err(|error| failed(unit, &error))
    }
}

fn plain(unit: Unit, stored: &[u8], out: &mut [u8]) -> Result<(), ReadError> {
    if stored.len() != out.len() {
        return Err(ReadError::internal(format!("a plain unit of {} bytes, {} stored", unit.length, unit.stored)));
    }
    out.copy_from_slice(stored);
    Ok(())
}

fn failed(unit: Unit, error: &CodecError) -> ReadError {
    match error {
        CodecError::Malformed { .. } | CodecError::TooLong { .. } | CodecError::Memory { .. } => {
            ReadError::corrupt(unit.offset, error.to_string(), format!("a cluster of {} bytes", unit.length))
        }
        CodecError::OutOfMemory { .. } => ReadError::unsupported(error.to_string(), "memory for a decoder"),
        other => ReadError::internal(other.to_string()),
    }
}

impl UnitDecoder for ClusterDecoder {
    fn decode(&mut self, unit: Unit, out: &mut [u8]) -> Result<usize, ReadError> {
        let length = unit.length as usize;
        if unit.is_plain() && unit.stored == unit.length && length <= out.len() {
            self.input.read(unit.offset, &mut out[..length])?;
            return Ok(length);
        }
        self.load(unit.offset, unit.stored as usize)?;
        self.unpack(unit, 0, out)
    }

    fn load(&mut self, offset: u64, length: usize) -> Result<(), ReadError> {
        self.stored.resize(length, 0);
        self.input.read(offset, &mut self.stored)
    }

    fn loaded(&self, at: usize, unit: Unit) -> &[u8] {
        let end = (at + unit.stored as usize).min(self.stored.len());
        &self.stored[at.min(end)..end]
    }

    fn decode_loaded(&mut self, unit: Unit, at: usize, out: &mut [u8]) -> Result<usize, ReadError> {
        self.unpack(unit, at, out)
    }

    fn plain_part(&mut self, unit: Unit, start: usize, out: &mut [u8]) -> Result<(), ReadError> {
        if !unit.is_plain() || start.saturating_add(out.len()) > unit.stored as usize {
            return Err(ReadError::internal(format!("byte {start} is not in the plain unit at byte {}", unit.offset)));
        }
        self.input.read(unit.offset + start as u64, out)
    }
}
