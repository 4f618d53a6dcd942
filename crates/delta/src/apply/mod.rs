//! Applies a delta.
//!
//! The caller's thread reads the parts of the delta in order. Groups go to the workers first, a few ahead, and the workers decompress their
//! literals. The steps of the recipe then take bytes from the groups, in chunks. The workers assemble and encode the chunks, which are
//! written in order.

mod chunk;
mod chunk_writer;
mod codec;
mod groups;
mod reader;
mod source;

use std::sync::Arc;

use packline_codec::{ReferenceDecoder, ReferenceLzma};
use packline_engine::CancelToken;
use packline_runtime::memory::Demand;
use packline_runtime::{Input, Observer, Resources, Sink};

use self::chunk_writer::{CHUNK, ChunkWriter, Output, SOURCES_MOST};
use self::codec::BlockCodec;
use self::groups::Groups;

use self::reader::{Parts, Reader};
use crate::format::part::PartKind;
use crate::format::recipe::{BlockKind, STEPS_MOST, Step};
use crate::format::{ENTRIES_MOST, LITERALS_MOST, NUMBERS_MOST, REFERENCE_MOST};
use crate::passes::Passes;
use crate::plain::{Form, Plain};
use crate::{Error, Head, Side, passes};

pub(crate) use self::chunk::read_ranges;

/// The result of applying a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patched {
    /// The head of the delta.
    pub head: Head,
    /// The number of blocks of the new file that were encoded.
    pub encoded: u64,
    /// The number of blocks that were copied as they are stored in the old image.
    pub kept: u64,
}

/// Builds the new file from the old file and a delta, and writes it to `sink`. Nothing is written before the old file was read and matches
/// the hash in the delta. The written bytes are the new file only if this returns `Ok`.
///
/// The sizes of the files bound the time, for any content of the delta. `resources` bound the memory.
///
/// # Errors
/// [`Error::OtherOld`] for another old file, [`Error::Corrupt`] for a damaged delta, and the other variants of [`Error`].
pub fn patch(
    old: &Arc<dyn Input>,
    delta: &Arc<dyn Input>,
    sink: &mut dyn Sink,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Patched, Error> {
    let mut passes = Passes::new(observer);
    let opened = OpenedDelta::read(old, delta, resources, &mut passes)?;
    let mut patch = Patch::new(opened, sink, resources, passes)?;
    let result = patch.run();
    let counts = result.map_err(|error| patch.chunks.earliest_error(error))?;
    if old.changed().map_err(Error::input(Side::Old))? {
        return Err(Error::Changed(Side::Old));
    }
    patch.chunks.check().map(|()| counts)
}

/// An old file, and its delta, read up to the codec.
struct OpenedDelta {
    head: Head,
    old: Arc<dyn Input>,
    plain: Plain,
    codec: Option<BlockCodec>,
    parts: Parts,
}

impl OpenedDelta {
    fn read(
        old: &Arc<dyn Input>,
        delta: &Arc<dyn Input>,
        resources: &Resources,
        passes: &mut Passes<'_>,
    ) -> Result<OpenedDelta, Error> {
        let head = Head::read(delta.as_ref())?;
        check_old(old.as_ref(), &head, &resources.cancel, passes)?;
        let mut parts = Parts::new(delta);
        let codec = BlockCodec::read(&mut parts, &head)?;
        let lengths = match parts.next_if(PartKind::Lengths)? {
            Some(part) => part.content(&mut ReferenceDecoder::default(), &[])?,
            None => Vec::new(),
        };
        let plain = Plain::of_old(old, &head, &lengths, resources)?;
        Ok(OpenedDelta { head, old: Arc::clone(old), plain, codec, parts })
    }

    /// The memory of applying the delta.
    fn demand(&self) -> Demand {
        let codec = self.codec.as_ref();
        let group = 2 * REFERENCE_MOST + ReferenceLzma::decoder_memory(REFERENCE_MOST + LITERALS_MOST) - REFERENCE_MOST;
        // One part that is read ahead, and one part with its content.
        let numbers = ReferenceLzma::decoder_memory(NUMBERS_MOST) + 3 * NUMBERS_MOST;
        let decoded = 64 * ENTRIES_MOST + 3 * STEPS_MOST * size_of::<Step>();
        let chunk = ChunkWriter::memory_most(codec);
        Demand {
            fixed: self.plain.memory() + (numbers + decoded) as u64,
            per_worker: (group + codec.map_or(0, BlockCodec::memory)) as u64 + self.plain.worker_memory(),
            window: chunk + LITERALS_MOST as u64,
            window_per_worker: chunk + LITERALS_MOST as u64,
        }
    }
}

/// Checks the length and then the hash of the old file.
fn check_old(old: &dyn Input, head: &Head, cancel: &CancelToken, passes: &mut Passes<'_>) -> Result<(), Error> {
    let other = |what: String, expected: String| Error::OtherOld { what, expected };
    if old.size() != head.old.size {
        return Err(other(format!("{} bytes", old.size()), format!("{} bytes", head.old.size)));
    }
    let found = passes::hash_of_file(Side::Old, old, cancel, passes)?;
    if found != head.old.hash {
        return Err(other(format!("BLAKE3 {}", passes::shown_hash(&found)), passes::shown_hash(&head.old.hash)));
    }
    Ok(())
}

/// A delta that is applied.
struct Patch<'p> {
    head: Head,
    /// The form of OLD.
    form: Arc<Form>,
    reader: Reader,
    chunks: ChunkWriter<'p>,
}

