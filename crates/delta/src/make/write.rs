//! Compresses the groups of a delta on the workers, and writes its parts. A part of the recipe precedes the groups that its steps use.

use super::groups::PlannedGroup;
use crate::apply::read_ranges;
use crate::format::part::{PartKind, put_part};
use crate::format::recipe::{STEPS_MOST, Step, StepCoder};
use crate::format::{LITERALS_MOST, NUMBERS_MOST, REFERENCE_MOST};
use crate::plain::Form;
use crate::{Error, Side};
use packline_codec::{ReferenceEncoder, ReferenceLzma, Spec};
use packline_engine::{Consumer, Permit, Task};
use packline_runtime::{Input, Sink, TaskError};
use std::sync::Arc;

/// Writes a delta.
pub(super) struct Writer<'w> {
    sink: &'w mut dyn Sink,
    encoder: ReferenceEncoder,
    coder: StepCoder,
    /// The steps that are not written yet, in reverse order.
    steps: Vec<Step>,
    old: &'w Form,
    /// The end of the written steps in the plain form of NEW.
    ready: u64,
    pub(super) bytes: u64,
    pub(super) literals: u64,
}

impl<'w> Writer<'w> {
    /// `steps` is the recipe for blocks of up to `block_size` bytes. Some steps keep blocks of `old`.
    pub(super) fn new(
        sink: &'w mut dyn Sink,
        lzma: ReferenceLzma,
        mut steps: Vec<Step>,
        block_size: u32,
        old: &'w Form,
    ) -> Writer<'w> {
        steps.reverse();
        let encoder = ReferenceEncoder::new(lzma);
        let coder = StepCoder::new(block_size);
        Writer { sink, encoder, coder, steps, old, ready: 0, bytes: 0, literals: 0 }
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes += bytes.len() as u64;
        self.sink.append(bytes).map_err(Error::Output)
    }

    pub(super) fn part(&mut self, kind: PartKind, plain: &[u8]) -> Result<(), Error> {
        let mut bytes = Vec::new();
        put_part(&mut bytes, &mut self.encoder, kind, &[], plain)?;
        self.append(&bytes)
    }

    /// Writes the codec of the blocks that are encoded.
    pub(super) fn codec(&mut self, codec: &Spec) -> Result<(), Error> {
        self.part(PartKind::Codec, codec.to_string().as_bytes())
    }

    /// Writes the next steps.
    fn steps(&mut self) -> Result<(), Error> {
        let mut numbers = Vec::new();
        for _ in 0..STEPS_MOST {
            let Some(step) = self.steps.pop() else { break };
            self.coder.put(&mut numbers, &step);
            let missing = || Error::internal("a block that the old image lacks".into());
            self.ready += self.old.bytes_used(step).ok_or_else(missing)?;
        }
        self.part(PartKind::Recipe, &numbers)
    }

    /// Writes the remaining steps and the end.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        while !self.steps.is_empty() {
            self.steps()?;
        }
        self.part(PartKind::End, &[])
    }
}

impl Consumer<GroupTask> for Writer<'_> {
    fn consume(&mut self, packed: PackedGroup) -> Result<(), Error> {
        // The steps up to the start of this group come first.
        while self.ready <= packed.start && !self.steps.is_empty() {
            self.steps()?;
        }
        self.literals += packed.literals;
        self.append(&packed.bytes)
    }
}

/// Compresses groups.
pub(super) struct GroupTask {
    /// The plain form of OLD.
    pub(super) old: Arc<dyn Input>,
    /// The plain form of NEW.
    pub(super) new: Arc<dyn Input>,
    pub(super) lzma: ReferenceLzma,
}

/// The encoded parts of a group.
pub(super) struct PackedGroup {
    pub(super) bytes: Vec<u8>,
    /// The group's first byte in the plain form of NEW.
    pub(super) start: u64,
    pub(super) literals: u64,
    pub(super) _permit: Permit,
}

impl GroupTask {
    /// Memory of a worker in bytes.
    pub(super) fn memory(lzma: ReferenceLzma) -> u64 {
        (lzma.memory(REFERENCE_MOST + LITERALS_MOST) + REFERENCE_MOST + 2 * LITERALS_MOST) as u64
    }

    /// Upper bound for the memory of a group in flight, in bytes.
    pub(super) const GROUP_MEMORY: usize = LITERALS_MOST + NUMBERS_MOST;
}

impl Task for GroupTask {
    type In = (PlannedGroup, Permit);
    type Out = PackedGroup;
    type Error = Error;
    type Tool = ReferenceEncoder;

    fn tool(&self) -> ReferenceEncoder {
        ReferenceEncoder::new(self.lzma)
    }

    fn run(&self, encoder: &mut ReferenceEncoder, (planned, permit): Self::In) -> Result<PackedGroup, Error> {
        let group = &planned.group;
        let reference = read_ranges(self.old.as_ref(), Side::Old, group.reference(self.old.size()))?;
        let literals = read_ranges(self.new.as_ref(), Side::New, planned.literals())?;
        let mut bytes = Vec::new();
        put_part(&mut bytes, encoder, PartKind::Copies, &[], &group.encode())?;
        put_part(&mut bytes, encoder, PartKind::Literals, &reference, &literals)?;
        Ok(PackedGroup { bytes, start: planned.start, literals: literals.len() as u64, _permit: permit })
    }

    fn bytes_in(&self, (planned, _): &Self::In) -> u64 {
        planned.group.literals()
    }

    fn bytes_out(&self, packed: &PackedGroup) -> u64 {
        packed.bytes.len() as u64
    }
}
