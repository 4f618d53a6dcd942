//! An encoder that compresses only blocks that are not found.

use std::sync::Arc;

use packline_codec::{CodecError, Decoder, Encoder, Outcome, Spec};

use crate::cache::{BlockCache, EntryLocation};
use crate::entry::{Entry, HEADER, MORE};
use crate::key::{ContentDigest, Key, KeyMaker};
use crate::lookup::Lookup;

/// Looks blocks up, and compresses the others like [`Spec::encoder`].
pub struct BlockEncoder {
    lookup: Lookup,
    spec: Spec,
    block_size: usize,
    /// Created for the first block that is not found.
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
    /// The decoded content of a block that was found.
    decoded: Vec<u8>,
}

enum CacheLookup {
    Yes(Outcome),
    No,
    /// There is an entry, but it is wrong.
    Damaged,
}

impl BlockEncoder {
    /// An encoder for blocks of up to `block_size` bytes. Blocks are never looked up for [`Spec::None`].
    ///
    /// # Errors
    /// The cache has no decoder for the codec.
    pub fn new(lookup: &Lookup, spec: &Spec, block_size: usize) -> Result<BlockEncoder, CodecError> {
        let lookup = if matches!(spec, Spec::None) { Lookup::default() } else { lookup.clone() };
        let entries = lookup.cache.clone().map(|cache| Entries::new(cache, spec, block_size)).transpose()?;
        Ok(BlockEncoder { lookup, spec: spec.clone(), block_size, encoder: None, entries })
    }

    /// Like [`Encoder::compress`]. `content` is the digest of `src`, if it is known; if not, it is computed when needed.
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

    /// Like [`BlockEncoder::compress`], for a block that was joined from parts. `parts` is a digest of the list of their digests.
    /// The cache identifies such blocks by `parts`, so that the joined block need not be hashed again.
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

    /// A block that is too large is passed to the encoder, which returns the error.
    fn looks_up(&self, src: &[u8], dst: &[u8]) -> bool {
        !self.lookup.is_empty() && src.len() <= self.block_size && dst.len() >= src.len()
    }

    /// `key` is `None` without a cache.
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

    /// Finds a block in the cache. Removes a wrong entry.
    fn look_up(&mut self, key: &Key, src: &[u8], dst: &mut [u8]) -> Option<Outcome> {
        for location in [EntryLocation::Local, EntryLocation::Remote] {
            self.cache.read(location, key, self.block_size, &mut self.file);
            match self.check(key, src, dst) {
                CacheLookup::Yes(outcome) => {
                    log::trace!("cache: block of {} bytes: found {}", src.len(), location.in_words());
                    self.cache.found(location, key, entry_of(outcome, dst));
                    return Some(outcome);
                }
                CacheLookup::No => {}
                CacheLookup::Damaged => self.cache.damaged(location, key),
            }
        }
        log::trace!("cache: block of {} bytes: not found", src.len());
        self.cache.count_missed();
        None
    }

    /// Checks whether the entry that was read is of this block, and copies the block to `dst`.
    fn check(&mut self, key: &Key, src: &[u8], dst: &mut [u8]) -> CacheLookup {
        if self.file.is_empty() {
            return CacheLookup::No;
        }
        match Entry::parse(key, &self.file) {
            Some(Entry::NotSmaller) => CacheLookup::Yes(Outcome::NotSmaller),
            Some(Entry::Compressed(block)) if block.len() < src.len() => {
                let decoded = &mut self.decoded[..src.len()];
                // A block with other filters could decode to the right content here but nowhere else.
                let asked = self.spec.check_parameters(self.block_size, block);
                match asked.and_then(|()| self.decoder.decompress(block, decoded)) {
                    Ok(length) if length == src.len() && decoded == src => {
                        dst[..block.len()].copy_from_slice(block);
                        CacheLookup::Yes(Outcome::Smaller(block.len()))
                    }
                    _ => CacheLookup::Damaged,
                }
            }
            _ => CacheLookup::Damaged,
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
