//! An encoder that compresses only what is not in the cache.

use std::sync::Arc;

use packline_codec::{CodecError, Decoder, Encoder, Outcome, Spec};

use crate::cache::BlockCache;
use crate::entry::{Entry, HEADER};
use crate::key::{Key, KeyMaker};

pub struct CachedEncoder {
    cache: Arc<BlockCache>,
    spec: Spec,
    block_size: usize,
    keys: KeyMaker,
    /// Made for the first block that is not found.
    encoder: Option<Box<dyn Encoder>>,
    decoder: Box<dyn Decoder>,
    /// The file of an entry.
    file: Vec<u8>,
    /// What a block that was found decodes to.
    decoded: Vec<u8>,
}

/// What the cache says of a block.
enum Found {
    Yes(Outcome),
    No,
    /// There is an entry that is wrong.
    Damaged,
}

impl CachedEncoder {
    pub fn new(cache: Arc<BlockCache>, spec: Spec, block_size: usize) -> Result<CachedEncoder, CodecError> {
        spec.validate(block_size)?;
        let keys = KeyMaker::new(&spec, block_size);
        let decoder = spec.decoder(block_size, spec.footprint(block_size).decoder)?;
        // One byte more than the largest entry is read, to see that a file is no larger.
        let (file, decoded) = (Vec::with_capacity(HEADER + block_size + 1), vec![0; block_size]);
        Ok(CachedEncoder { cache, spec, block_size, keys, encoder: None, decoder, file, decoded })
    }

    fn find(&mut self, key: &Key, src: &[u8], dst: &mut [u8]) -> Found {
        self.cache.read(key, self.block_size, &mut self.file);
        if self.file.is_empty() {
            return Found::No;
        }
        match Entry::parse(key, &self.file) {
            Some(Entry::NotSmaller) => Found::Yes(Outcome::NotSmaller),
            Some(Entry::Compressed(block)) if block.len() < src.len() => {
                let decoded = &mut self.decoded[..src.len()];
                match self.decoder.decompress(block, decoded) {
                    Ok(length) if length == src.len() && decoded == src => {
                        dst[..block.len()].copy_from_slice(block);
                        Found::Yes(Outcome::Smaller(block.len()))
                    }
                    _ => Found::Damaged,
                }
            }
            _ => Found::Damaged,
        }
    }

    fn encode(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Outcome, CodecError> {
        match &mut self.encoder {
            Some(encoder) => encoder.compress(src, dst),
            none => none.insert(self.spec.encoder(self.block_size)?).compress(src, dst),
        }
    }
}

impl Encoder for CachedEncoder {
    fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Outcome, CodecError> {
        // Left to the encoder, which refuses it.
        if src.len() > self.block_size || dst.len() < src.len() {
            return self.encode(src, dst);
        }
        let key = self.keys.key(src);
        match self.find(&key, src, dst) {
            Found::Yes(outcome) => {
                self.cache.count_found();
                return Ok(outcome);
            }
            Found::No => {}
            Found::Damaged => self.cache.remove_damaged(&key),
        }
        self.cache.count_missed();
        let outcome = self.encode(src, dst)?;
        self.cache.add(
            &key,
            match outcome {
                Outcome::Smaller(size) => Entry::Compressed(&dst[..size]),
                Outcome::NotSmaller => Entry::NotSmaller,
            },
        );
        Ok(outcome)
    }
}
