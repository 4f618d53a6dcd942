//! Applies a delta.
//!
//! The caller's thread reads the parts of the delta in order. Groups go to the workers first, a few ahead, where their literals are decompressed;
//! then the steps of the recipe take bytes from them, in pieces, which the workers put together and encode. Pieces are written in order.

mod codec;
mod groups;
mod output;
mod parts;
mod piece;
mod pieces;
mod reader;
mod source;

use std::sync::Arc;

use packline_codec::{ReferenceDecoder, ReferenceLzma};
use packline_engine::CancelToken;
use packline_runtime::memory::Demand;
use packline_runtime::{Input, Observer, Resources, Sink};

use self::codec::BlockCodec;
use self::groups::Groups;
use self::output::Output;
use self::parts::Parts;
use self::pieces::{PIECE, Pieces, SOURCES_MOST};
use self::reader::Reader;
use crate::format::part::PartKind;
use crate::format::recipe::{BlockKind, STEPS_MOST, Step};
use crate::format::{ENTRIES_MOST, LITERALS_MOST, NUMBERS_MOST, REFERENCE_MOST};
use crate::passes::Passes;
use crate::plain::{Form, Plain};
use crate::{Error, Head, Side, hash};

pub(crate) use self::piece::read_ranges;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patched {
    /// What the delta says of itself.
    pub head: Head,
    /// Blocks of the new file that were encoded.
    pub encoded: u64,
    /// Blocks of it that were copied as they are stored.
    pub kept: u64,
}

/// Makes the new file of the old one and a delta, and writes it to `sink`. Nothing is written before the old file was read and found to be the
/// one that the delta was made for. What was written is the new file only if this returns `Ok`.
///
/// Time is bounded by the sizes of the files, whatever the delta contains; memory by `resources`.
///
/// # Errors
/// [`Error`]: [`Error::OtherOld`] for another old file, [`Error::Corrupt`] for a damaged delta.
pub fn patch(
    old: &Arc<dyn Input>,
    delta: &Arc<dyn Input>,
    sink: &mut dyn Sink,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Patched, Error> {
    let mut passes = Passes::new(observer);
    let opened = Opened::read(old, delta, resources, &mut passes)?;
    let mut patch = Patch::new(opened, sink, resources, passes)?;
    let counts = patch.run();
    let counts = counts.map_err(|error| patch.pieces.first(error))?;
    if old.changed().map_err(Error::input(Side::Old))? {
        return Err(Error::Changed(Side::Old));
    }
    patch.pieces.check().map(|()| counts)
}

/// An old file, and a delta for it up to the codec.
struct Opened {
    head: Head,
    old: Arc<dyn Input>,
    plain: Plain,
    codec: Option<BlockCodec>,
    parts: Parts,
}

impl Opened {
    fn read(
        old: &Arc<dyn Input>,
        delta: &Arc<dyn Input>,
        resources: &Resources,
        passes: &mut Passes<'_>,
    ) -> Result<Opened, Error> {
        let head = Head::read(delta.as_ref())?;
        check_old(old.as_ref(), &head, &resources.cancel, passes)?;
        let mut parts = Parts::new(delta);
        let codec = BlockCodec::read(&mut parts, &head)?;
        let lengths = match parts.next_if(PartKind::Lengths)? {
            Some(part) => part.content(&mut ReferenceDecoder::default(), &[])?,
            None => Vec::new(),
        };
        let plain = Plain::of_old(old, &head, &lengths, resources)?;
        Ok(Opened { head, old: Arc::clone(old), plain, codec, parts })
    }

    /// Memory of applying it, besides what is in flight beyond the least.
    fn demand(&self) -> Demand {
        let codec = self.codec.as_ref();
        let group = 2 * REFERENCE_MOST + ReferenceLzma::decoder_memory(REFERENCE_MOST + LITERALS_MOST) - REFERENCE_MOST;
        // A part that is read ahead, and one with its content.
        let numbers = ReferenceLzma::decoder_memory(NUMBERS_MOST) + 3 * NUMBERS_MOST;
        let decoded = 64 * ENTRIES_MOST + 3 * STEPS_MOST * size_of::<Step>();
        let piece = Pieces::memory_most(codec);
        Demand {
            fixed: self.plain.memory() + (numbers + decoded) as u64,
            per_worker: (group + codec.map_or(0, BlockCodec::memory)) as u64 + self.plain.worker_memory(),
            window: piece + LITERALS_MOST as u64,
            window_per_worker: piece + LITERALS_MOST as u64,
        }
    }
}

/// Checks the old file: its length, then its hash.
fn check_old(old: &dyn Input, head: &Head, cancel: &CancelToken, passes: &mut Passes<'_>) -> Result<(), Error> {
    let other = |what: String, expected: String| Error::OtherOld { what, expected };
    if old.size() != head.old.size {
        return Err(other(format!("{} bytes", old.size()), format!("{} bytes", head.old.size)));
    }
    let found = hash::of_file(Side::Old, old, cancel, passes)?;
    if found != head.old.hash {
        return Err(other(format!("BLAKE3 {}", hash::shown(&found)), hash::shown(&head.old.hash)));
    }
    Ok(())
}

/// A delta that is being applied.
struct Patch<'p> {
    head: Head,
    /// That of OLD.
    form: Arc<Form>,
    reader: Reader,
    pieces: Pieces<'p>,
}

