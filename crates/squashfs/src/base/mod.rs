//! Base images: the new image reuses compressed blocks of an earlier image.
//!
//! Nothing in a base is trusted. All of its blocks are read once when the base is opened, in the order of the file, and decoded on the workers
//! (`places.rs`, `scan.rs`). The index keeps two hashes of each block: of the stored bytes, and of the content, hashed as deduplication hashes it
//! (`places.rs` too). A block of the new image with the same content hash gets the stored bytes, if the stored bytes have the same hash when they are
//! read again. No base can lead to wrong content, whether it is damaged, hostile or changes during the run.
//!
//! An image that is a source of the new one is decoded anyway. A base of that image ([`Base::of_source`]) receives each block when it is decoded,
//! which is before the content of the block is looked up.
//!
//! The new image has the same bytes as without a base only if the same encoder wrote the blocks of the base. The record after an image
//! (`format/record.rs`) names the encoder, and its checksum finds damage that no decoder notices. Blocks of other encoders are reused only on
//! request, and the new image then gets no record.

mod fit;
mod places;
mod scan;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

use packline_cache::{Cluster, ContentDigest, KnownBlocks};
use packline_codec::{Outcome, Spec};
pub use packline_volume::{BaseCounts, BaseError, BaseSettings};
use packline_volume::{BaseUses, Unit};

use self::fit::{check_fit, own_record};
use self::places::{Entry, Index, Places};
use self::scan::{Scanned, scan};
use crate::format::superblock::flags;
use crate::read::{BlockListener, BlockPlace, Image};
use crate::{Options, Superblock};

/// The blocks of an earlier image.
#[derive(Debug)]
pub struct Base {
    image: Image,
    /// The codec of the new image.
    codec: Spec,
    index: Mutex<Index>,
    /// Whether blocks that are not compressed would be compressed by the encoder if that made them smaller.
    all_tried: bool,
    exact: bool,
    damaged: u64,
    uses: BaseUses,
}

impl Base {
    /// Reads and decodes all blocks of an image, for a new image with `options`. Blocks that cannot be decoded are left out.
    ///
    /// # Errors
    /// [`BaseError::Fit`] for an image with another codec or block size, [`BaseError::Foreign`] for blocks of another encoder, or damaged
    /// ones, unless `settings` allow them; [`BaseError::Read`] for damaged metadata, [`BaseError::Memory`].
    pub fn open(image: &Image, options: &Options, settings: &BaseSettings) -> Result<Base, BaseError> {
        check_fit(image, options)?;
        let record = match own_record(image, options) {
            Err(BaseError::Foreign { .. }) if settings.any => None,
            record => Some(record?),
        };
        let places = Places::of(image, settings)?;
        let Scanned { entries, checksum, damaged } = scan(image, options, &places, &settings.engine)?;
        let record = record.filter(|record| record.data == checksum);
        if record.is_none() && !settings.any {
            return Err(damaged_data());
        }
        let all_tried = record.map_or_else(|| tries_all(image.superblock()), |record| record.all_tried);
        let base = Base::new(image, options, places.list().len(), (all_tried, record.is_some()));
        entries.into_iter().for_each(|entry| base.add(entry));
        Ok(Base { damaged, ..base })
    }

    /// A base of an image that is a source of a new image with `options`. The base receives the blocks as a [`BlockListener`]. Blocks are reused
    /// only if the same encoder wrote them. The data area is read once for its checksum, and not decoded.
    ///
    /// # Errors
    /// As [`Base::open`] without [`BaseSettings::any`].
    pub fn of_source(image: &Image, options: &Options, settings: &BaseSettings) -> Result<Base, BaseError> {
        check_fit(image, options)?;
        let record = own_record(image, options)?;
        if image.data_checksum(&settings.engine.cancel)? != record.data {
            return Err(damaged_data());
        }
        let blocks = Places::of(image, settings)?.list().len();
        Ok(Base::new(image, options, blocks, (record.all_tried, true)))
    }

    fn new(image: &Image, options: &Options, blocks: usize, (all_tried, exact): (bool, bool)) -> Base {
        let index = Mutex::new(Index::with_capacity(blocks));
        let image = image.clone();
        let codec = options.codec.clone();
        Base { image, codec, index, all_tried, exact, damaged: 0, uses: BaseUses::default() }
    }

    /// The first usable block of a content counts. Blocks of a source come in any order, but equal contents of one encoder have equal blocks.
    fn add(&self, entry: Entry) {
        if entry.place.compressed || self.all_tried {
            self.index().add(entry);
        }
    }

    /// Whether the codec of the new image has the parameters of a block. A hostile image can have any record.
    fn is_asked_for(&self, place: BlockPlace, stored: &[u8]) -> bool {
        let block_size = self.image.superblock().block_size.bytes();
        !place.compressed || self.codec.check_parameters(block_size, stored).is_ok()
    }

    /// The index is consistent even if a thread panicked.
    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn memory(&self) -> u64 {
        self.index().memory()
    }

    pub fn counts(&self) -> BaseCounts {
        self.uses.counts(self.index().len() as u64, self.damaged, self.is_exact())
    }

    /// Reads the stored bytes of a block to the start of `dst`. Returns `None` if they differ from the bytes that were decoded.
    fn read(&self, entry: &Entry, dst: &mut [u8]) -> Option<Outcome> {
        let size = entry.place.stored as usize;
        let stored = dst.get_mut(..size).filter(|_| entry.place.compressed)?;
        let read = self.image.store().read(entry.place.offset, stored);
        if read.is_err() || ContentDigest::of(stored) != entry.stored {
            self.uses.changed();
            return None;
        }
        Some(Outcome::Smaller(size))
    }
}

impl KnownBlocks for Base {
    fn find(&self, content: &ContentDigest, dst: &mut [u8], _: &mut Vec<Cluster>) -> Option<Outcome> {
        let entry = self.index().find(content).copied()?;
        // An uncompressed block has the length of its content.
        let whole = !entry.place.compressed;
        let outcome = if whole { Some(Outcome::NotSmaller) } else { self.read(&entry, dst) }?;
        self.uses.taken(entry.place.stored);
        Some(outcome)
    }

    fn is_exact(&self) -> bool {
        self.exact || self.uses.is_none()
    }
}

impl BlockListener for Base {
    fn decoded(&self, unit: Unit, stored: &[u8], content: &[u8]) {
        let place = BlockPlace::of(unit);
        if self.is_asked_for(place, stored) {
            self.add(Entry::of(place, stored, content));
        }
    }
}

fn damaged_data() -> BaseError {
    BaseError::foreign("is damaged: its data does not match its checksum", "")
}

/// Whether each uncompressed block of an image without a record is uncompressed only because compression did not make it smaller.
fn tries_all(superblock: &Superblock) -> bool {
    superblock.flags & (flags::STORED_DATA | flags::STORED_FRAGMENTS) == 0
}
