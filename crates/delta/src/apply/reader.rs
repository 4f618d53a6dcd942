//! Reads the parts of a delta as steps, and as bytes of the plain form of NEW.

use std::collections::VecDeque;

use packline_codec::ReferenceDecoder;

use super::chunk_writer::ChunkWriter;
use super::groups::Groups;
use super::parts::Parts;
use super::source::{Cursor, Source};
use crate::format::group::Group;
use crate::format::part::{Part, PartKind};
use crate::format::recipe::{STEPS_MOST, Step, StepCoder};
use crate::{Error, Head};

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
