//! Finds matches between NEW and OLD, extends them, and builds groups from them.

use std::io;
use std::sync::Arc;

use packline_engine::CancelToken;
use packline_longrange::{FindError, Match, Settings, find};
use packline_runtime::{Input, TaskError};

use super::groups::{GroupBuilder, PlannedGroup};
use super::window::{OldThenNew, slice};
use crate::format::COPY_LEAST;
use crate::{Error, Side};

/// Bytes compared at a time.
const STEP: usize = 64 << 10;

/// The search for matches.
pub(super) struct Search<'s> {
    /// The plain form of OLD.
    pub(super) old: Arc<dyn Input>,
    /// The plain form of NEW.
    pub(super) new: Arc<dyn Input>,
    pub(super) level: u32,
    /// Upper bound for the bytes of both plain forms that are searched at once.
    pub(super) window: u64,
    pub(super) workers: usize,
    pub(super) cancel: &'s CancelToken,
}

/// A copy that may be extended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Copy {
    at: u64,
    length: u64,
    source: u64,
}

impl Copy {
    fn end(&self) -> u64 {
        self.at + self.length
    }
}

/// Extends copies, and adds them to groups.
struct Extender<'e> {
    search: &'e Search<'e>,
    builder: GroupBuilder,
    /// The last match, if it is a copy.
    last: Option<Copy>,
    buffers: [Vec<u8>; 2],
    each: &'e mut dyn FnMut(PlannedGroup) -> Result<(), Error>,
}

impl Search<'_> {
    /// Returns the memory of the search in bytes, for plain forms of these lengths.
    pub(super) fn memory(level: u32, old: u64, new: u64, most: u64, workers: usize) -> u64 {
        Settings::new(level, old.saturating_add(new).min(most)).with_reference(1).memory(workers)
    }

    /// Calls `each` with the groups, in order.
    pub(super) fn run(&self, each: &mut dyn FnMut(PlannedGroup) -> Result<(), Error>) -> Result<(), Error> {
        let old = self.old.size();
        let new = self.new.size();
        let builder = GroupBuilder::new(old);
        let mut extender = Extender { search: self, builder, last: None, buffers: Default::default(), each };
        let mut at = 0;
        // Nothing matches an empty OLD.
        while at < new && old > 0 {
            let expected = extender.last.map_or(at, |last| last.source + last.length).min(old);
            let (old_range, new_range) = slice(old, new, at, expected, self.window);
            let old_start = old_range.start;
            let old_length = old_range.end - old_range.start;
            let new_start = new_range.start;
            let length = old_length + new_range.end - new_range.start;
            at = new_range.end;
            let window = OldThenNew { old: Arc::clone(&self.old), new: Arc::clone(&self.new), old_range, new_range };
            let settings = Settings::new(self.level, length).with_reference(old_length);
            let mut take = |one: Match| {
                let source = old_start + (one.at - one.distance);
                let at = new_start + (one.at - old_length);
                extender.add(Copy { at, length: one.length, source })
            };
            let searched = find(Arc::new(window), &settings, self.workers, &|| self.cancel.is_cancelled(), &mut take);
            searched.map_err(|error| self.fault(error, old_length))?;
        }
        extender.finish(new)
    }

    fn fault(&self, error: FindError<Error>, old: u64) -> Error {
        match error {
            FindError::Consumer(error) => error,
            FindError::Cancelled => Error::cancelled(),
            FindError::Read { at, source, .. } => {
                Error::Input { side: if at < old { Side::Old } else { Side::New }, cause: source }
            }
            FindError::TooLong { .. } => Error::internal(error.to_string()),
        }
    }
}

impl Extender<'_> {
    fn add(&mut self, mut next: Copy) -> Result<(), Error> {
        if let Some(mut last) = self.last {
            last.length += self.forward(last.end(), last.source + last.length, next.at)?;
            let gap = next.at - last.end();
            if gap == 0 && last.source + last.length == next.source {
                last.length += next.length;
                self.last = Some(last);
                return Ok(());
            }
            self.last = None;
            self.builder.add(last.at, last.length, last.source);
            next = self.backward(next, last.end())?;
        }
        match next.length {
            COPY_LEAST.. => self.last = Some(next),
            length => self.builder.add(next.at, length, next.source),
        }
        self.pass()
    }

    fn pass(&mut self) -> Result<(), Error> {
        self.builder.take().try_for_each(&mut *self.each)
    }

    fn finish(mut self, new: u64) -> Result<(), Error> {
        if let Some(mut last) = self.last {
            last.length += self.forward(last.end(), last.source + last.length, new)?;
            self.builder.add(last.at, last.length, last.source);
        }
        self.builder.finish(new);
        self.pass()
    }

    /// Returns how many bytes of NEW from `at` equal those of OLD from `source`, up to byte `end` of NEW.
    fn forward(&mut self, at: u64, source: u64, end: u64) -> Result<u64, Error> {
        let most = (end - at).min(self.search.old.size() - source);
        let mut same = 0;
        while same < most {
            // Most matches end at once, so the first comparison is short.
            let now = (most - same).min(if same == 0 { 64 } else { STEP as u64 }) as usize;
            self.load(at + same, source + same, now).map_err(Error::input(Side::Old))?;
            let [new, old] = &self.buffers;
            let equal = new.iter().zip(old).take_while(|(new, old)| new == old).count();
            same += equal as u64;
            if equal < now {
                break;
            }
        }
        Ok(same)
    }

    /// Extends a copy with equal bytes before it, down to byte `start` of NEW.
    fn backward(&mut self, mut copy: Copy, start: u64) -> Result<Copy, Error> {
        loop {
            let now = (copy.at - start).min(copy.source).min(STEP as u64) as usize;
            self.load(copy.at - now as u64, copy.source - now as u64, now).map_err(Error::input(Side::Old))?;
            let [new, old] = &self.buffers;
            let equal = new.iter().rev().zip(old.iter().rev()).take_while(|(new, old)| new == old).count();
            let grown = equal as u64;
            copy = Copy { at: copy.at - grown, length: copy.length + grown, source: copy.source - grown };
            if equal < now || now == 0 {
                return Ok(copy);
            }
        }
    }

    fn load(&mut self, at: u64, source: u64, length: usize) -> io::Result<()> {
        let [new, old] = &mut self.buffers;
        new.resize(length, 0);
        old.resize(length, 0);
        self.search.new.read_at(at, new)?;
        self.search.old.read_at(source, old)
    }
}
