//! Reads the parts of a delta as steps, and as bytes of the plain form of NEW.

use super::chunk_writer::ChunkWriter;
use super::groups::Groups;
use super::source::{Cursor, Source};
use crate::format::group::Group;
use crate::format::head::HEAD_BYTES;
use crate::format::part::{Part, PartKind};
use crate::format::recipe::{STEPS_MOST, Step, StepCoder};
use crate::{Error, Head};
use packline_codec::ReferenceDecoder;
use packline_runtime::Input;
use std::collections::VecDeque;
use std::sync::Arc;

/// Reads parts ahead, until enough groups are on the workers.
pub(super) struct Reader {
    parts: Parts,
    /// Length of the plain form of OLD in bytes.
    old: u64,
    coder: StepCoder,
    numbers: ReferenceDecoder,
    steps: VecDeque<Step>,
    groups: Groups,
    /// Upper bound for the groups that are read ahead.
    ahead: usize,
    cursor: Option<Cursor>,
}

impl Reader {
    pub(super) fn new(head: &Head, parts: Parts, groups: Groups, ahead: usize) -> Reader {
        Reader {
            parts,
            old: head.old.plain,
            coder: StepCoder::new(head.block_size),
            numbers: ReferenceDecoder::default(),
            steps: VecDeque::new(),
            groups,
            ahead,
            cursor: None,
        }
    }

    /// Returns the error for a fault at the next part.
    pub(super) fn corrupt(&self, what: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::corrupt(self.parts.next_offset(), what, expected)
    }

    pub(super) fn next_step(&mut self, chunks: &mut ChunkWriter<'_>) -> Result<Step, Error> {
        if self.steps.is_empty() {
            self.read_ahead(chunks)?;
        }
        let step = self.steps.pop_front();
        step.ok_or_else(|| self.corrupt("the recipe ends too early", "steps for the complete file"))
    }

    /// Returns at most `most` next bytes of the plain form of NEW.
    pub(super) fn take(&mut self, most: u64, chunks: &mut ChunkWriter<'_>) -> Result<(Source, u64), Error> {
        loop {
            if let Some(next) = self.cursor.as_mut().and_then(|cursor| cursor.next(most)) {
                return Ok(next);
            }
            self.cursor = None;
            self.read_ahead(chunks)?;
            let next = self.groups.next()?;
            let group = next.ok_or_else(|| self.corrupt("a group is missing", "groups for the complete recipe"))?;
            self.cursor = Some(Cursor::new(group));
        }
    }

    /// Checks that all steps and groups are used.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        let more = self.cursor.as_mut().is_some_and(|cursor| cursor.next(1).is_some());
        if more || !self.steps.is_empty() || self.groups.count() > 0 {
            return Err(self.corrupt("the delta has unused steps or groups", "none"));
        }
        self.parts.end()
    }

    fn read_ahead(&mut self, chunks: &mut ChunkWriter<'_>) -> Result<(), Error> {
        while self.groups.count() < self.ahead {
            match self.parts.peek()? {
                PartKind::Copies => self.submit_group(chunks)?,
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

    fn submit_group(&mut self, chunks: &mut ChunkWriter<'_>) -> Result<(), Error> {
        let part = self.parts.expect(PartKind::Copies, "a group")?;
        let offset = part.offset;
        let content = part.content(&mut self.numbers, &[])?;
        let group = Group::decode(&content, self.old).map_err(|fault| Part::fault(offset, fault))?;
        let literals = self.parts.expect(PartKind::Literals, "the literals of a group")?;
        if group.literals() != literals.plain as u64 || group.entries.is_empty() {
            let what = format!("{} literals of a group that has {}", literals.plain, group.literals());
            return Err(Error::corrupt(literals.offset, what, "equal numbers"));
        }
        self.groups.submit(group, literals, chunks)
    }
}

/// Reads the parts of a delta in order, one part ahead.
pub(super) struct Parts {
    delta: Arc<dyn Input>,
    /// Offset of the part that is read next.
    offset: u64,
    ahead: Option<Part>,
}

impl Parts {
    /// Begins with the first part.
    pub(super) fn new(delta: &Arc<dyn Input>) -> Parts {
        Parts { delta: Arc::clone(delta), offset: HEAD_BYTES as u64, ahead: None }
    }

    /// Returns the kind of the next part.
    pub(super) fn peek(&mut self) -> Result<PartKind, Error> {
        let part = match self.ahead.take() {
            Some(part) => part,
            None => Part::read(self.delta.as_ref(), self.offset)?,
        };
        self.offset = part.end();
        Ok(self.ahead.insert(part).kind)
    }

    /// Returns the next part if it has this kind.
    pub(super) fn next_if(&mut self, kind: PartKind) -> Result<Option<Part>, Error> {
        Ok(if self.peek()? == kind { self.ahead.take() } else { None })
    }

    /// Returns the next part, which must have this kind. `expected` names the part for the error.
    pub(super) fn expect(&mut self, kind: PartKind, expected: &str) -> Result<Part, Error> {
        let part = self.next_if(kind)?;
        part.ok_or_else(|| Error::corrupt(self.next_offset(), "an unexpected part", expected))
    }

    /// Offset of the next part.
    pub(super) fn next_offset(&self) -> u64 {
        self.ahead.as_ref().map_or(self.offset, |part| part.offset)
    }

    /// Checks that the delta ends here.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        self.expect(PartKind::End, "the end of the delta")?;
        if self.offset == self.delta.size() {
            return Ok(());
        }
        Err(Error::corrupt(self.offset, format!("{} bytes follow the end", self.delta.size() - self.offset), "none"))
    }
}
