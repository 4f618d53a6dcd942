//! The task of the workers: read, hash and compress a record.

use std::sync::Arc;

use packline_cache::{BlockEncoder, ContentDigest, Lookup};
use packline_codec::{Coding, Outcome};
use packline_engine::Permit;

use crate::format::{Digest, PieceHead, Stored, sum};
use crate::record_buffer::{RecordBuffer, RecordPool};
use crate::{CodecId, Error, Input, RecordSize};

/// A record to compress.
pub(super) struct Task {
    pub(super) number: u64,
    /// The bytes of the record's content.
    pub(super) length: usize,
    pub(super) content: Content,
    /// Reserves memory for two buffers.
    pub(super) permit: Permit,
}

/// The content of a record.
pub(super) enum Content {
    /// The content was read.
    Loaded(RecordBuffer),
    /// The worker reads the content from this input.
    InFile(Arc<dyn Input>),
}

/// A record in its stored form.
pub(super) struct CompressedRecord {
    /// The bytes of the record's content.
    pub(super) length: usize,
    pub(super) stored: Stored,
    pub(super) digest: Digest,
    buffer: RecordBuffer,
    _permit: Permit,
}

impl CompressedRecord {
    /// Returns the head and the stored bytes.
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

/// The encoders of a worker, one for each coding that was used.
pub(super) struct Encoders(Vec<Option<BlockEncoder>>);

/// The shortest form of a record so far.
struct Best {
    stored: Stored,
    /// The buffer with the stored bytes; `None` if they are the start of the content.
    buffer: Option<RecordBuffer>,
}

/// Hashes views of a record for the cache. Codings with the same view share the digest.
struct Digests<'a> {
    lookup: &'a Lookup,
    /// The last digest, with the length of its view. Every view begins at the start of the record.
    last: Option<(usize, ContentDigest)>,
}

impl Digests<'_> {
    /// Returns the digest of a view; `None` if there is no cache.
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
    /// Returns the shortest form of a record. If several forms have the same length, the first one wins; the stored form is tried before all
    /// codings.
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

    fn encoder<'a>(&self, coding: &Coding, slot: &'a mut Option<BlockEncoder>) -> Result<&'a mut BlockEncoder, Error> {
        match slot {
            Some(encoder) => Ok(encoder),
            slot => Ok(slot.insert(BlockEncoder::new(&self.lookup, &coding.spec, self.record_size.bytes())?)),
        }
    }

    /// Returns the content of a record, read if necessary.
    fn content(&self, number: u64, length: usize, content: Content) -> Result<RecordBuffer, Error> {
        match content {
            Content::Loaded(buffer) => Ok(buffer),
            Content::InFile(input) => {
                let mut buffer = self.pool.take()?;
                let at = number << self.record_size.log();
                input.read_at(at, buffer.content_mut(length)).map_err(Error::Input)?;
                Ok(buffer)
            }
        }
    }
}

/// Compresses a view. Returns the compressed size; `None` if it is not smaller.
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
        let head = PieceHead::record(stored, length as u32, sum).encode(number);
        // The buffer has space for the head before the stored bytes.
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
