//! The decoders of a worker.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use packline_codec::{Decoder, Spec};

use crate::{CodecId, Error, RecordSize};

/// Largest dictionary that any record may need, however short it is, bytes.
const DICTIONARY: usize = 1 << 20;
/// Memory of decoders without their dictionaries.
const BESIDES: usize = 512 << 10;

/// A decoder of each codec used so far; of those that need much memory only the last one.
#[derive(Default)]
pub(super) struct Decoders {
    made: BTreeMap<CodecId, Box<dyn Decoder>>,
}

impl Decoders {
    /// The decoder of a codec.
    ///
    /// # Errors
    /// [`Error::Codec`] for lack of memory.
    pub(super) fn of(&mut self, codec: CodecId, record_size: RecordSize) -> Result<&mut dyn Decoder, Error> {
        if is_large(codec) && !self.made.contains_key(&codec) {
            self.made.retain(|&other, _| !is_large(other));
        }
        match self.made.entry(codec) {
            Entry::Occupied(place) => Ok(place.into_mut().as_mut()),
            Entry::Vacant(place) => {
                let decoder = Spec::parse(codec.name())?.decoder(record_size.bytes(), limit(codec, record_size)?)?;
                Ok(place.insert(decoder).as_mut())
            }
        }
    }

    /// Upper bound of the memory of all of them.
    ///
    /// # Errors
    /// None, except for a bug.
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

/// Memory limit of a decoder.
fn limit(codec: CodecId, record_size: RecordSize) -> Result<usize, Error> {
    Ok(footprint(codec, record_size)?.max(DICTIONARY + BESIDES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_codec_has_one_and_few_are_kept() {
        let mut decoders = Decoders::default();
        for codec in CodecId::ALL.into_iter().chain(CodecId::ALL) {
            decoders.of(codec, RecordSize::MIN).unwrap();
        }
        assert_eq!(decoders.made.len(), CodecId::ALL.len() - 2);
        assert!(Decoders::memory(RecordSize::MAX).unwrap() < 20 << 20);
    }
}
