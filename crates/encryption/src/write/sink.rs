//! A sink that seals the appended bytes on workers and passes them on in order.

use std::io;

use packline_engine::{Consumer, OrderedMap};
use packline_runtime::{Resources, Sink, of_fault, zeros};

use super::{Batch, SealTask, Sealing};
use crate::format::padding;
use crate::memory::{self, batch, chunks};
use crate::{ChunkSize, Error};

/// Seals a content that is appended from start to end. The sealed bytes depend only on the content and the [`Sealing`], not on the workers
/// or the memory. The file is complete after [`SealingSink::finish`].
pub struct SealingSink<'a> {
    map: OrderedMap<SealTask>,
    writer: Writer<'a>,
    chunk: ChunkSize,
    /// The batch being filled; `None` before the first byte of content.
    batch: Option<Batch>,
    /// Number of the next batch's first chunk.
    next: u64,
    /// Bytes of content so far.
    content: u64,
    pads: bool,
}

struct Writer<'a> {
    sink: &'a mut dyn Sink,
    written: u64,
    /// Buffers of written batches, for reuse.
    spare: Vec<Vec<u8>>,
}

impl Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.sink.append(bytes).map_err(Error::Output)?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

impl Consumer<SealTask> for Writer<'_> {
    fn consume(&mut self, batch: Batch) -> Result<(), Error> {
        self.write(&batch.bytes)?;
        self.spare.push(batch.bytes);
        Ok(())
    }
}

impl<'a> SealingSink<'a> {
    /// Writes the head to `sink`.
    ///
    /// # Errors
    /// [`Error::Output`]; [`Error::Work`] if threads cannot be started.
    pub fn new(sealing: Sealing, sink: &'a mut dyn Sink, resources: &Resources) -> Result<SealingSink<'a>, Error> {
        let Sealing { head, key, chunk, pads } = sealing;
        let map = memory::start(SealTask { key, chunk }, resources, chunk)?;
        let mut writer = Writer { sink, written: 0, spare: Vec::new() };
        writer.write(&head)?;
        Ok(SealingSink { map, writer, chunk, batch: None, next: 0, content: 0, pads })
    }

    /// Seals the rest, with the last chunk. Returns the bytes of the complete file.
    ///
    /// # Errors
    /// [`Error::Output`] if the sink fails; [`Error::Work`].
    pub fn finish(mut self) -> Result<u64, Error> {
        if self.pads {
            self.pad()?;
        }
        let batch = match self.batch.take() {
            Some(batch) => batch,
            None => self.begin()?,
        };
        self.submit(Batch { last: true, ..batch })?;
        self.map.drain(&mut self.writer).map_err(of_fault)?;
        Ok(self.writer.written)
    }

    /// Appends zeros, and the length of the content before them.
    fn pad(&mut self) -> Result<(), Error> {
        let content = self.content;
        zeros(padding::zeros(content)).try_for_each(|piece| self.append_all(piece))?;
        self.append_all(&content.to_le_bytes())
    }

    fn begin(&mut self) -> Result<Batch, Error> {
        let size = batch(self.chunk);
        let permit = self.map.reserve(size, &mut self.writer).map_err(of_fault)?;
        let mut bytes = self.writer.spare.pop().unwrap_or_default();
        bytes.resize(size, 0);
        let batch = Batch { first: self.next, bytes, filled: 0, last: false, _permit: permit };
        self.next += chunks(self.chunk) as u64;
        Ok(batch)
    }

    fn submit(&mut self, batch: Batch) -> Result<(), Error> {
        self.map.submit(batch, &mut self.writer).map_err(of_fault)
    }

    fn append_all(&mut self, mut content: &[u8]) -> Result<(), Error> {
        while !content.is_empty() {
            let mut batch = match self.batch.take() {
                // More content follows, so this batch is not the last.
                Some(full) if full.filled == Batch::capacity(self.chunk) => {
                    self.submit(full)?;
                    self.begin()?
                }
                Some(batch) => batch,
                None => self.begin()?,
            };
            let taken = batch.fill(content, self.chunk);
            content = &content[taken..];
            self.batch = Some(batch);
        }
        Ok(())
    }
}

impl Sink for SealingSink<'_> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.content += bytes.len() as u64;
        self.append_all(bytes).map_err(Error::into_io)
    }
}
