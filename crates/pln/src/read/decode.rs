//! The task of the workers: read, check, decompress and hash a record.

use std::sync::Arc;

use packline_codec::CodecError;
use packline_engine::Permit;
use packline_runtime::TaskError;

use super::decoders::Decoders;
use crate::format::{Digest, Entry, Kind, PIECE_HEAD_BYTES, PieceHead, Stored, sum};
use crate::record_buffer::{RecordBuffer, RecordPool};
use crate::{CodecId, Error, Input, Part, RecordSize};

/// A record to decode.
pub(super) struct Task {
    pub(super) number: u64,
    /// Offset of the record in the file.
    pub(super) offset: u64,
    /// The bytes of the record's content.
    pub(super) length: usize,
    pub(super) source: RecordSource,
    pub(super) permit: Permit,
}

/// The source of a record.
pub(super) enum RecordSource {
    /// The record was read: its head, and the stored bytes.
    Loaded(PieceHead, Stored, RecordBuffer),
    /// The worker reads the record from this input. The entry is the record's entry in its table.
    InFile(Arc<dyn Input>, Entry),
}

/// A decoded record.
pub(super) struct Product {
    pub(super) number: u64,
    pub(super) length: usize,
    pub(super) outcome: Result<DecodedRecord, Error>,
    _permit: Permit,
}

/// A valid record.
pub(super) struct DecodedRecord {
    pub(super) content: RecordBuffer,
    /// From this byte, the content has only zeros, which are not stored. It is the length of the content if there are no such zeros.
    pub(super) zeros: usize,
    pub(super) entry: Entry,
    pub(super) digest: Digest,
}

pub(super) struct DecodeTask {
    pub(super) record_size: RecordSize,
    pub(super) pool: RecordPool,
}

/// The tools of a worker.
#[derive(Default)]
pub(super) struct Tools {
    decoders: Decoders,
    /// The head and the stored bytes of a record.
    stored: Vec<u8>,
}

/// Returns the memory of a worker's tools in bytes.
///
/// # Errors
/// Never returns an error, unless this program has a bug.
pub(super) fn tool(record_size: RecordSize) -> Result<u64, Error> {
    Ok((Decoders::memory(record_size)? + PIECE_HEAD_BYTES + record_size.bytes()) as u64)
}

/// A record that is verified.
struct Check<'a> {
    work: &'a DecodeTask,
    number: u64,
    offset: u64,
    length: usize,
}

