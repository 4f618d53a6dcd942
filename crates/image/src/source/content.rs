//! Contents of files in sequence, from a reading that decodes ahead.

use packline_runtime::TaskError;
use packline_tree::Extent;
use packline_volume::{Chunk, Event, ReadError, Reading};

/// The part of a file's content that has not been returned.
#[derive(Default)]
pub(super) struct Content {
    /// Bytes left, including the rest of the chunk.
    left: u64,
    /// Decoded bytes, and the number of them that were returned.
    chunk: Option<(Chunk, usize)>,
}

impl Content {
    /// A content of `size` bytes of which nothing was returned.
    pub(super) fn new(size: u64) -> Content {
        Content { left: size, chunk: None }
    }

    /// Continues with the content that `reading` is at.
    pub(super) fn read<T>(&mut self, reading: &mut Reading<'_, T>, buffer: &mut [u8]) -> Result<Extent, ReadError> {
        if self.left == 0 {
            return Ok(Extent::End);
        }
        if self.chunk.is_none() {
            match reading.next_event()? {
                Some(Event::Data(chunk)) => self.chunk = Some((chunk, 0)),
                Some(Event::Hole(length)) => return self.take(length).map(|()| Extent::Hole(length)),
                Some(Event::Failed { error, .. }) => return Err(error),
                Some(Event::Begin(_)) | None => return Err(self.internal("no more")),
            }
        }
        self.copy(buffer)
    }

    fn copy(&mut self, buffer: &mut [u8]) -> Result<Extent, ReadError> {
        let Some((chunk, done)) = &mut self.chunk else { return Ok(Extent::End) };
        let rest = &chunk[*done..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        *done += count;
        if count == rest.len() {
            self.chunk = None;
        }
        self.take(count as u64).map(|()| Extent::Data(count))
    }

    fn take(&mut self, length: u64) -> Result<(), ReadError> {
        let left = self.left.checked_sub(length).ok_or_else(|| self.internal("more"))?;
        self.left = left;
        Ok(())
    }

    fn internal(&self, came: &str) -> ReadError {
        ReadError::internal(format!("{came} content where {} bytes of a file are left", self.left))
    }
}

/// Skips to the start of the next request.
pub(super) fn begin<T>(reading: &mut Reading<'_, T>) -> Result<Option<T>, ReadError> {
    loop {
        match reading.next_event()? {
            Some(Event::Begin(tag)) => return Ok(Some(tag)),
            Some(_) => {}
            None => return Ok(None),
        }
    }
}
