//! A fragment block in use: decoded by the first job that needs it, or read from the scratch file where an earlier window spilled it.

use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packline_engine::Permit;
use packline_squashfs::read::{BlockDecoder, BlockPlace, ReadError};

use super::fragment_uses::Shared;
use super::request::UnpackCounts;

/// A fragment block shared by the jobs of one window.
pub struct Fragment {
    place: Result<BlockPlace, ReadError>,
    /// The result of decoding, once tried; dropped with the last job.
    decoded: Mutex<Option<Result<Arc<Vec<u8>>, ReadError>>>,
    /// Set if other windows need it too.
    shared: Option<Shared>,
    _permit: Permit,
}

/// State of the calling job.
pub struct FragmentTool<'t> {
    pub decoder: &'t mut Result<BlockDecoder, ReadError>,
    /// Counters of blocks read and decoded.
    pub counts: &'t mut UnpackCounts,
}

/// The bytes of a tail end.
pub enum TailBytes {
    /// A part of the block.
    Part(Arc<Vec<u8>>, Range<usize>),
    /// Read alone.
    Own(Vec<u8>),
}

/// Why a tail end cannot be read.
pub enum NoTail {
    /// The block cannot be read.
    Block(ReadError),
    /// The block has only this number of bytes.
    Beyond(usize),
}

impl Deref for TailBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            TailBytes::Part(bytes, range) => &bytes[range.clone()],
            TailBytes::Own(bytes) => bytes,
        }
    }
}

impl Fragment {
    /// A fragment block not yet decoded for this window; `permit` covers its memory.
    pub fn new(place: Result<BlockPlace, ReadError>, shared: Option<Shared>, permit: Permit) -> Fragment {
        Fragment { place, decoded: Mutex::new(None), shared, _permit: permit }
    }

    /// Bytes `range` of the block.
    pub fn tail(&self, range: Range<usize>, mut tool: FragmentTool<'_>) -> Result<TailBytes, NoTail> {
        if self.shared.is_some()
            && self.lock().is_none()
            && let Some(length) = self.length_elsewhere()
        {
            let range = within(range.clone(), length)?;
            if let Some(bytes) = self.read(range, &mut tool) {
                return Ok(TailBytes::Own(bytes));
            }
        }
        let decoded = self.lock().get_or_insert_with(|| self.decode(tool)).clone();
        let bytes = decoded.map_err(NoTail::Block)?;
        let range = within(range, bytes.len())?;
        Ok(TailBytes::Part(bytes, range))
    }

    /// Size of the block in the image, bytes; 0 if it cannot be read.
    pub fn stored_bytes(&self) -> u64 {
        self.place.as_ref().map_or(0, |place| u64::from(place.stored))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Result<Arc<Vec<u8>>, ReadError>>> {
        self.decoded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its length, if it can be read without decoding.
    fn length_elsewhere(&self) -> Option<usize> {
        match self.stored() {
            Some(place) => Some(place.stored as usize),
            None => self.shared.as_ref()?.store.get().map(|spilled| spilled.length()),
        }
    }

    /// Its position in the image, if it is stored uncompressed.
    fn stored(&self) -> Option<BlockPlace> {
        self.place.as_ref().ok().filter(|place| !place.compressed).copied()
    }

    /// Reads a part without decoding; `None` if that fails.
    fn read(&self, range: Range<usize>, tool: &mut FragmentTool<'_>) -> Option<Vec<u8>> {
        let mut bytes = vec![0; range.len()];
        match self.stored() {
            Some(place) => {
                tool.decoder.as_ref().ok()?.stored_part(place, range.start, &mut bytes).ok()?;
                tool.counts.read_bytes += range.len() as u64;
            }
            None => self.shared.as_ref()?.store.get()?.read(range.start, &mut bytes).ok()?,
        }
        Some(bytes)
    }

    /// Decodes it, and spills it if later files need it.
    fn decode(&self, tool: FragmentTool<'_>) -> Result<Arc<Vec<u8>>, ReadError> {
        let place = self.place.clone()?;
        let decoder = tool.decoder.as_mut().map_err(|cause| cause.clone())?;
        let mut bytes = Vec::new();
        tool.counts.read_bytes += u64::from(place.stored);
        tool.counts.fragments.decoded += 1;
        decoder.fragment(place, &mut bytes)?;
        if self.put_away(&bytes) {
            tool.counts.fragments.spilled += 1;
        }
        Ok(Arc::new(bytes))
    }

    /// Whether this call spilled it; not if it was spilled before, or is stored uncompressed.
    fn put_away(&self, bytes: &[u8]) -> bool {
        let Some(Shared { store, scratch: Some(scratch) }) = &self.shared else { return false };
        if self.stored().is_some() || store.get().is_some() {
            return false;
        }
        scratch.put(bytes).is_some_and(|spilled| store.set(spilled).is_ok())
    }
}

fn within(range: Range<usize>, length: usize) -> Result<Range<usize>, NoTail> {
    if range.end <= length { Ok(range) } else { Err(NoTail::Beyond(length)) }
}
