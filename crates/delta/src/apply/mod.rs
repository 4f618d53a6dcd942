//! Applies a delta.
//!
//! The caller's thread reads the parts of the delta in order. Groups go to the workers first, a few ahead, where their literals are decompressed;
//! then the steps of the recipe take bytes from them, in pieces, which the workers put together and encode. Pieces are written in order.

mod output;
mod parts;
mod piece;
mod source;

use std::collections::VecDeque;
use std::sync::Arc;

use packline_codec::{ReferenceDecoder, ReferenceLzma, Spec};
use packline_engine::{Budget, CancelToken, OrderedMap, Permit};
use packline_runtime::memory::MemoryPlan;
use packline_runtime::{Input, Observer, Resources, Sink, of_fault};

use self::output::Output;
use self::parts::Parts;
use self::piece::{GroupTask, METADATA_MOST, Piece, PieceTask, StoredGroup};
use self::source::{Cursor, DecodedGroup, Source};
use crate::format::group::Group;
use crate::format::part::{Part, PartKind};
use crate::format::recipe::{BlockKind, STEPS_MOST, Step, StepCoder};
use crate::format::{ENTRIES_MOST, LITERALS_MOST, REFERENCE_MOST};
use crate::passes::Passes;
use crate::plain::Plain;
use crate::{Error, Head, Side, encoders, hash, map};

pub(crate) use self::piece::read_ranges;

/// Bytes of a piece that is not a block.
const PIECE: u64 = 256 << 10;
/// Most sources of a piece.
const SOURCES_MOST: usize = 1 << 16;

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
/// Time and memory are bounded by the sizes of the files, whatever the delta contains; memory by `resources`.
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
    let head = Head::read(delta.as_ref())?;
    let mut passes = Passes::new(observer);
    check_old(old.as_ref(), &head, &resources.cancel, &mut passes)?;
    let mut parts = Parts::new(delta);
    let codec = read_codec(&mut parts, &head)?;
    let lengths = read_lengths(&mut parts)?;
    let plain = Plain::of_old(old, &head, &lengths, &resources.cancel)?;
    let mut patch = Patch::new(head, old, plain, codec, parts, sink, resources, passes)?;
    let counts = patch.run();
    let counts = counts.map_err(|error| patch.first(error))?;
    if old.changed().map_err(Error::input(Side::Old))? {
        return Err(Error::Changed(Side::Old));
    }
    patch.out.check().map(|()| counts)
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

/// The codec of the blocks that are encoded again, if there are any.
fn read_codec(parts: &mut Parts, head: &Head) -> Result<Option<(Spec, usize)>, Error> {
    if head.block_size == 0 {
        return Ok(None);
    }
    let part = parts.expect(PartKind::Codec, "the codec of the blocks")?;
    let offset = part.offset;
    let text = part.content(&mut ReferenceDecoder::default(), &[])?;
    let spec = std::str::from_utf8(&text).ok().and_then(|text| Spec::parse(text).ok());
    let block_size = head.block_size as usize;
    let usable = spec
        .filter(|spec| block_size <= packline_squashfs::MAX_BLOCK_SIZE as usize && spec.validate(block_size).is_ok());
    let expected = "a codec of this program";
    let spec = usable.ok_or_else(|| {
        let codec = String::from_utf8_lossy(&text).escape_default().to_string();
        Error::unsupported(format!("the delta was made with the codec {codec} at byte {offset}"), expected)
    })?;
    if head.encoders != encoders(&spec, block_size) {
        return Err(Error::unsupported(
            "the delta was made with encoders of another version of packline",
            "the version that made it, whose blocks have the same bytes",
        ));
    }
    Ok(Some((spec, block_size)))
}

/// The lengths of blocks of the old image that differ from what its inodes say, as numbers.
fn read_lengths(parts: &mut Parts) -> Result<Vec<u8>, Error> {
    match parts.next_if(PartKind::Lengths)? {
        Some(part) => part.content(&mut ReferenceDecoder::default(), &[]),
        None => Ok(Vec::new()),
    }
}

