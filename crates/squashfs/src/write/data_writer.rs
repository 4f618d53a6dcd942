//! Writes the data area in order, and records the position of each block.

use packline_engine::{Outbox, Sequencer};
use packline_runtime::{TaskError, zeros};

use crate::Sink;
use crate::format::layout::FragmentBlock;
use crate::format::record::Record;
use crate::write::blocks::BlockLocation;
use crate::write::decision::Decisions;
use crate::write::digest::hash;
use crate::write::spacing::{Part as Spaced, Spacing};
use crate::write::work::{BlockRef, CompressTask, HashTask, Hashed, Packed, PackedBlock, size_word};
use crate::write::written::{Form, Hashes, Part, Written};
use crate::{Error, Options, STORED_BLOCK, data_start};

/// The in-order steps of packing: decides in order, writes in order.
pub(crate) struct DataWriter<'s> {
    pub(crate) decisions: Decisions,
    pub(crate) sink: &'s mut dyn Sink,
    /// Offset of the next bytes, absolute.
    pub(crate) position: u64,
    /// All parts so far.
    pub(crate) written: Written,
    /// Checksum of all bytes so far, if the image gets a record.
    pub(crate) checksum: Option<crc32fast::Hasher>,
    spacing: Spacing,
    scratch: Vec<u8>,
}

impl<'s> DataWriter<'s> {
    /// `window` bounds the memory of the pipeline in bytes; `verify`: whether parts are recorded.
    pub(crate) fn new(
        options: &Options,
        sink: &'s mut dyn Sink,
        window: usize,
        verify: bool,
    ) -> Result<DataWriter<'s>, Error> {
        let decisions = Decisions::new(options, window);
        let written = Written::new(verify);
        let position = data_start(options)?;
        let spacing = Spacing::new(options);
        let checksum = Record::is_wanted(options).then(crc32fast::Hasher::new);
        Ok(DataWriter { decisions, sink, position, written, checksum, spacing, scratch: Vec::new() })
    }

    /// Ends the data area, where the tables start.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        self.leave_gap(Spaced::Tables)
    }

    /// Appends bytes and returns their offset.
    fn append(&mut self, bytes: &[u8]) -> Result<u64, Error> {
        let start = self.position;
        write(&mut *self.sink, start, bytes)?;
        if let Some(checksum) = &mut self.checksum {
            checksum.update(bytes);
        }
        self.position += bytes.len() as u64;
        Ok(start)
    }

    fn write_block(&mut self, ordinal: u32, bytes: &[u8], stored: bool, hashes: Hashes) -> Result<(), Error> {
        if self.decisions.blocks.starts_run(ordinal) {
            self.leave_gap(Spaced::Run)?;
        }
        let start = self.append(bytes)?;
        self.written.add(part(start, bytes, stored, hashes));
        self.decisions.blocks.committed(ordinal, BlockLocation { start, size_word: size_word(bytes.len(), stored) })
    }

    fn write_packed(&mut self, raw: &[u8], product: &[u8], blocks: &[PackedBlock]) -> Result<(), Error> {
        for PackedBlock { block, compressed, hash } in blocks {
            match compressed {
                Some(range) => {
                    let hashes = Hashes { stored: *hash, content: block.bits() };
                    self.write_block(block.ordinal, &product[range.clone()], false, hashes)?;
                }
                None => self.write_raw(raw, std::slice::from_ref(block))?,
            }
        }
        Ok(())
    }

    fn write_raw(&mut self, raw: &[u8], blocks: &[BlockRef]) -> Result<(), Error> {
        blocks.iter().try_for_each(|block| {
            let hashes = Hashes { stored: block.bits(), content: 0 };
            self.write_block(block.ordinal, &raw[block.range.clone()], true, hashes)
        })
    }

    /// Writes copies of blocks that are already in the image.
    fn copy(&mut self, from: u32, to: u32, count: u32) -> Result<(), Error> {
        for step in 0..count {
            let Some(place) = self.decisions.blocks.place(from + step) else {
                return Err(Error::internal(format!("block {} is copied before it is written", from + step)));
            };
            let size = (place.size_word & !STORED_BLOCK) as usize;
            let mut bytes = std::mem::take(&mut self.scratch);
            bytes.resize(size, 0);
            self.sink.read_at(place.start, &mut bytes).map_err(|cause| sink_error("read back", place.start, cause))?;
            let hashes = self.written.at(place.start).map_or(Hashes { stored: 0, content: 0 }, |part| part.hashes);
            self.write_block(to + step, &bytes, place.size_word & STORED_BLOCK != 0, hashes)?;
            self.scratch = bytes;
        }
        Ok(())
    }

    fn write_fragment(&mut self, index: u32, bytes: &[u8], stored: bool, hashes: Option<Hashes>) -> Result<(), Error> {
        self.leave_gap(Spaced::Fragment(bytes.len()))?;
        let start = self.append(bytes)?;
        match hashes {
            Some(hashes) => self.written.add(part(start, bytes, stored, hashes)),
            None if self.written.records() => {
                self.written.add(part(start, bytes, stored, Hashes { stored: hash(bytes), content: 0 }));
            }
            None => {}
        }
        self.decisions.fragments.committed(index, FragmentBlock { start, size_word: size_word(bytes.len(), stored) });
        Ok(())
    }

    /// Leaves unused bytes before a part.
    fn leave_gap(&mut self, part: Spaced) -> Result<(), Error> {
        let gap = self.spacing.before(part, self.position);
        zeros(gap.zeros).try_for_each(|piece| self.append_plain(piece))?;
        self.append_plain(gap.mark)
    }

    fn append_plain(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let start = self.append(bytes)?;
        self.written.add_plain(start, bytes);
        Ok(())
    }
}

impl Sequencer<HashTask, CompressTask> for DataWriter<'_> {
    fn decide(&mut self, hashed: Hashed, next: &mut Outbox<CompressTask>) -> Result<(), Error> {
        self.decisions.decide(hashed, next)
    }

    fn commit(&mut self, packed: Packed) -> Result<(), Error> {
        match packed {
            Packed::Blocks { raw, product, blocks } => self.write_packed(raw.bytes(), product.bytes(), &blocks),
            Packed::Raw { buffer, blocks } => self.write_raw(buffer.bytes(), &blocks),
            Packed::Copies { from, to, count } => self.copy(from, to, count),
            Packed::Fragment { index, bytes, length, stored, hashes } => {
                self.write_fragment(index, &bytes.bytes()[..length], stored, hashes)
            }
            Packed::Align { bytes } => {
                self.spacing.demand(bytes);
                Ok(())
            }
            Packed::Metadata(_) | Packed::Checked(_) => Err(Error::internal("metadata in the data area".into())),
        }
    }
}

fn part(start: u64, bytes: &[u8], stored: bool, hashes: Hashes) -> Part {
    let form = if stored { Form::Plain } else { Form::Block };
    Part { start, length: bytes.len() as u32, form, hashes }
}

/// Writes to a sink; errors contain the offset.
pub(crate) fn write(sink: &mut dyn Sink, offset: u64, bytes: &[u8]) -> Result<(), Error> {
    match sink.write_at(offset, bytes) {
        Ok(true) => Ok(()),
        Ok(false) => Err(sink_error("write", offset, std::io::ErrorKind::NotSeekable.into())),
        Err(cause) => Err(sink_error("write", offset, cause)),
    }
}

pub(crate) fn sink_error(action: &'static str, offset: u64, cause: std::io::Error) -> Error {
    Error::Sink { action, offset, cause }
}
