//! Base images: the new image reuses compressed blocks of an earlier image.
//!
//! Nothing in a base is trusted. When it is opened, its indexes are read (`segments.rs`), and all of its blocks are read and decoded on the workers
//! (`scan.rs`). Two hashes of each block are kept: of the stored bytes, and of the content. A block of the new image with the same content gets
//! the stored bytes, if they have the same hash when they are read again. No base can lead to wrong content, whether it is damaged, hostile or
//! changes during the run.
//!
//! The new image has the same bytes as without a base only if the same encoder wrote the blocks of the base. The record at the end of an image
//! (`format/record.rs`) names the encoder, and its checksum finds damage that no decoder notices. Other images are rejected: their indexes do not
//! say which clusters the encoder made of one segment.

mod fit;
mod scan;
mod segments;

use packline_cache::{Cluster, ContentDigest, KnownBlocks};
use packline_codec::Outcome;
use packline_volume::{BaseCounts, BaseError, BaseSettings, BaseUses};

use self::fit::own_record;
use self::scan::{Scanned, scan};
use self::segments::{Segment, Segments};
use crate::Options;
use crate::read::Image;
use crate::read::map::window::ReadBytes;
use crate::read::record::checksum;

/// The blocks of an earlier image.
#[derive(Debug)]
pub struct Base {
    image: Image,
    segments: Segments,
    /// Sorted by content, each content once.
    blocks: Vec<KnownBlock>,
    damaged: u64,
    uses: BaseUses,
}

/// A block or segment that was decoded.
#[derive(Debug, Clone, Copy)]
struct KnownBlock {
    /// Digest of the decoded bytes.
    content: ContentDigest,
    /// Digest of the bytes in the base.
    stored: ContentDigest,
    /// Index of the segment.
    segment: u32,
}

impl Base {
    /// Reads and decodes all blocks of an image, for a new image with `options`. Blocks that cannot be decoded are left out.
    ///
    /// # Errors
    /// [`BaseError::Fit`] for an image of another encoder, and for a damaged one; [`BaseError::Read`] if it cannot be read,
    /// [`BaseError::Memory`].
    pub fn open(image: &Image, options: &Options, settings: &BaseSettings) -> Result<Base, BaseError> {
        let found = own_record(image, options)?;
        let record = found.record;
        if checksum(image, found, &settings.engine.cancel)? != record.checksum {
            return Err(BaseError::fit("is damaged: its data does not match its checksum", ""));
        }
        let segments = Segments::of(image, options, found, settings)?;
        let Scanned { mut blocks, damaged } = scan(image, options, &segments, &settings.engine)?;
        // Compression of the others was never tried.
        blocks.retain(|block| record.all_tried || segments.list()[block.segment as usize].is_compressed);
        blocks.sort_by_key(|block| block.content);
        blocks.dedup_by_key(|block| block.content);
        Ok(Base { image: image.clone(), segments, blocks, damaged, uses: BaseUses::default() })
    }

    /// Bytes of memory.
    pub fn memory(&self) -> u64 {
        self.segments.memory() + (self.blocks.capacity() * size_of::<KnownBlock>()) as u64
    }

    pub fn counts(&self) -> BaseCounts {
        self.uses.counts(self.blocks.len() as u64, self.damaged, true)
    }

    /// Reads the stored bytes of a segment to the start of `dst`. Returns `None` if they differ from the bytes that were decoded.
    fn read(&self, segment: &Segment, digest: &ContentDigest, dst: &mut [u8]) -> Option<Outcome> {
        let stored = dst.get_mut(..segment.stored as usize)?;
        let (data, end) = stored.split_at_mut((segment.stored - segment.end.bytes) as usize);
        let store = self.image.contents().store();
        let read = store.read(segment.offset, data).and_then(|()| store.read(segment.end.offset, end));
        if read.is_err() || ContentDigest::of(stored) != *digest {
            self.uses.changed();
            return None;
        }
        Some(Outcome::Smaller(stored.len()))
    }
}

impl KnownBlocks for Base {
    fn find(&self, content: &ContentDigest, dst: &mut [u8], clusters: &mut Vec<Cluster>) -> Option<Outcome> {
        let index = self.blocks.binary_search_by_key(content, |block| block.content).ok()?;
        let block = &self.blocks[index];
        let segment = &self.segments.list()[block.segment as usize];
        let outcome = if segment.is_compressed { self.read(segment, &block.stored, dst)? } else { Outcome::NotSmaller };
        self.uses.taken(segment.stored);
        if segment.is_compressed && self.segments.has_clusters() {
            clusters.extend_from_slice(self.segments.clusters(segment));
        }
        Some(outcome)
    }

    fn is_exact(&self) -> bool {
        true
    }
}