impl Check<'_> {
    fn part(&self) -> Part {
        Part::Record(self.number)
    }

    fn corrupt(&self, what: String, expected: String) -> Error {
        Error::corrupt(self.part(), self.offset, what, expected)
    }

    fn read(&self, tools: &mut Tools, source: RecordSource) -> Result<DecodedRecord, Error> {
        match source {
            RecordSource::Loaded(piece, stored, buffer) if stored.is_plain() => self.plain(&piece, stored, buffer),
            RecordSource::Loaded(piece, stored, buffer) => {
                self.packed(&mut tools.decoders, &piece, stored, buffer.content(stored.size as usize))
            }
            RecordSource::InFile(input, entry) => self.in_file(tools, &*input, entry),
        }
    }

    fn in_file(&self, tools: &mut Tools, input: &dyn Input, entry: Entry) -> Result<DecodedRecord, Error> {
        let size = entry.stored.size as usize;
        let record = if entry.stored.is_plain() {
            let mut buffer = self.work.pool.take()?;
            input.read_at(self.offset, buffer.record_mut(size)).map_err(Error::Input)?;
            let piece = self.head(buffer.record(0), entry)?;
            self.plain(&piece, entry.stored, buffer)?
        } else {
            tools.stored.resize(PIECE_HEAD_BYTES + size, 0);
            input.read_at(self.offset, &mut tools.stored).map_err(Error::Input)?;
            let (head, payload) = tools.stored.split_at(PIECE_HEAD_BYTES);
            let piece = self.head(head, entry)?;
            self.packed(&mut tools.decoders, &piece, entry.stored, payload)?
        };
        if record.digest.node != entry.node {
            let expected = "the hash in its group's table".to_owned();
            return Err(self.corrupt("wrong hash of the content".to_owned(), expected));
        }
        Ok(record)
    }

    /// Parses the head of a record, which must agree with the table.
    fn head(&self, bytes: &[u8], entry: Entry) -> Result<PieceHead, Error> {
        let bytes = bytes.try_into().map_err(|_| Error::internal("a head is incomplete".to_owned()))?;
        let piece = PieceHead::parse(bytes, Kind::Record, self.number, self.part(), self.offset)?;
        let stored = piece.stored(self.work.record_size.bytes(), self.part(), self.offset)?;
        if stored == entry.stored && piece.logical as usize == self.length {
            return Ok(piece);
        }
        let what = format!("{} bytes of content, {}", piece.logical, stored.describe());
        let expected = format!("{} bytes, {}, as in its table", self.length, entry.stored.describe());
        Err(self.corrupt(what, expected))
    }

    /// Checks a record that stores its content.
    fn plain(&self, piece: &PieceHead, stored: Stored, buffer: RecordBuffer) -> Result<DecodedRecord, Error> {
        let digest = Digest::of(buffer.content(self.length), self.number, self.work.record_size);
        piece.check_sum(digest.sum(), self.part(), self.offset)?;
        Ok(DecodedRecord { content: buffer, zeros: self.length, entry: Entry { stored, node: digest.node }, digest })
    }

    fn packed(
        &self,
        decoders: &mut Decoders,
        piece: &PieceHead,
        stored: Stored,
        payload: &[u8],
    ) -> Result<DecodedRecord, Error> {
        piece.check_sum(sum(&[payload]), self.part(), self.offset)?;
        let mut buffer = self.work.pool.take()?;
        let content = buffer.content_mut(self.length);
        let made = self.unpack(decoders, stored.codec, payload, content)?;
        match content.get_mut(made..) {
            Some([]) => {}
            Some(rest) if stored.slack => rest.fill(0),
            _ => return Err(self.corrupt(format!("it holds {made} bytes"), self.length.to_string())),
        }
        let digest = Digest::of(content, self.number, self.work.record_size);
        Ok(DecodedRecord { content: buffer, zeros: made, entry: Entry { stored, node: digest.node }, digest })
    }

    /// Decompresses the stored bytes. Returns the length of the content.
    fn unpack(
        &self,
        decoders: &mut Decoders,
        codec: CodecId,
        payload: &[u8],
        content: &mut [u8],
    ) -> Result<usize, Error> {
        let decoder = decoders.of(codec, self.work.record_size)?;
        decoder.decompress(payload, content).map_err(|error| match error {
            CodecError::OutOfMemory { .. } | CodecError::Library { .. } => Error::Codec(error),
            error => self.corrupt(error.to_string(), format!("{} that holds {} bytes", codec.name(), self.length)),
        })
    }
}

impl DecodeTask {
    /// Reads and verifies a record, given by its number, its offset in the file and the length of its content.
    ///
    /// # Errors
    /// Returns the faults of the record.
    pub(super) fn record(
        &self,
        tools: &mut Tools,
        number: u64,
        offset: u64,
        length: usize,
        source: RecordSource,
    ) -> Result<DecodedRecord, Error> {
        Check { work: self, number, offset, length }.read(tools, source)
    }
}

impl packline_engine::Task for DecodeTask {
    type In = Task;
    type Out = Product;
    type Error = Error;
    type Tool = Tools;

    fn tool(&self) -> Tools {
        Tools::default()
    }

    fn run(&self, tools: &mut Tools, task: Task) -> Result<Product, Error> {
        let Task { number, offset, length, source, mut permit } = task;
        let outcome = self.record(tools, number, offset, length, source);
        permit.shrink_to(RecordPool::bytes(self.record_size));
        // The consumer decides whether reading continues after damage, so damage is not an error of the task.
        Ok(Product { number, length, outcome, _permit: permit })
    }

    fn bytes_in(&self, task: &Task) -> u64 {
        match &task.source {
            RecordSource::Loaded(_, stored, _) => u64::from(stored.size),
            RecordSource::InFile(_, entry) => entry.physical(),
        }
    }

    fn bytes_out(&self, product: &Product) -> u64 {
        product.outcome.as_ref().map_or(0, |_| product.length as u64)
    }
}