impl<'p> Patch<'p> {
    fn new(
        opened: OpenedDelta,
        sink: &'p mut dyn Sink,
        resources: &Resources,
        mut passes: Passes<'p>,
    ) -> Result<Patch<'p>, Error> {
        let chunk = ChunkWriter::memory_most(opened.codec.as_ref());
        let share = LITERALS_MOST as u64 + 2 * chunk;
        let granted = passes.plan(opened.demand(), share, "applying a delta with one worker", resources)?;
        let OpenedDelta { head, old, plain, codec, parts } = opened;
        let pool = resources.pool(granted.workers)?;
        plain.set_workers(pool.workers());
        let window = (granted.window / 2).max(chunk as usize);
        let groups = Groups::new(&pool, &plain, granted.window - window.min(granted.window), resources);
        let reader = Reader::new(&head, parts, groups, granted.workers.max(1));
        let out = Output::new(head, sink, passes);
        let chunks = ChunkWriter::new(&pool, old, &plain, codec, window, resources, out);
        Ok(Patch { head, form: plain.form, reader, chunks })
    }

    fn run(&mut self) -> Result<Patched, Error> {
        let mut counts = Patched { head: self.head, encoded: 0, kept: 0 };
        let mut left = self.head.new.plain;
        while left > 0 {
            let step = self.reader.next_step(&mut self.chunks)?;
            left -= self.follow(step, left)?;
            match step {
                Step::Encode { count, .. } => counts.encoded += count,
                Step::Keep { count, .. } => counts.kept += count,
                Step::Raw { .. } => {}
            }
        }
        self.reader.end()?;
        self.chunks.drain().map(|()| counts)
    }

    /// Executes a step. Returns how many of the `left` bytes of the plain form the step uses.
    fn follow(&mut self, step: Step, left: u64) -> Result<u64, Error> {
        let needed = self.needed(step)?;
        if needed > left {
            let what = format!("a step of the recipe needs {needed} bytes");
            return Err(self.reader.corrupt(what, format!("at most the remaining {left}")));
        }
        match step {
            Step::Raw { length } => self.raw(length)?,
            Step::Encode { kind, length, count } => {
                for _ in 0..count {
                    self.chunk(u64::from(length), Some(kind))?;
                }
            }
            Step::Keep { first, count } => self.keep(first, count, needed)?,
        }
        Ok(needed)
    }

    /// Returns the bytes of the plain form of NEW that a step uses.
    fn needed(&self, step: Step) -> Result<u64, Error> {
        let needed = self.form.bytes_used(step);
        needed.ok_or_else(|| {
            self.reader
                .corrupt("a step keeps blocks that the old image lacks", format!("some of its {}", self.form.count()))
        })
    }

    fn raw(&mut self, length: u64) -> Result<(), Error> {
        let mut left = length;
        while left > 0 {
            left -= self.chunk(left.min(CHUNK), None)?;
        }
        Ok(())
    }

    /// Submits a chunk of `length` bytes of the plain form. A chunk that is not a block may be shorter. Returns the number of bytes.
    fn chunk(&mut self, length: u64, encode: Option<BlockKind>) -> Result<u64, Error> {
        let mut sources = Vec::new();
        let mut gathered = 0;
        while gathered < length && sources.len() < SOURCES_MOST {
            let (source, taken) = self.reader.take(length - gathered, &mut self.chunks)?;
            sources.push(source);
            gathered += taken;
        }
        if encode.is_some() && gathered < length {
            let what = format!("a block of {length} bytes in more than {SOURCES_MOST} parts");
            return Err(self.reader.corrupt(what, "fewer parts"));
        }
        self.chunks.submit(sources, gathered, encode).map(|()| gathered)
    }

    /// Writes blocks of the old image as they are stored, and skips their plain form.
    fn keep(&mut self, first: u64, count: u64, plain: u64) -> Result<(), Error> {
        let mut passed = 0;
        while passed < plain {
            passed += self.reader.take(plain - passed, &mut self.chunks)?.1;
        }
        let blocks = self.form.blocks(first, count).unwrap_or_default();
        for stored in blocks.chunk_by(|block, next| block.end() == next.at) {
            self.chunks.stored(stored[0].at..stored[stored.len() - 1].end())?;
        }
        Ok(())
    }
}
