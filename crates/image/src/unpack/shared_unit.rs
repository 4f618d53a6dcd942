//! A shared unit in use: decoded by the first job that needs it, or read from the scratch file if an earlier window spilled it.

use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packline_engine::Permit;
use packline_volume::{ReadError, Unit, UnitDecoder};

use super::request::UnpackCounts;
use super::unit_uses::Spilled;

/// A shared unit, used by the jobs of one window.
pub struct SharedUnit {
    unit: Result<Unit, ReadError>,
    /// The result of decoding, after the first try; dropped with the last job.
    decoded: Mutex<Option<Result<Arc<Vec<u8>>, ReadError>>>,
    /// Set if other windows need the unit, too.
    spilled: Option<Spilled>,
    _permit: Permit,
}

/// State of the calling job.
pub struct DecodingTool<'t> {
    pub decoder: &'t mut Result<Box<dyn UnitDecoder>, ReadError>,
    /// Counters of units read and decoded.
    pub counts: &'t mut UnpackCounts,
}

/// The bytes of a piece.
pub enum TailBytes {
    /// A range of the unit.
    Part(Arc<Vec<u8>>, Range<usize>),
    /// Bytes that were read alone.
    Own(Vec<u8>),
}

/// Why a piece cannot be read.
pub enum NoTail {
    /// The unit cannot be read.
    Unit(ReadError),
    /// The unit has only this number of bytes.
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

impl SharedUnit {
    /// A unit that is not yet decoded for this window; `permit` covers its memory.
    pub fn new(unit: Result<Unit, ReadError>, spilled: Option<Spilled>, permit: Permit) -> SharedUnit {
        SharedUnit { unit, decoded: Mutex::new(None), spilled, _permit: permit }
    }

    /// Returns the unit; `None` if the image does not have it.
    pub fn unit(&self) -> Option<Unit> {
        self.unit.as_ref().ok().copied()
    }

    /// Returns the bytes `range` of the unit.
    pub fn tail(&self, range: Range<usize>, mut tool: DecodingTool<'_>) -> Result<TailBytes, NoTail> {
        if self.spilled.is_some()
            && self.lock().is_none()
            && let Some(length) = self.length_elsewhere()
        {
            let range = within(range.clone(), length)?;
            if let Some(bytes) = self.read(range, &mut tool) {
                return Ok(TailBytes::Own(bytes));
            }
        }
        let decoded = self.lock().get_or_insert_with(|| self.decode(tool)).clone();
        let bytes = decoded.map_err(NoTail::Unit)?;
        let range = within(range, bytes.len())?;
        Ok(TailBytes::Part(bytes, range))
    }

    /// Returns the size in bytes of the unit in the image; 0 if it cannot be read.
    pub fn stored_bytes(&self) -> u64 {
        self.unit.as_ref().map_or(0, |unit| u64::from(unit.stored))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Result<Arc<Vec<u8>>, ReadError>>> {
        self.decoded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the length of the unit, if it can be read without decoding.
    fn length_elsewhere(&self) -> Option<usize> {
        match self.plain() {
            Some(unit) => Some(unit.stored as usize),
            None => self.spilled.as_ref()?.store.get().map(|spilled| spilled.length()),
        }
    }

    /// Returns the unit, if its content is in the image uncompressed.
    fn plain(&self) -> Option<Unit> {
        self.unit().filter(|unit| unit.is_plain())
    }

    /// Reads a part without decoding; `None` if that fails.
    fn read(&self, range: Range<usize>, tool: &mut DecodingTool<'_>) -> Option<Vec<u8>> {
        let mut bytes = vec![0; range.len()];
        match self.plain() {
            Some(unit) => {
                tool.decoder.as_mut().ok()?.plain_part(unit, range.start, &mut bytes).ok()?;
                tool.counts.read_bytes += range.len() as u64;
            }
            None => self.spilled.as_ref()?.store.get()?.read(range.start, &mut bytes).ok()?,
        }
        Some(bytes)
    }

    /// Decodes the unit, and spills it if later files need it.
    fn decode(&self, tool: DecodingTool<'_>) -> Result<Arc<Vec<u8>>, ReadError> {
        let unit = self.unit.clone()?;
        let decoder = tool.decoder.as_mut().map_err(|cause| cause.clone())?;
        let mut bytes = Vec::new();
        tool.counts.read_bytes += u64::from(unit.stored);
        tool.counts.fragments.decoded += 1;
        decoder.shared(unit, &mut bytes)?;
        if self.put_away(&bytes) {
            tool.counts.fragments.spilled += 1;
        }
        Ok(Arc::new(bytes))
    }

    /// Spills the unit; returns false if it was spilled before, or is plain.
    fn put_away(&self, bytes: &[u8]) -> bool {
        let Some(Spilled { store, scratch: Some(scratch) }) = &self.spilled else { return false };
        if self.plain().is_some() || store.get().is_some() {
            return false;
        }
        scratch.put(bytes).is_some_and(|spilled| store.set(spilled).is_ok())
    }
}

fn within(range: Range<usize>, length: usize) -> Result<Range<usize>, NoTail> {
    if range.end <= length { Ok(range) } else { Err(NoTail::Beyond(length)) }
}
