//! The workers' task: read, check, decompress and hash a record.

use std::sync::Arc;

use packline_codec::CodecError;
use packline_engine::Permit;
use packline_runtime::TaskError;

use super::decoders::Decoders;
use crate::format::{Digest, Entry, Kind, PIECE_BYTES, Piece, Stored, sum};
use crate::record_buffer::{RecordBuffer, RecordPool};
use crate::{CodecId, Error, Input, Part, RecordSize};

/// A record to be read.
pub(super) struct Task {
    pub(super) number: u64,
    /// Its offset in the file, bytes.
    pub(super) offset: u64,
    /// Bytes of its content.
    pub(super) length: usize,
    pub(super) place: Place,
    pub(super) permit: Permit,
}

/// Source of a record.
pub(super) enum Place {
    /// It has been read: its head, and what is stored.
    Here(Piece, Stored, RecordBuffer),
    /// It is where its task says, and as its table says.
    There(Arc<dyn Input>, Entry),
}

/// A decoded record.
pub(super) struct Product {
    pub(super) number: u64,
    pub(super) length: usize,
    pub(super) outcome: Result<Good, Error>,
    _permit: Permit,
}

/// A valid record.
pub(super) struct Good {
    pub(super) content: RecordBuffer,
    /// Where nothing but zeros follows, which are not stored; its length if there are none.
    pub(super) zeros: usize,
    pub(super) entry: Entry,
    pub(super) digest: Digest,
}

pub(super) struct DecodeTask {
    pub(super) record_size: RecordSize,
    pub(super) pool: RecordPool,
}

/// Tools of a worker.
#[derive(Default)]
pub(super) struct Tools {
    decoders: Decoders,
    /// The stored bytes of a record.
    stored: Vec<u8>,
}

/// Bytes of the tools of a worker.
///
/// # Errors
/// None, except for a bug.
pub(super) fn tool(record_size: RecordSize) -> Result<u64, Error> {
    Ok((Decoders::memory(record_size)? + PIECE_BYTES + record_size.bytes()) as u64)
}

/// A record that is being verified.
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

    fn read(&self, tools: &mut Tools, place: Place) -> Result<Good, Error> {
        match place {
            Place::Here(piece, stored, buffer) if stored.is_plain() => self.plain(&piece, stored, buffer),
            Place::Here(piece, stored, buffer) => {
                self.packed(&mut tools.decoders, &piece, stored, buffer.content(stored.size as usize))
            }
            Place::There(input, entry) => self.there(tools, &*input, entry),
        }
    }

    fn there(&self, tools: &mut Tools, input: &dyn Input, entry: Entry) -> Result<Good, Error> {
        let size = entry.stored.size as usize;
        let good = if entry.stored.is_plain() {
            let mut buffer = self.work.pool.take()?;
            input.read_at(self.offset, buffer.record_mut(size)).map_err(Error::Input)?;
            let piece = self.head(buffer.record(0), entry)?;
            self.plain(&piece, entry.stored, buffer)?
        } else {
            tools.stored.resize(PIECE_BYTES + size, 0);
            input.read_at(self.offset, &mut tools.stored).map_err(Error::Input)?;
            let (head, payload) = tools.stored.split_at(PIECE_BYTES);
            let piece = self.head(head, entry)?;
            self.packed(&mut tools.decoders, &piece, entry.stored, payload)?
        };
        if good.digest.node != entry.node {
            let expected = "the one that the table of its group has".to_owned();
            return Err(self.corrupt("its content has another hash".to_owned(), expected));
        }
        Ok(good)
    }

    /// The header of a record, which must agree with its table.
    fn head(&self, bytes: &[u8], entry: Entry) -> Result<Piece, Error> {
        let bytes = bytes.try_into().map_err(|_| Error::internal("a head is not whole".to_owned()))?;
        let piece = Piece::parse(bytes, (Kind::Record, self.number), self.part(), self.offset)?;
        let stored = piece.stored(self.work.record_size.bytes(), self.part(), self.offset)?;
        if stored == entry.stored && piece.logical as usize == self.length {
            return Ok(piece);
        }
        let what = format!("{} bytes of content, {}", piece.logical, stored.describe());
        let expected = format!("{} bytes, {}, as its table says", self.length, entry.stored.describe());
        Err(self.corrupt(what, expected))
    }

    /// A record that is stored as it is.
    fn plain(&self, piece: &Piece, stored: Stored, buffer: RecordBuffer) -> Result<Good, Error> {
        let digest = Digest::of(buffer.content(self.length), self.number, self.work.record_size);
        piece.check_sum(digest.sum(), self.part(), self.offset)?;
        Ok(Good { content: buffer, zeros: self.length, entry: Entry { stored, node: digest.node }, digest })
    }

    fn packed(&self, decoders: &mut Decoders, piece: &Piece, stored: Stored, payload: &[u8]) -> Result<Good, Error> {
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
        Ok(Good { content: buffer, zeros: made, entry: Entry { stored, node: digest.node }, digest })
    }

    /// Decompresses the stored bytes; returns the length of the content.
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
    /// Reads and verifies a record: its number, its offset in the file and the bytes of its content.
    ///
    /// # Errors
    /// Those of the record.
    pub(super) fn record(
        &self,
        tools: &mut Tools,
        (number, offset, length): (u64, u64, usize),
        place: Place,
    ) -> Result<Good, Error> {
        Check { work: self, number, offset, length }.read(tools, place)
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
        let Task { number, offset, length, place, mut permit } = task;
        let outcome = self.record(tools, (number, offset, length), place);
        permit.shrink_to(RecordPool::bytes(self.record_size));
        // Whether others are wanted after damage is not for a worker to say.
        Ok(Product { number, length, outcome, _permit: permit })
    }

    fn bytes_in(&self, task: &Task) -> u64 {
        match &task.place {
            Place::Here(_, stored, _) => u64::from(stored.size),
            Place::There(_, entry) => entry.physical(),
        }
    }

    fn bytes_out(&self, product: &Product) -> u64 {
        product.outcome.as_ref().map_or(0, |_| product.length as u64)
    }
}