/// A delta that is being applied.
struct Patch<'p> {
    head: Head,
    plain: Plain,
    parts: Parts,
    coder: StepCoder,
    numbers: ReferenceDecoder,
    steps: VecDeque<Step>,
    groups: OrderedMap<GroupTask>,
    /// Groups on the workers.
    in_flight: usize,
    /// Most groups that are read ahead.
    ahead: usize,
    ready: VecDeque<DecodedGroup>,
    /// For the literals of groups.
    budget: Budget,
    cursor: Option<Cursor>,
    pieces: OrderedMap<PieceTask>,
    submitted: u64,
    out: Output<'p>,
}

impl<'p> Patch<'p> {
    #[allow(clippy::too_many_arguments, reason = "all of them make one value")]
    fn new(
        head: Head,
        old: &Arc<dyn Input>,
        plain: Plain,
        codec: Option<(Spec, usize)>,
        parts: Parts,
        sink: &'p mut dyn Sink,
        resources: &Resources,
        passes: Passes<'p>,
    ) -> Result<Patch<'p>, Error> {
        let demand = demand(&plain, codec.as_ref(), resources);
        let piece = 2 * largest_piece(codec.as_ref());
        let share = LITERALS_MOST as u64 + 4 * piece;
        let granted = map::plan(&demand, share, "applying a delta with one worker", resources, passes.observer)?;
        let pool = map::pool(granted.workers, resources)?;
        plain.keep_for(pool.workers());
        let window = (granted.window / 2).max(piece as usize);
        let old_plain = Arc::clone(&plain.input);
        let groups = map::map(&pool, GroupTask { old: Arc::clone(&old_plain) }, usize::MAX, resources);
        let pieces = PieceTask { old: Arc::clone(old), plain: old_plain, codec };
        let pieces = map::map(&pool, pieces, window, resources);
        Ok(Patch {
            head,
            plain,
            parts,
            coder: StepCoder::new(head.block_size),
            numbers: ReferenceDecoder::default(),
            steps: VecDeque::new(),
            groups,
            in_flight: 0,
            ahead: granted.workers.max(1),
            ready: VecDeque::new(),
            budget: Budget::new(granted.window - window.min(granted.window)),
            cursor: None,
            pieces,
            submitted: 0,
            out: Output::new(head, sink, passes),
        })
    }

    fn run(&mut self) -> Result<Patched, Error> {
        let mut counts = Patched { head: self.head, encoded: 0, kept: 0 };
        let mut left = self.head.new.plain;
        while left > 0 {
            let step = self.next_step()?;
            let made = self.follow(step, left)?;
            left -= made;
            match step {
                Step::Encode { count, .. } => counts.encoded += count,
                Step::Keep { count, .. } => counts.kept += count,
                Step::Raw { .. } => {}
            }
        }
        self.end().map(|()| counts)
    }

    /// Nothing may be left over.
    fn end(&mut self) -> Result<(), Error> {
        let more = match &mut self.cursor {
            Some(cursor) => cursor.next(1).is_some(),
            None => false,
        };
        if more || !self.steps.is_empty() || !self.ready.is_empty() || self.in_flight > 0 {
            return Err(Error::corrupt(self.parts.place(), "the delta has more than it uses", "as much as it uses"));
        }
        self.parts.end()?;
        self.pieces.drain(&mut self.out).map_err(of_fault)
    }

    /// The earlier error: that of a piece in flight, or this one.
    fn first(&mut self, error: Error) -> Error {
        map::first(&mut self.pieces, &mut self.out, error)
    }

    fn next_step(&mut self) -> Result<Step, Error> {
        if self.steps.is_empty() {
            self.read_ahead()?;
        }
        let missing =
            || Error::corrupt(self.parts.place(), "the recipe ends too early", "one that makes the whole file");
        self.steps.pop_front().ok_or_else(missing)
    }

    /// Reads parts until enough groups are on the workers.
    fn read_ahead(&mut self) -> Result<(), Error> {
        while self.in_flight + self.ready.len() < self.ahead {
            match self.parts.peek()? {
                PartKind::Copies => self.submit_group()?,
                PartKind::Recipe if self.steps.len() < STEPS_MOST => self.read_steps()?,
                _ => break,
            }
        }
        Ok(())
    }

    fn read_steps(&mut self) -> Result<(), Error> {
        let part = self.parts.expect(PartKind::Recipe, "a part of the recipe")?;
        let offset = part.offset;
        let content = part.content(&mut self.numbers, &[])?;
        self.steps.extend(self.coder.decode(&content).map_err(|fault| Part::fault(offset, fault))?);
        Ok(())
    }

    fn submit_group(&mut self) -> Result<(), Error> {
        let part = self.parts.expect(PartKind::Copies, "a group")?;
        let offset = part.offset;
        let content = part.content(&mut self.numbers, &[])?;
        let group = Group::decode(&content, self.head.old.plain).map_err(|fault| Part::fault(offset, fault))?;
        let literals = self.parts.expect(PartKind::Literals, "the literals of a group")?;
        if group.literals() != literals.plain as u64 || group.entries.is_empty() {
            let what = format!("{} literals of a group that has {}", literals.plain, group.literals());
            return Err(Error::corrupt(literals.offset, what, "as many as it has"));
        }
        let permit = self.group_permit(literals.plain + group.entries.len() * 32)?;
        let Patch { groups, ready, in_flight, .. } = self;
        *in_flight += 1;
        let mut consumer = collect(ready, in_flight);
        groups.submit(StoredGroup { group, literals, permit }, &mut consumer).map_err(of_fault)
    }

    /// Memory for a group: pieces that use earlier ones return theirs.
    fn group_permit(&mut self, bytes: usize) -> Result<Permit, Error> {
        loop {
            if let Some(permit) = self.budget.try_take(bytes) {
                return Ok(permit);
            }
            if self.submitted == self.out.pieces {
                return Ok(self.budget.take(bytes));
            }
            self.pieces.advance(&mut self.out).map_err(of_fault)?;
        }
    }

    fn next_group(&mut self) -> Result<Cursor, Error> {
        self.read_ahead()?;
        while self.ready.is_empty() {
            if self.in_flight == 0 {
                return Err(Error::corrupt(self.parts.place(), "a group is missing", "one for all of the recipe"));
            }
            let Patch { groups, ready, in_flight, .. } = self;
            groups.advance(&mut collect(ready, in_flight)).map_err(of_fault)?;
        }
        let group = self.ready.pop_front().ok_or_else(|| Error::Internal("a group is gone".into()))?;
        Ok(Cursor::new(group))
    }

    /// The next bytes of the plain form of NEW, at most `most` of them.
    fn take(&mut self, most: u64) -> Result<(Source, u64), Error> {
        loop {
            if let Some(next) = self.cursor.as_mut().and_then(|cursor| cursor.next(most)) {
                return Ok(next);
            }
            self.cursor = None;
            self.cursor = Some(self.next_group()?);
        }
    }

    /// Does what a step says; returns the bytes of the plain form that it uses, of which there are `left`.
    fn follow(&mut self, step: Step, left: u64) -> Result<u64, Error> {
        let needed = match step {
            Step::Raw { length } => length,
            Step::Encode { length, count, .. } => u64::from(length) * count,
            Step::Keep { first, count } => self.kept_length(first, count)?,
        };
        if needed > left {
            let what = format!("a step of the recipe needs {needed} bytes");
            return Err(Error::corrupt(self.parts.place(), what, format!("at most the {left} that are left")));
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

    fn raw(&mut self, length: u64) -> Result<(), Error> {
        let mut left = length;
        while left > 0 {
            left -= self.piece(left.min(PIECE), None)?;
        }
        Ok(())
    }

    /// Submits a piece of `length` bytes of the plain form, or, if it is not a block, fewer; returns their number.
    fn piece(&mut self, length: u64, encode: Option<BlockKind>) -> Result<u64, Error> {
        let (mut sources, mut made) = (Vec::new(), 0);
        while made < length {
            let (source, taken) = self.take(length - made)?;
            sources.push(source);
            made += taken;
            if sources.len() < SOURCES_MOST {
                continue;
            }
            if encode.is_some() && made < length {
                let what = format!("a block of {length} bytes in more than {SOURCES_MOST} parts");
                return Err(Error::corrupt(self.parts.place(), what, "fewer parts"));
            }
            break;
        }
        self.submit(sources, made, encode).map(|()| made)
    }

    fn submit(&mut self, sources: Vec<Source>, length: u64, encode: Option<BlockKind>) -> Result<(), Error> {
        let length = length as usize;
        let bytes = 2 * length + sources.len() * size_of::<Source>();
        let permit = self.pieces.reserve(bytes, &mut self.out).map_err(of_fault)?;
        self.submitted += 1;
        self.pieces.submit(Piece { sources, length, encode, permit }, &mut self.out).map_err(of_fault)
    }

    /// Bytes of the plain form of these blocks of the old image.
    fn kept_length(&self, first: u64, count: u64) -> Result<u64, Error> {
        let blocks = self.plain.form.blocks(first, count).ok_or_else(|| {
            let what = format!("{count} blocks from number {first} on of the old image");
            Error::corrupt(self.parts.place(), what, format!("some of its {}", self.plain.form.count()))
        })?;
        Ok(blocks.iter().map(|block| u64::from(block.plain())).sum())
    }

    /// Writes blocks of the old image as they are stored, and passes over their plain form.
    fn keep(&mut self, first: u64, count: u64, plain: u64) -> Result<(), Error> {
        let mut passed = 0;
        while passed < plain {
            passed += self.take(plain - passed)?.1;
        }
        let form = Arc::clone(&self.plain.form);
        for stored in form.blocks(first, count).unwrap_or_default().chunk_by(|block, next| block.end() == next.at) {
            let (start, end) = (stored[0].at, stored[stored.len() - 1].end());
            for at in (start..end).step_by(PIECE as usize) {
                let range = at..end.min(at + PIECE);
                let length = range.end - range.start;
                self.submit(vec![Source::Stored(range)], length, None)?;
            }
        }
        Ok(())
    }
}

/// Takes decompressed groups.
fn collect<'c>(
    ready: &'c mut VecDeque<DecodedGroup>,
    in_flight: &'c mut usize,
) -> impl FnMut(DecodedGroup) -> Result<(), Error> {
    |group| {
        *in_flight -= 1;
        ready.push_back(group);
        Ok(())
    }
}

