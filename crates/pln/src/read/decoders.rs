//! The decoders of a worker.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use packline_codec::{Decoder, Spec};

use crate::{CodecId, Error, RecordSize};

/// The largest dictionary that a record may need, even if the record is shorter, in bytes.
const DICTIONARY: usize = 1 << 20;
/// Memory of a decoder without its dictionary, in bytes.
const BESIDES: usize = 512 << 10;

/// The decoders of the codecs used so far. Only the last decoder that needs much memory is kept.
#[derive(Default)]
pub(super) struct Decoders {
    made: BTreeMap<CodecId, Box<dyn Decoder>>,
}

impl Decoders {
    /// Returns the decoder of a codec.
    ///
    /// # Errors
    /// [`Error::Codec`] if there is not enough memory.
    pub(super) fn of(&mut self, codec: CodecId, record_size: RecordSize) -> Result<&mut dyn Decoder, Error> {
        if is_large(codec) && !self.made.contains_key(&codec) {
            self.made.retain(|&other, _| !is_large(other));
        }
        match self.made.entry(codec) {
            Entry::Occupied(slot) => Ok(slot.into_mut().as_mut()),
            Entry::Vacant(slot) => {
                let decoder = Spec::parse(codec.name())?.decoder(record_size.bytes(), limit(codec, record_size)?)?;
                Ok(slot.insert(decoder).as_mut())
            }
        }
    }

    /// Returns an upper bound for the memory of all decoders, in bytes.
    ///
    /// # Errors
    /// Never returns an error, unless this program has a bug.
    pub(super) fn memory(record_size: RecordSize) -> Result<usize, Error> {
        let mut small = 0;
        let mut large = 0;
        for codec in CodecId::ALL {
            let limit = limit(codec, record_size)?;
            if is_large(codec) { large = limit.max(large) } else { small += footprint(codec, record_size)? }
        }
        Ok(small + large)
    }
}

fn is_large(codec: CodecId) -> bool {
    matches!(codec, CodecId::Lzma | CodecId::Xz | CodecId::Bzip2)
}

fn footprint(codec: CodecId, record_size: RecordSize) -> Result<usize, Error> {
    Ok(Spec::parse(codec.name())?.footprint(record_size.bytes()).decoder)
}

/// Returns the memory limit of a decoder in bytes.
fn limit(codec: CodecId, record_size: RecordSize) -> Result<usize, Error> {
    Ok(footprint(codec, record_size)?.max(DICTIONARY + BESIDES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_every_codec_and_keeps_few_decoders() {
        let mut decoders = Decoders::default();
        for codec in CodecId::ALL.into_iter().chain(CodecId::ALL) {
            decoders.of(codec, RecordSize::MIN).unwrap();
        }
        assert_eq!(decoders.made.len(), CodecId::ALL.len() - 2);
        assert!(Decoders::memory(RecordSize::MAX).unwrap() < 20 << 20);
    }
}
