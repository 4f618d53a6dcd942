//! The workers' task: read, hash and compress a record.

use std::sync::Arc;

use packline_cache::{BlockEncoder, ContentDigest, Lookup};
use packline_codec::{Coding, Outcome};
use packline_engine::Permit;

use crate::format::{Digest, Piece, Stored, sum};
use crate::record_buffer::{RecordBuffer, RecordPool};
use crate::{CodecId, Error, Input, RecordSize};

/// A record to be compressed.
pub(super) struct Task {
    pub(super) number: u64,
    /// Bytes of its content.
    pub(super) length: usize,
    pub(super) content: Content,
    /// Its memory, twice.
    pub(super) permit: Permit,
}

/// The content of a record.
pub(super) enum Content {
    /// It has been read.
    Here(RecordBuffer),
    /// It is to be read, from where its number says.
    There(Arc<dyn Input>),
}

/// A record in its stored form.
pub(super) struct CompressedRecord {
    /// Bytes of its content.
    pub(super) length: usize,
    pub(super) stored: Stored,
    pub(super) digest: Digest,
    buffer: RecordBuffer,
    _permit: Permit,
}

impl CompressedRecord {
    /// Its head, and what is stored.
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.record(self.stored.size as usize)
    }
}

pub(super) struct CompressTask {
    pub(super) record_size: RecordSize,
    pub(super) codings: Vec<(Coding, CodecId)>,
    pub(super) lookup: Lookup,
    pub(super) pool: RecordPool,
}

/// The encoders of a worker, one for each coding that has been used.
pub(super) struct Encoders(Vec<Option<BlockEncoder>>);

/// The shortest form of a record so far.
struct Best {
    stored: Stored,
    /// Where it is; `None` if it is the start of the content.
    buffer: Option<RecordBuffer>,
}

/// The digest of a view, for the codings that have the same one.
struct Digests<'a> {
    lookup: &'a Lookup,
    /// With the length of its view: views of a record begin at its start.
    last: Option<(usize, ContentDigest)>,
}

impl Digests<'_> {
    /// `None` if none is needed.
    fn of(&mut self, view: &[u8]) -> Option<ContentDigest> {
        if self.lookup.is_empty() {
            return None;
        }
        if self.last.is_none_or(|(length, _)| length != view.len()) {
            self.last = Some((view.len(), ContentDigest::of(view)));
        }
        self.last.map(|(_, digest)| digest)
    }
}

impl CompressTask {
    /// The shortest form of a record. Of several that are alike the first stays, and what is stored as it is comes before all.
    fn shortest(&self, encoders: &mut Encoders, content: &[u8]) -> Result<Best, Error> {
        let plain = Stored { codec: CodecId::None, slack: false, size: content.len() as u32 };
        let mut best = Best { stored: plain, buffer: None };
        let mut spare = None;
        let mut digests = Digests { lookup: &self.lookup, last: None };
        for ((coding, codec), encoder) in self.codings.iter().zip(&mut encoders.0) {
            let view = coding.view(content);
            let slack = view.len() < content.len();
            if view.len() < best.stored.size as usize {
                let stored = Stored { codec: CodecId::None, slack, size: view.len() as u32 };
                spare = std::mem::replace(&mut best, Best { stored, buffer: None }).buffer.or(spare);
            }
            if *codec == CodecId::None || view.is_empty() {
                continue;
            }
            let mut buffer = match spare.take() {
                Some(buffer) => buffer,
                None => self.pool.take()?,
            };
            let encoder = self.encoder(coding, encoder)?;
            let digest = digests.of(view);
            let size = try_compress(encoder, view, digest.as_ref(), buffer.content_mut(content.len()))?;
            match size.filter(|&size| size < best.stored.size) {
                Some(size) => {
                    let stored = Stored { codec: *codec, slack, size };
                    spare = std::mem::replace(&mut best, Best { stored, buffer: Some(buffer) }).buffer;
                }
                None => spare = Some(buffer),
            }
        }
        Ok(best)
    }

    fn encoder<'a>(&self, coding: &Coding, place: &'a mut Option<BlockEncoder>) -> Result<&'a mut BlockEncoder, Error> {
        match place {
            Some(encoder) => Ok(encoder),
            place => Ok(place.insert(BlockEncoder::new(&self.lookup, &coding.spec, self.record_size.bytes())?)),
        }
    }

    /// The content of a record.
    fn content(&self, number: u64, length: usize, content: Content) -> Result<RecordBuffer, Error> {
        match content {
            Content::Here(buffer) => Ok(buffer),
            Content::There(input) => {
                let mut buffer = self.pool.take()?;
                let at = number << self.record_size.log();
                input.read_at(at, buffer.content_mut(length)).map_err(Error::Input)?;
                Ok(buffer)
            }
        }
    }
}

/// Compressed bytes of the view; `None` if that does not make it shorter.
fn try_compress(
    encoder: &mut BlockEncoder,
    view: &[u8],
    digest: Option<&ContentDigest>,
    buffer: &mut [u8],
) -> Result<Option<u32>, Error> {
    match encoder.compress(view, digest, buffer)? {
        Outcome::Smaller(size) => Ok(Some(size as u32)),
        Outcome::NotSmaller => Ok(None),
    }
}

impl packline_engine::Task for CompressTask {
    type In = Task;
    type Out = CompressedRecord;
    type Error = Error;
    type Tool = Encoders;

    fn tool(&self) -> Encoders {
        Encoders(self.codings.iter().map(|_| None).collect())
    }

    fn run(&self, encoders: &mut Encoders, task: Task) -> Result<CompressedRecord, Error> {
        let Task { number, length, content, mut permit } = task;
        let plain = self.content(number, length, content)?;
        let content = plain.content(length);
        let digest = Digest::of(content, number, self.record_size);
        let Best { stored, buffer } = self.shortest(encoders, content)?;
        let mut buffer = buffer.unwrap_or(plain);
        permit.shrink_to(RecordPool::bytes(self.record_size));
        let size = stored.size as usize;
        let sum = if stored.is_plain() { digest.sum() } else { sum(&[buffer.content(size)]) };
        let head = Piece::record(stored, length as u32, sum).encode(number);
        // A head fits before what is stored.
        buffer.record_mut(0).copy_from_slice(&head);
        Ok(CompressedRecord { length, stored, digest, buffer, _permit: permit })
    }

    fn bytes_in(&self, task: &Task) -> u64 {
        task.length as u64
    }

    fn bytes_out(&self, compressed: &CompressedRecord) -> u64 {
        compressed.bytes().len() as u64
    }
}