/// Bytes of the largest piece.
fn largest_piece(codec: Option<&(Spec, usize)>) -> u64 {
    codec.map_or(0, |(_, block_size)| (*block_size).max(METADATA_MOST) as u64).max(PIECE)
}

/// Memory of applying a delta, besides what is in flight beyond the least.
fn demand(plain: &Plain, codec: Option<&(Spec, usize)>, resources: &Resources) -> MemoryPlan {
    let group = 2 * REFERENCE_MOST + ReferenceLzma::decoder_memory(REFERENCE_MOST + LITERALS_MOST) - REFERENCE_MOST;
    let encoders = codec
        .map_or(0, |(spec, block_size)| spec.footprint(*block_size).encoder + spec.footprint(METADATA_MOST).encoder);
    let numbers = ReferenceLzma::decoder_memory(crate::format::NUMBERS_MOST) + 64 * ENTRIES_MOST + 32 * STEPS_MOST;
    let piece = 2 * largest_piece(codec);
    MemoryPlan {
        extra: plain.memory() + numbers as u64,
        per_worker: (group + encoders) as u64 + plain.worker_memory(),
        caller_works: resources.engine.help_out,
        min_window: piece + LITERALS_MOST as u64,
        window_per_worker: piece + LITERALS_MOST as u64,
        keeps_half: false,
    }
}
