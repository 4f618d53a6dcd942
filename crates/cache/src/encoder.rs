//! An encoder that compresses only what is not known.

use std::sync::Arc;

use packline_codec::{CodecError, Decoder, Encoder, Outcome, Spec};

use crate::cache::{BlockCache, Place};
use crate::entry::{Entry, HEADER, MORE};
use crate::key::{ContentDigest, Key, KeyMaker};
use crate::lookup::Lookup;

/// Compresses blocks as [`Spec::encoder`] does, after looking them up.
pub struct BlockEncoder {
    lookup: Lookup,
    spec: Spec,
    block_size: usize,
    /// Made for the first block that is not found.
    encoder: Option<Box<dyn Encoder>>,
    entries: Option<Entries>,
}

/// Reads and adds entries of a cache.
struct Entries {
    cache: Arc<BlockCache>,
    spec: Spec,
    block_size: usize,
    keys: KeyMaker,
    decoder: Box<dyn Decoder>,
    /// The bytes of an entry.
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

impl BlockEncoder {
    /// For blocks of up to `block_size` bytes. Blocks are never looked up for [`Spec::None`].
    ///
    /// # Errors
    /// Returns an error if the cache has no decoder for the codec.
    pub fn new(lookup: &Lookup, spec: &Spec, block_size: usize) -> Result<BlockEncoder, CodecError> {
        let lookup = if matches!(spec, Spec::None) { Lookup::default() } else { lookup.clone() };
        let entries = lookup.cache.clone().map(|cache| Entries::new(cache, spec, block_size)).transpose()?;
        Ok(BlockEncoder { lookup, spec: spec.clone(), block_size, encoder: None, entries })
    }

    /// As [`Encoder::compress`]. `content` is the digest of `src`, if it is known; else it is computed if it is needed.
    ///
    /// # Errors
    /// Those of the encoder.
    pub fn compress(
        &mut self,
        src: &[u8],
        content: Option<&ContentDigest>,
        dst: &mut [u8],
    ) -> Result<Outcome, CodecError> {
        if !self.looks_up(src, dst) {
            return self.encode(src, dst);
        }
        let content = content.map_or_else(|| ContentDigest::of(src), |content| *content);
        if let Some(outcome) = self.lookup.find_known(&content, &mut dst[..src.len()]) {
            return Ok(outcome);
        }
        let key = self.entries.as_ref().map(|entries| entries.keys.key(&content));
        self.find_or_encode(src, key, dst)
    }

    /// As [`BlockEncoder::compress`], for a block that was joined of parts. `parts` is a digest of the list of their digests: the cache has such
    /// blocks by that, so that they need not be hashed again as a whole.
    ///
    /// # Errors
    /// Those of the encoder.
    pub fn compress_joined(
        &mut self,
        src: &[u8],
        content: Option<&ContentDigest>,
        parts: &ContentDigest,
        dst: &mut [u8],
    ) -> Result<Outcome, CodecError> {
        if !self.looks_up(src, dst) {
            return self.encode(src, dst);
        }
        if !self.lookup.known.is_empty() {
            let content = content.map_or_else(|| ContentDigest::of(src), |content| *content);
            if let Some(outcome) = self.lookup.find_known(&content, &mut dst[..src.len()]) {
                return Ok(outcome);
            }
        }
        let key = self.entries.as_ref().map(|entries| entries.keys.key_of_parts(parts));
        self.find_or_encode(src, key, dst)
    }

    /// A block that is too large is left to the encoder, which refuses it.
    fn looks_up(&self, src: &[u8], dst: &[u8]) -> bool {
        !self.lookup.is_empty() && src.len() <= self.block_size && dst.len() >= src.len()
    }

    /// `key` is that of the block if there is a cache.
    fn find_or_encode(&mut self, src: &[u8], key: Option<Key>, dst: &mut [u8]) -> Result<Outcome, CodecError> {
        if self.entries.as_ref().is_some_and(|entries| entries.cache.wants_time()) {
            self.encode(src, dst)?;
        }
        let (Some(entries), Some(key)) = (&mut self.entries, key) else { return self.encode(src, dst) };
        if let Some(outcome) = entries.look_up(&key, src, dst) {
            return Ok(outcome);
        }
        let outcome = self.encode(src, dst)?;
        if let Some(entries) = &self.entries {
            entries.cache.add(&key, entry_of(outcome, dst));
        }
        Ok(outcome)
    }

    fn encode(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Outcome, CodecError> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(self.spec.encoder(self.block_size)?),
        };
        match &self.entries {
            Some(entries) => entries.cache.timed(src.len(), || encoder.compress(src, dst)),
            None => encoder.compress(src, dst),
        }
    }
}

impl Entries {
    fn new(cache: Arc<BlockCache>, spec: &Spec, block_size: usize) -> Result<Entries, CodecError> {
        let keys = KeyMaker::new(spec, block_size);
        let decoder = spec.decoder(block_size, spec.footprint(block_size).decoder)?;
        let file = Vec::with_capacity(HEADER + block_size + MORE);
        let decoded = vec![0; block_size];
        Ok(Entries { cache, spec: spec.clone(), block_size, keys, decoder, file, decoded })
    }

    /// What the cache has for a block; a wrong entry is removed.
    fn look_up(&mut self, key: &Key, src: &[u8], dst: &mut [u8]) -> Option<Outcome> {
        for place in [Place::Local, Place::Remote] {
            self.cache.read(place, key, self.block_size, &mut self.file);
            match self.check(key, src, dst) {
                Found::Yes(outcome) => {
                    self.cache.found(place, key, entry_of(outcome, dst));
                    return Some(outcome);
                }
                Found::No => {}
                Found::Damaged => self.cache.damaged(place, key),
            }
        }
        self.cache.count_missed();
        None
    }

    /// Whether the entry that was read is of this block; the block goes to `dst`.
    fn check(&mut self, key: &Key, src: &[u8], dst: &mut [u8]) -> Found {
        if self.file.is_empty() {
            return Found::No;
        }
        match Entry::parse(key, &self.file) {
            Some(Entry::NotSmaller) => Found::Yes(Outcome::NotSmaller),
            Some(Entry::Compressed(block)) if block.len() < src.len() => {
                let decoded = &mut self.decoded[..src.len()];
                // A block with other filters could decode to the right content here, and nowhere else.
                let asked = self.spec.check_parameters(self.block_size, block);
                match asked.and_then(|()| self.decoder.decompress(block, decoded)) {
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
}

/// The entry for a block in `dst`.
fn entry_of(outcome: Outcome, dst: &[u8]) -> Entry<'_> {
    match outcome {
        Outcome::Smaller(size) => Entry::Compressed(&dst[..size]),
        Outcome::NotSmaller => Entry::NotSmaller,
    }
}
