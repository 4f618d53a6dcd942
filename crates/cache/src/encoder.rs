//! An encoder that compresses only blocks that are not found.

use std::sync::Arc;

use packline_codec::{CodecError, Outcome, Spec};

use crate::cache::{BlockCache, EntryLocation};
use crate::cluster::{Cluster, LargestBlock, split_list, with_list};
use crate::codec::{BlockCodec, CommonCodec, EncoderForm};
use crate::entry::{Entry, HEADER, MORE};
use crate::key::{ContentDigest, Key, KeyMaker, encoder_hash};
use crate::lookup::Lookup;

/// Looks blocks up, and compresses the others.
pub struct BlockEncoder {
    lookup: Lookup,
    codec: Box<dyn BlockCodec>,
    largest: LargestBlock,
    entries: Option<Entries>,
}

/// Digests of a block. They are computed when needed if they are not known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Digests {
    pub content: Option<ContentDigest>,
    /// Of a block that was joined from parts: a digest of the list of the parts' digests. The cache identifies such blocks by it, so that the
    /// joined block need not be hashed again.
    pub parts: Option<ContentDigest>,
}

/// Reads and adds entries of a cache.
struct Entries {
    cache: Arc<BlockCache>,
    largest: LargestBlock,
    keys: KeyMaker,
    /// The bytes of an entry.
    file: Vec<u8>,
}

/// A block, and where it is stored.
struct Target<'a> {
    src: &'a [u8],
    dst: &'a mut [u8],
    clusters: &'a mut Vec<Cluster>,
}

impl BlockEncoder {
    /// An encoder of the blocks of [`Spec::encoder`], of up to `block_size` bytes. Blocks are never looked up for [`Spec::None`].
    ///
    /// # Errors
    /// The cache has no decoder for the codec.
    pub fn new(lookup: &Lookup, spec: &Spec, block_size: usize) -> Result<BlockEncoder, CodecError> {
        let lookup = if matches!(spec, Spec::None) { Lookup::default() } else { lookup.clone() };
        let codec = CommonCodec::new(spec, block_size, lookup.cache.is_some())?;
        let form = EncoderForm { hash: encoder_hash(spec, block_size), largest: block_size.into() };
        Ok(BlockEncoder::of_codec(lookup, &form, Box::new(codec)))
    }

    /// An encoder of other blocks.
    #[must_use]
    pub fn of_codec(lookup: Lookup, form: &EncoderForm, codec: Box<dyn BlockCodec>) -> BlockEncoder {
        let largest = form.largest;
        let file = |cache| Entries {
            cache,
            largest,
            keys: KeyMaker::for_encoder(&form.hash),
            file: Vec::with_capacity(HEADER + largest.entry() + MORE),
        };
        let entries = lookup.cache.clone().map(file);
        BlockEncoder { lookup, codec, largest, entries }
    }

    /// Like [`packline_codec::Encoder::compress`]. `content` is the digest of `src`, if it is known.
    ///
    /// # Errors
    /// Errors of the codec.
    pub fn compress(
        &mut self,
        src: &[u8],
        content: Option<&ContentDigest>,
        dst: &mut [u8],
    ) -> Result<Outcome, CodecError> {
        self.compress_block(src, &Digests { content: content.copied(), parts: None }, dst)
    }

    /// Like [`BlockEncoder::compress`], with all digests that are known.
    ///
    /// # Errors
    /// Errors of the codec.
    pub fn compress_block(&mut self, src: &[u8], digests: &Digests, dst: &mut [u8]) -> Result<Outcome, CodecError> {
        self.compress_clusters(src, digests, dst, &mut Vec::new())
    }

