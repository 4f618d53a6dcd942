//! Contents read at any offset by many threads. Decoded blocks stay in a bounded cache, and workers decode blocks ahead of sequential readers.
//!
//! Memory: the cache's bytes cover all decoded blocks, also those in flight. In addition, each thread that decodes has a decoder and a stored
//! block, and each thread that reads may hold one evicted block.

mod ahead;
mod cache;
mod decoder_pool;
mod index;
mod open;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use packline_codec::Slabs;

use crate::{FileData, ReadError, SharedVolume, ToVolume};
use ahead::Ahead;
use cache::Cache;
use decoder_pool::{Decoded, DecoderPool};
use open::Located;
pub use open::OpenFile;

/// Maximum number of free buffers. Their memory is a part of the cache's, at most a quarter.
const SPARE: usize = 8;

/// Limits of random access. They do not change the result.
#[derive(Debug, Clone, Copy)]
pub struct RandomSettings {
    /// Threads that decode ahead of sequential readers, and help with reads of many blocks; 0 for no threads.
    pub workers: usize,
    /// Maximum bytes of decoded blocks in the cache, which holds at least two blocks.
    pub cache: usize,
    /// Maximum bytes decoded ahead of all sequential readers together; at most half of the cache is used.
    pub ahead: usize,
}

/// The contents of an image's files, for any number of threads.
pub struct Files {
    volume: SharedVolume,
    core: Arc<Core>,
    ahead: Ahead,
    /// Requests in progress.
    busy: AtomicUsize,
}

/// Shared by readers and workers.
struct Core {
    cache: Cache,
    decoders: DecoderPool,
}

impl Files {
    /// Access to the files of a volume.
    ///
    /// # Errors
    /// [`ReadError::Unsupported`] without a decoder.
    pub fn new(volume: &impl ToVolume, settings: RandomSettings) -> Result<Files, ReadError> {
        let volume = &volume.to_volume();
        let largest = volume.facts().largest_unit as usize;
        let spare = (settings.cache / largest / 4).min(SPARE);
        let capacity = (settings.cache - spare * largest).max(2 * largest);
        let decoders = DecoderPool::new(volume, Slabs::new(largest, spare))?;
        let core = Arc::new(Core { cache: Cache::new(capacity), decoders });
        let blocks = settings.ahead.min(capacity / 2) / volume.facts().block_size as usize;
        let ahead = Ahead::start(&core, settings.workers, blocks);
        Ok(Files { volume: SharedVolume::clone(volume), core, ahead, busy: AtomicUsize::new(0) })
    }

    /// Turns read-ahead on or off; it is on at first. Turn it off if callers already issue one request per CPU: decoding on the requesting thread
    /// keeps the block in that core's cache.
    pub fn serve_ahead(&self, ahead: bool) {
        self.ahead.set_follows(ahead);
    }

    /// Opens a file, without reading anything.
    pub fn open(&self, file: &FileData) -> OpenFile {
        OpenFile::new(&self.volume, file)
    }

    /// Reads `length` bytes at `offset`, fewer at the end of the file, into `out`, which is cleared first.
    ///
    /// # Errors
    /// Errors of the blocks in the range. They affect nothing else.
    pub fn read(&self, file: &OpenFile, offset: u64, length: usize, out: &mut Vec<u8>) -> Result<(), ReadError> {
        let mut other = Vec::new();
        let found = self.read_with(file, offset, length, &mut other, |bytes| {
            out.clear();
            out.extend_from_slice(bytes);
        });
        found.inspect_err(|_| out.clear())
    }

    /// Reads as [`Files::read`] does, without a copy where possible. `take` gets the bytes: from the cache if they are in one block, otherwise
    /// collected in `scratch`.
    ///
    /// # Errors
    /// Errors of [`Files::read`]; `take` is then not called.
    pub fn read_with<R>(
        &self,
        file: &OpenFile,
        offset: u64,
        length: usize,
        scratch: &mut Vec<u8>,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ReadError> {
        let length = (length as u64).min(file.size().saturating_sub(offset)) as usize;
        if length == 0 {
            return Ok(take(&[]));
        }
        let busy = Busy::new(&self.busy);
        // Help for a request pays only while no other request occupies the processors.
        if busy.alone {
            let last = file.block_of(offset + length as u64 - 1);
            self.ahead.help(file, file.block_of(offset) + 1..last + 1);
        }
        self.ahead.follow(file, offset, length);
        let piece = file.locate(offset, length)?;
        if piece.length() == length
            && let Some(wanted) = piece.wanted
        {
            let block = self.core.block(wanted)?;
            return Ok(take(self.bytes_of(&block, &piece, file)?));
        }
        self.gather(file, offset, length, scratch)?;
        Ok(take(scratch))
    }

    fn gather(&self, file: &OpenFile, offset: u64, length: usize, out: &mut Vec<u8>) -> Result<(), ReadError> {
        out.clear();
        out.reserve(length);
        while out.len() < length {
            let piece = file.locate(offset + out.len() as u64, length - out.len())?;
            match piece.wanted {
                Some(wanted) => {
                    let block = self.core.block(wanted)?;
                    out.extend_from_slice(self.bytes_of(&block, &piece, file)?);
                }
                None => out.resize(out.len() + piece.length(), 0),
            }
        }
        Ok(())
    }

    /// Returns the bytes of a piece in its block. Releases a block that a sequential reader has read to its end and will not ask for again.
    fn bytes_of<'b>(&self, block: &'b Decoded, piece: &Located, file: &OpenFile) -> Result<&'b [u8], ReadError> {
        if let Some(wanted) = piece.wanted
            && wanted.exact
            && wanted.unit.length as usize == piece.range.end
            && file.is_sequential()
        {
            file.mark_passed(piece.block);
            self.core.cache.release(wanted);
        }
        block.bytes().get(piece.range.clone()).ok_or_else(|| piece.outside(block.bytes().len()))
    }
}

/// One request in progress.
struct Busy<'f> {
    among: &'f AtomicUsize,
    alone: bool,
}

impl Busy<'_> {
    fn new(among: &AtomicUsize) -> Busy<'_> {
        let alone = among.fetch_add(1, Ordering::Relaxed) == 0;
        Busy { among, alone }
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.among.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(feature = "testing")]
impl Files {
    /// Bytes of decoded units, cached or in flight.
    pub fn cached(&self) -> usize {
        self.core.cache.used()
    }

    /// Units decoded so far.
    pub fn decoded(&self) -> u64 {
        self.core.decoders.decoded.load(Ordering::Relaxed)
    }

    /// The block up to which workers have been asked.
    pub fn ahead_of(&self, file: &OpenFile) -> u64 {
        decoder_pool::lock(&file.pattern).asked()
    }
}
