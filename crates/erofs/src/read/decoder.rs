//! Reads and decodes clusters.

use std::sync::Arc;

use packline_codec::{BareCodec, BareDecoder, BlockPart, CodecError};
use packline_runtime::TaskError;
use packline_volume::{ReadError, Unit, UnitDecoder};

use super::map::window::ReadBytes;
use super::map::{Coded, MapImage};
use crate::format::cluster::without_padding;

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

    /// Returns the compressed bytes of a unit without the zeros before them.
    fn unpadded<'s>(&self, unit: Unit, stored: &'s [u8]) -> Result<&'s [u8], ReadError> {
        if !self.image.zero_padding {
            return Ok(stored);
        }
        let block = 1u64 << self.image.block_bits;
        let first = (block - unit.offset % block).min(stored.len() as u64) as usize;
        without_padding(stored, first).ok_or_else(|| {
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
        let coded = self.unpadded(unit, stored)?;
        // Old programs wrote lz4 at the start of its blocks, with other bytes after it.
        let is_at_start = !self.image.zero_padding && self.image.algorithms.codec(algorithm) == Some(BareCodec::Lz4);
        let part = if is_partial || is_at_start { BlockPart::Start } else { BlockPart::Whole };
        self.decoder(unit, algorithm)?.fill(coded, out, part).map_err(|error| failed(unit, &error))
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

#[cfg(test)]
mod tests {
    use packline_codec::{Outcome, Spec};
    use packline_testkit::Random;
    use packline_volume::PLAIN;

    use super::*;
    use crate::format::algorithms::Algorithms;

    const BLOCK: usize = 512;

    #[derive(Debug)]
    struct Bytes(Vec<u8>);

    impl ReadBytes for Bytes {
        fn read(&self, address: u64, out: &mut [u8]) -> Result<(), ReadError> {
            out.copy_from_slice(&self.0[address as usize..address as usize + out.len()]);
            Ok(())
        }
    }

    fn content() -> Vec<u8> {
        Random::new(1).prose(3000)
    }

    fn packed() -> Vec<u8> {
        let plain = content();
        let mut out = vec![0; plain.len()];
        let spec = Spec::parse("lz4").unwrap();
        let Outcome::Smaller(size) = spec.encoder(plain.len()).unwrap().compress(&plain, &mut out).unwrap() else {
            panic!("not smaller")
        };
        out.truncate(size);
        out
    }

    fn decoder(bytes: Vec<u8>, zero_padding: bool) -> ClusterDecoder {
        let end = bytes.len() as u64;
        let image = MapImage { block_bits: 9, algorithms: Algorithms::for_tests(), end, zero_padding };
        ClusterDecoder::new(Arc::new(Bytes(bytes)), &image)
    }

    /// Returns the unit of all bytes from a block on.
    fn unit(offset: usize, bytes: &[u8], length: usize, is_partial: bool) -> Unit {
        let form = Coded { algorithm: 0, is_partial }.number();
        Unit { offset: offset as u64, stored: (bytes.len() - offset) as u32, length: length as u32, form }
    }

    fn decoded(decoder: &mut ClusterDecoder, unit: Unit) -> Result<Vec<u8>, ReadError> {
        let mut out = Vec::new();
        decoder.own(unit, &mut out)?;
        decoder.load(unit.offset, unit.stored as usize)?;
        let mut again = vec![0; unit.length as usize];
        assert_eq!(decoder.decode_loaded(unit, 0, &mut again)?, out.len());
        assert_eq!(again, out);
        Ok(out)
    }

    #[test]
    fn zeros_before_a_cluster_are_in_its_first_block() {
        let packed = packed();
        for (zeros, is_valid) in [(0, true), (1, true), (BLOCK - 1, true), (BLOCK, false), (BLOCK + 1, false)] {
            let bytes = [vec![0xff; BLOCK], vec![0; zeros], packed.clone()].concat();
            let unit = unit(BLOCK, &bytes, 3000, false);
            let found = decoded(&mut decoder(bytes, true), unit);
            assert_eq!(found.as_ref().ok(), is_valid.then(content).as_ref(), "{zeros} zeros");
        }
        let bytes = vec![0; 2 * BLOCK];
        let error = decoded(&mut decoder(bytes.clone(), true), unit(0, &bytes, 10, false)).unwrap_err().to_string();
        assert!(error.contains("cluster of 1024 bytes with 512 zeros at its start"), "{error}");
        // Clusters that do not start with a block have fewer bytes in it.
        let bytes = [vec![0xff; BLOCK - 2], vec![0; 2], packed].concat();
        assert!(decoded(&mut decoder(bytes.clone(), true), unit(BLOCK - 2, &bytes, 3000, false)).is_err());
        assert!(decoded(&mut decoder(bytes.clone(), true), unit(BLOCK - 1, &bytes, 3000, false)).is_err());
        assert!(decoded(&mut decoder(bytes.clone(), true), unit(BLOCK, &bytes, 3000, false)).is_ok());
    }

    #[test]
    fn parts_of_a_cluster_are_shorter() {
        let packed = packed();
        let mut decoder = decoder(packed.clone(), true);
        assert!(decoded(&mut decoder, unit(0, &packed, 2999, true)).unwrap() == content()[..2999]);
        assert!(decoded(&mut decoder, unit(0, &packed, 2999, false)).is_err());
        assert!(decoded(&mut decoder, unit(0, &packed, 3001, true)).is_err());
    }

    #[test]
    fn other_bytes_may_follow_lz4_of_old_programs() {
        let bytes = [packed(), vec![0xa5; 100]].concat();
        assert!(decoded(&mut decoder(bytes.clone(), false), unit(0, &bytes, 3000, false)).unwrap() == content());
        assert!(decoded(&mut decoder(bytes.clone(), true), unit(0, &bytes, 3000, false)).is_err());
    }

    #[test]
    fn plain_units_are_read_in_parts() {
        let bytes = Random::new(2).noise(1000);
        let mut decoder = decoder(bytes.clone(), true);
        let unit = Unit { offset: 100, stored: 300, length: 300, form: PLAIN };
        assert!(decoded(&mut decoder, unit).unwrap() == bytes[100..400]);
        let mut part = [0; 10];
        decoder.plain_part(unit, 290, &mut part).unwrap();
        assert_eq!(part, bytes[390..400]);
        assert!(decoder.plain_part(unit, 291, &mut part).is_err());
    }
}