    /// Like [`BlockEncoder::compress_block`]. Adds the clusters to an empty list, if blocks are stored in clusters.
    ///
    /// # Errors
    /// Errors of the codec.
    pub fn compress_clusters(
        &mut self,
        src: &[u8],
        digests: &Digests,
        dst: &mut [u8],
        clusters: &mut Vec<Cluster>,
    ) -> Result<Outcome, CodecError> {
        let looks_up = self.looks_up(src, dst);
        let mut target = Target { src, dst, clusters };
        if !looks_up {
            return self.encode(&mut target);
        }
        let mut content = digests.content;
        if !self.lookup.known.is_empty() {
            let content = content.get_or_insert_with(|| ContentDigest::of(src));
            let found = self.lookup.find_known(content, &mut target.dst[..src.len()], target.clusters);
            if let Some(outcome) = found {
                return Ok(outcome);
            }
        }
        let key = self.entries.as_ref().map(|entries| match &digests.parts {
            Some(parts) => entries.keys.key_of_parts(parts),
            None => entries.keys.key(&content.unwrap_or_else(|| ContentDigest::of(src))),
        });
        self.find_or_encode(key, &mut target)
    }

    /// A block that is too large is passed to the encoder, which returns the error.
    fn looks_up(&self, src: &[u8], dst: &[u8]) -> bool {
        !self.lookup.is_empty() && src.len() <= self.largest.bytes && dst.len() >= src.len()
    }

    /// `key` is `None` without a cache.
    fn find_or_encode(&mut self, key: Option<Key>, target: &mut Target<'_>) -> Result<Outcome, CodecError> {
        if self.entries.as_ref().is_some_and(|entries| entries.cache.wants_time()) {
            self.encode(target)?;
            target.clusters.clear();
        }
        let (Some(entries), Some(key)) = (&mut self.entries, key) else { return self.encode(target) };
        if let Some(outcome) = entries.look_up(&key, self.codec.as_mut(), target) {
            return Ok(outcome);
        }
        let outcome = self.encode(target)?;
        if let Some(entries) = &self.entries {
            entries.add(&key, outcome, target);
        }
        Ok(outcome)
    }

    fn encode(&mut self, target: &mut Target<'_>) -> Result<Outcome, CodecError> {
        let Target { src, dst, clusters } = target;
        match &self.entries {
            Some(entries) => entries.cache.timed(src.len(), || self.codec.encode(src, dst, clusters)),
            None => self.codec.encode(src, dst, clusters),
        }
    }
}

impl Entries {
    /// Finds a block in the cache. Removes a wrong entry.
    fn look_up(&mut self, key: &Key, codec: &mut dyn BlockCodec, target: &mut Target<'_>) -> Option<Outcome> {
        let bytes = target.src.len();
        for location in [EntryLocation::Local, EntryLocation::Remote] {
            self.cache.read(location, key, self.largest.entry(), &mut self.file);
            if self.file.is_empty() {
                continue;
            }
            let entry = Entry::parse(key, &self.file);
            match entry.and_then(|entry| Some((entry, self.check(entry, codec, target)?))) {
                Some((entry, outcome)) => {
                    log::trace!("cache: block of {bytes} bytes: found {}", location.in_words());
                    self.cache.found(location, key, entry);
                    return Some(outcome);
                }
                None => self.cache.damaged(location, key),
            }
        }
        log::trace!("cache: block of {bytes} bytes: not found");
        self.cache.count_missed();
        None
    }

    /// Copies the block of an entry to the target. `None` if the entry is not of the target's content.
    fn check(&self, entry: Entry<'_>, codec: &mut dyn BlockCodec, target: &mut Target<'_>) -> Option<Outcome> {
        let Entry::Compressed(bytes) = entry else { return Some(Outcome::NotSmaller) };
        let (mut clusters, block) = if self.largest.clusters > 0 { split_list(bytes)? } else { (Vec::new(), bytes) };
        if block.len() >= target.src.len() || !codec.is_block_of(target.src, block, &clusters) {
            return None;
        }
        target.dst[..block.len()].copy_from_slice(block);
        target.clusters.append(&mut clusters);
        Some(Outcome::Smaller(block.len()))
    }

    /// Adds the encoded block of a target.
    fn add(&self, key: &Key, outcome: Outcome, target: &Target<'_>) {
        match outcome {
            Outcome::NotSmaller => self.cache.add(key, Entry::NotSmaller),
            Outcome::Smaller(size) if self.largest.clusters > 0 => {
                self.cache.add(key, Entry::Compressed(&with_list(target.clusters, &target.dst[..size])));
            }
            Outcome::Smaller(size) => self.cache.add(key, Entry::Compressed(&target.dst[..size])),
        }
    }
}