impl<'p> Patch<'p> {
    fn new(
        opened: Opened,
        sink: &'p mut dyn Sink,
        resources: &Resources,
        mut passes: Passes<'p>,
    ) -> Result<Patch<'p>, Error> {
        let piece = Pieces::memory_most(opened.codec.as_ref());
        let share = LITERALS_MOST as u64 + 2 * piece;
        let granted = passes.plan(opened.demand(), share, "applying a delta with one worker", resources)?;
        let Opened { head, old, plain, codec, parts } = opened;
        let pool = resources.pool(granted.workers)?;
        plain.keep_for(pool.workers());
        let window = (granted.window / 2).max(piece as usize);
        let groups = Groups::new(&pool, &plain, granted.window - window.min(granted.window), resources);
        let reader = Reader::new(&head, parts, groups, granted.workers.max(1));
        let out = Output::new(head, sink, passes);
        let pieces = Pieces::new(&pool, old, &plain, codec, window, resources, out);
        Ok(Patch { head, form: plain.form, reader, pieces })
    }

    fn run(&mut self) -> Result<Patched, Error> {
        let mut counts = Patched { head: self.head, encoded: 0, kept: 0 };
        let mut left = self.head.new.plain;
        while left > 0 {
            let step = self.reader.next_step(&mut self.pieces)?;
            left -= self.follow(step, left)?;
            match step {
                Step::Encode { count, .. } => counts.encoded += count,
                Step::Keep { count, .. } => counts.kept += count,
                Step::Raw { .. } => {}
            }
        }
        self.reader.end()?;
        self.pieces.drain().map(|()| counts)
    }

    /// Does what a step says; returns the bytes of the plain form that it uses, of which there are `left`.
    fn follow(&mut self, step: Step, left: u64) -> Result<u64, Error> {
        let needed = self.needed(step)?;
        if needed > left {
            let what = format!("a step of the recipe needs {needed} bytes");
            return Err(self.reader.corrupt(what, format!("at most the {left} that are left")));
        }
        match step {
            Step::Raw { length } => self.raw(length)?,
            Step::Encode { kind, length, count } => {
                for _ in 0..count {
                    self.piece(u64::from(length), Some(kind))?;
                }
            }
            Step::Keep { first, count } => self.keep(first, count, needed)?,
        }
        Ok(needed)
    }

    /// Bytes of the plain form of NEW that a step uses.
    fn needed(&self, step: Step) -> Result<u64, Error> {
        let needed = self.form.used(step);
        needed.ok_or_else(|| {
            self.reader
                .corrupt("a step keeps blocks that OLD's image lacks", format!("some of its {}", self.form.count()))
        })
    }

    fn raw(&mut self, length: u64) -> Result<(), Error> {
        let mut left = length;
        while left > 0 {
            left -= self.piece(left.min(PIECE), None)?;
        }
        Ok(())
    }

    /// Submits a piece of `length` bytes of the plain form, or, if it is not a block, fewer; returns their number.
    fn piece(&mut self, length: u64, encode: Option<BlockKind>) -> Result<u64, Error> {
        let mut sources = Vec::new();
        let mut made = 0;
        while made < length && sources.len() < SOURCES_MOST {
            let (source, taken) = self.reader.take(length - made, &mut self.pieces)?;
            sources.push(source);
            made += taken;
        }
        if encode.is_some() && made < length {
            let what = format!("a block of {length} bytes in more than {SOURCES_MOST} parts");
            return Err(self.reader.corrupt(what, "fewer parts"));
        }
        self.pieces.submit(sources, made, encode).map(|()| made)
    }

    /// Writes blocks of the old image as they are stored, and passes over their plain form.
    fn keep(&mut self, first: u64, count: u64, plain: u64) -> Result<(), Error> {
        let mut passed = 0;
        while passed < plain {
            passed += self.reader.take(plain - passed, &mut self.pieces)?.1;
        }
        let blocks = self.form.blocks(first, count).unwrap_or_default();
        for stored in blocks.chunk_by(|block, next| block.end() == next.at) {
            self.pieces.stored(stored[0].at..stored[stored.len() - 1].end())?;
        }
        Ok(())
    }
}
