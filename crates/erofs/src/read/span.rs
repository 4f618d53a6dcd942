//! Bytes that can be read at any offset, in spans that are in memory.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use packline_runtime::TaskError;
use packline_volume::ReadError;

/// Consecutive bytes of a source.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    bytes: Arc<Vec<u8>>,
    range: Range<usize>,
    /// Offset in the source of the first byte of the range.
    start: u64,
}

impl Span {
    /// Returns the bytes `range` of `bytes`, which are at `start` of the source. The range ends with the bytes.
    pub(crate) fn new(bytes: Arc<Vec<u8>>, range: Range<usize>, start: u64) -> Span {
        let end = range.end.min(bytes.len());
        Span { range: range.start.min(end)..end, bytes, start }
    }

    /// Returns the bytes from an offset of the source on; none if the span does not have the offset.
    pub(crate) fn bytes_from(&self, at: u64) -> &[u8] {
        let bytes = &self.bytes[self.range.clone()];
        let skipped = at.checked_sub(self.start).and_then(|skipped| usize::try_from(skipped).ok());
        skipped.and_then(|skipped| bytes.get(skipped..)).unwrap_or(&[])
    }

    /// Returns at most `most` bytes from an offset of this source on, as a span of another source, in which they are at `start`.
    pub(crate) fn moved(self, at: u64, most: u64, start: u64) -> Span {
        let length = (self.bytes_from(at).len() as u64).min(most) as usize;
        let first = self.range.start + at.saturating_sub(self.start) as usize;
        Span::new(self.bytes, first..first + length, start)
    }
}

/// Any thread may read.
pub(crate) trait ReadSpans: Debug + Send + Sync {
    /// Returns a span with the byte at an offset.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the source has no such byte; errors of reading and decoding it.
    fn span(&self, at: u64) -> Result<Span, ReadError>;
}

/// Reads a source from an offset on. Holds the current span, so that further reads take no lock.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    source: Arc<dyn ReadSpans>,
    at: u64,
    held: Option<Span>,
}

impl Cursor {
    /// Returns a cursor at an offset; nothing is read yet.
    pub(crate) fn new(source: Arc<dyn ReadSpans>, at: u64) -> Cursor {
        Cursor { source, at, held: None }
    }

    /// Returns the offset of the next byte.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    pub(crate) fn seek(&mut self, at: u64) {
        self.at = at;
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let mut out = [0; N];
        self.read_exact(&mut out)?;
        Ok(out)
    }

    pub(crate) fn read_u16(&mut self) -> Result<u16, ReadError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn read_u32(&mut self) -> Result<u32, ReadError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn read_u64(&mut self) -> Result<u64, ReadError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn read_exact(&mut self, out: &mut [u8]) -> Result<(), ReadError> {
        let mut done = 0;
        while done < out.len() {
            let rest = self.rest()?;
            let now = rest.len().min(out.len() - done);
            out[done..done + now].copy_from_slice(&rest[..now]);
            self.at += now as u64;
            done += now;
        }
        Ok(())
    }

    /// Appends `length` bytes to `out`, which grows only as bytes are read.
    pub(crate) fn read_to(&mut self, length: u64, out: &mut Vec<u8>) -> Result<(), ReadError> {
        let mut left = length;
        while left > 0 {
            let rest = self.rest()?;
            let now = left.min(rest.len() as u64) as usize;
            out.extend_from_slice(&rest[..now]);
            self.at += now as u64;
            left -= now as u64;
        }
        Ok(())
    }

    /// Returns the bytes of a span from the current offset on, at least one.
    fn rest(&mut self) -> Result<&[u8], ReadError> {
        if self.held.as_ref().is_none_or(|held| held.bytes_from(self.at).is_empty()) {
            self.held = Some(self.source.span(self.at)?);
        }
        let rest = self.held.as_ref().map_or(&[][..], |held| held.bytes_from(self.at));
        if rest.is_empty() {
            return Err(ReadError::internal(format!("a span without the byte {} that it was read for", self.at)));
        }
        Ok(rest)
    }
}
