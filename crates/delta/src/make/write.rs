//! Writes the parts of a delta. A part of the recipe precedes the groups that its steps use.

use packline_codec::{ReferenceEncoder, ReferenceLzma, Spec};
use packline_engine::Consumer;
use packline_runtime::{Sink, TaskError};

use super::compress::{GroupTask, PackedGroup};
use crate::Error;
use crate::format::part::{PartKind, put_part};
use crate::format::recipe::{STEPS_MOST, Step, StepCoder};
use crate::plain::Form;

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
