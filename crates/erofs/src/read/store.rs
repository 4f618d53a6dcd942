//! The bytes of an image at their addresses, through a cache of pages.

use std::sync::Arc;

use packline_volume::{PLAIN, ReadError, Unit};

use super::cache::Cache;
use super::map::window::ReadBytes;
use super::regions::Regions;
use super::span::{Cursor, ReadSpans, Span};
use crate::format::{METABOX, corrupt};

/// Bytes that are read at a time around metadata: several hundred inodes, or the blocks of some directories.
const PAGE_BYTES: u64 = 16 << 10;

/// Reads an image's bytes. Used by all threads.
#[derive(Debug)]
pub(crate) struct Store {
    regions: Regions,
    /// Decoded units, and pages of the image as plain units.
    cache: Arc<Cache>,
    /// The decoded metabox.
    metabox: Option<Arc<dyn ReadSpans>>,
}

impl Store {
    /// Reads an image without the metabox.
    pub(super) fn new(regions: Regions, cache: &Arc<Cache>) -> Store {
        Store { regions, cache: Arc::clone(cache), metabox: None }
    }

    /// Reads the same image with the metabox.
    pub(super) fn with_metabox(&self, metabox: Arc<dyn ReadSpans>) -> Store {
        Store { regions: self.regions.clone(), cache: Arc::clone(&self.cache), metabox: Some(metabox) }
    }

    pub(crate) fn regions(&self) -> &Regions {
        &self.regions
    }

    pub(super) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Returns a cursor at an address.
    pub(crate) fn cursor(self: &Arc<Store>, address: u64) -> Cursor {
        let store: Arc<Store> = Arc::clone(self);
        Cursor::new(store, address)
    }

    fn metabox(&self, address: u64) -> Result<&Arc<dyn ReadSpans>, ReadError> {
        let expected = "an image with a metabox, and an inode outside of it";
        self.metabox.as_ref().ok_or_else(|| corrupt(address, "metadata", expected))
    }

    /// Returns a page of the image or a device.
    fn page(&self, address: u64) -> Result<Span, ReadError> {
        self.regions.check(address, 1, "metadata")?;
        let range = self.regions.range(address);
        let start = (address - address % PAGE_BYTES).max(range.start);
        let end = (address - address % PAGE_BYTES).saturating_add(PAGE_BYTES).min(range.end);
        let length = (end - start) as u32;
        let unit = Unit { offset: start, stored: length, length, form: PLAIN };
        let bytes = match self.cache.get(unit) {
            Some(bytes) => bytes,
            None => {
                let mut bytes = vec![0; length as usize];
                self.regions.read(start, &mut bytes)?;
                let bytes = Arc::new(bytes);
                self.cache.put(unit, &bytes);
                bytes
            }
        };
        Ok(Span::new(bytes, 0..length as usize, start))
    }
}

impl ReadSpans for Store {
    fn span(&self, address: u64) -> Result<Span, ReadError> {
        if address & METABOX == 0 {
            return self.page(address);
        }
        let at = address & !METABOX;
        Ok(self.metabox(address)?.span(at)?.moved(at, u64::MAX, address))
    }
}

impl ReadBytes for Store {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), ReadError> {
        if address & METABOX == 0 {
            return self.regions.read(address, out);
        }
        Cursor::new(Arc::clone(self.metabox(address)?), address & !METABOX).read_exact(out)
    }
}

/// Reads an image's metadata through the cache, in which it is next to its inode.
#[derive(Debug)]
pub(super) struct Metadata(pub(super) Arc<Store>);

impl ReadBytes for Metadata {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), ReadError> {
        self.0.cursor(address).read_exact(out)
    }
}
