//! Base images: blocks of an earlier image are taken as they are instead of being compressed again.
//!
//! Nothing in a base is trusted. When it is opened all of its blocks are read once, in the order of the file, and decoded on the workers
//! (`places.rs`, `scan.rs`); what they decode to is hashed as deduplication hashes the contents of the new image, and kept with a hash
//! of the stored bytes (`index.rs`). A block of the new image whose content has that hash gets the stored bytes, if they are still the
//! same when they are read again. So no base, damaged, hostile or changed meanwhile, makes a wrong content.
//!
//! An image that is read as the source of the new one is decoded anyway: a base of it ([`Base::of_source`]) gets its blocks when that
//! happens, which is before their contents are looked for.
//!
//! Whether the image then has the bytes that it would have without a base depends on the encoder of the base's blocks. The record behind
//! an image (`format/record.rs`) says which one that was; the checksum in it finds damage that no decoder sees. Blocks of other
//! encoders are taken only on request, and the new image gets no record then.

mod error;
mod fit;
mod index;
mod places;
mod scan;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use packline_cache::{ContentDigest, KnownBlocks};
use packline_codec::{Outcome, Spec};
use packline_engine::Config;
use packline_volume::Unit;

pub use self::error::BaseError;
use self::fit::{check_fit, own_record};
use self::index::{Entry, Index};
use self::places::Places;
use self::scan::{Scanned, scan};
use crate::format::superblock::flags;
use crate::read::data_check::data_checksum;
use crate::read::{BlockPlace, DecodedBlocks, Image};
use crate::{Options, Superblock};

/// How a base image is opened.
#[derive(Debug, Clone, Default)]
pub struct BaseSettings {
    /// Whether blocks of other encoders are taken, too. The bytes of the new image may then differ from those without a base.
    pub any: bool,
    /// Most bytes of memory for the index of the blocks; `None` for no limit.
    pub memory: Option<u64>,
    /// Workers and memory for reading the base.
    pub engine: Config,
}

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
    taken: AtomicU64,
    taken_bytes: AtomicU64,
    changed: AtomicU64,
}

/// How the blocks of a base were used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BaseCounts {
    /// Blocks of the base that can be taken, of each content one.
    pub blocks: u64,
    /// Blocks of the new image that were taken.
    pub taken: u64,
    /// Their bytes, compressed.
    pub taken_bytes: u64,
    /// Blocks that could not be decoded, and were not taken.
    pub damaged: u64,
    /// Blocks that changed after they were decoded, and were not taken.
    pub changed: u64,
    /// Whether the blocks that were taken are those that the encoder would have made.
    pub exact: bool,
}

impl BaseCounts {
    /// The counts of two bases together.
    #[must_use]
    pub fn and(self, other: BaseCounts) -> BaseCounts {
        BaseCounts {
            blocks: self.blocks + other.blocks,
            taken: self.taken + other.taken,
            taken_bytes: self.taken_bytes + other.taken_bytes,
            damaged: self.damaged + other.damaged,
            changed: self.changed + other.changed,
            exact: self.exact && other.exact,
        }
    }
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

    /// Of an image that is read as a source of a new image with `options`, and whose blocks it gets as a [`DecodedBlocks`]. They are taken
    /// only if they are those of the encoder: the data area is read once for its checksum, and not decoded.
    ///
    /// # Errors
    /// As [`Base::open`] without [`BaseSettings::any`].
    pub fn of_source(image: &Image, options: &Options, settings: &BaseSettings) -> Result<Base, BaseError> {
        check_fit(image, options)?;
        let record = own_record(image, options)?;
        if data_checksum(image, &settings.engine.cancel)? != record.data {
            return Err(damaged_data());
        }
        let blocks = Places::of(image, settings)?.list().len();
        Ok(Base::new(image, options, blocks, (record.all_tried, true)))
    }

    fn new(image: &Image, options: &Options, blocks: usize, (all_tried, exact): (bool, bool)) -> Base {
        let index = Mutex::new(Index::with_capacity(blocks));
        let zero = AtomicU64::default;
        let taken = zero();
        let taken_bytes = zero();
        let changed = zero();
        let image = image.clone();
        let codec = options.codec.clone();
        Base { image, codec, index, all_tried, exact, damaged: 0, taken, taken_bytes, changed }
    }

    /// Of equal contents the first usable one counts. Blocks of a source come in any order; those of one encoder are equal then.
    fn add(&self, entry: Entry) {
        if entry.place.compressed || self.all_tried {
            self.index().add(entry);
        }
    }

    /// Whether the parameters of a block are among those of the new image's codec: whoever writes an image can write any record.
    fn is_asked_for(&self, place: BlockPlace, stored: &[u8]) -> bool {
        let block_size = self.image.superblock().block_size.bytes();
        !place.compressed || self.codec.check_parameters(block_size, stored).is_ok()
    }

    /// The index is whole even if a thread panicked.
    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory of the index, bytes.
    pub fn memory(&self) -> u64 {
        self.index().memory()
    }

    /// How its blocks were used so far.
    pub fn counts(&self) -> BaseCounts {
        BaseCounts {
            blocks: self.index().len() as u64,
            taken: self.taken.load(Ordering::Relaxed),
            taken_bytes: self.taken_bytes.load(Ordering::Relaxed),
            damaged: self.damaged,
            changed: self.changed.load(Ordering::Relaxed),
            exact: self.is_exact(),
        }
    }

    /// Reads the stored bytes of a block to the start of `dst`; `None` if they are not those that were decoded.
    fn read(&self, entry: &Entry, dst: &mut [u8]) -> Option<Outcome> {
        let size = entry.place.stored as usize;
        let stored = dst.get_mut(..size).filter(|_| entry.place.compressed)?;
        let read = self.image.store().read(entry.place.offset, stored);
        if read.is_err() || ContentDigest::of(stored) != entry.stored {
            self.changed.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(Outcome::Smaller(size))
    }
}

impl KnownBlocks for Base {
    fn find(&self, content: &ContentDigest, dst: &mut [u8]) -> Option<Outcome> {
        let entry = self.index().find(content).copied()?;
        // As long as the content, which is there: the block did not get smaller.
        let whole = !entry.place.compressed;
        let outcome = if whole { Some(Outcome::NotSmaller) } else { self.read(&entry, dst) }?;
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.taken_bytes.fetch_add(entry.place.stored.into(), Ordering::Relaxed);
        Some(outcome)
    }

    fn is_exact(&self) -> bool {
        self.exact || self.taken.load(Ordering::Relaxed) == 0
    }
}

impl DecodedBlocks for Base {
    fn decoded(&self, unit: Unit, stored: &[u8], content: &[u8]) {
        let place = BlockPlace::of(unit);
        if self.is_asked_for(place, stored) {
            self.add(Entry::of(place, stored, content));
        }
    }
}

fn damaged_data() -> BaseError {
    BaseError::foreign("is damaged: its data has another checksum", "the one of its record")
}

/// Whether blocks of an image without a record are compressed only because that did not make them smaller.
fn tries_all(superblock: &Superblock) -> bool {
    superblock.flags & (flags::STORED_DATA | flags::STORED_FRAGMENTS) == 0
}
