//! Writes the parts of a delta: a part of the recipe before the groups that it needs.

use packline_codec::{ReferenceEncoder, ReferenceLzma, Spec};
use packline_engine::Consumer;
use packline_runtime::{Sink, TaskError};

use super::compress::{GroupTask, PackedGroup};
use crate::Error;
use crate::format::part::{PartKind, put_part};
use crate::format::recipe::{STEPS_MOST, Step, StepCoder};
use crate::plain::Form;

/// The delta as it is written.
pub(super) struct Writer<'w> {
    sink: &'w mut dyn Sink,
    encoder: ReferenceEncoder,
    coder: StepCoder,
    /// The steps that are not written yet, the last one first.
    steps: Vec<Step>,
    old: &'w Form,
    /// The end of the steps that are written, in the plain form of NEW.
    ready: u64,
    pub(super) bytes: u64,
    pub(super) literals: u64,
}

impl<'w> Writer<'w> {
    /// `steps`: the recipe for blocks of up to `block_size` bytes, of which some are those of `old`.
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

    /// The codec of the blocks that are encoded.
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
            self.ready += self.old.used(step).ok_or_else(missing)?;
        }
        self.part(PartKind::Recipe, &numbers)
    }

    /// Writes the rest.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        while !self.steps.is_empty() {
            self.steps()?;
        }
        self.part(PartKind::End, &[])
    }
}

impl Consumer<GroupTask> for Writer<'_> {
    fn consume(&mut self, packed: PackedGroup) -> Result<(), Error> {
        // All steps that the groups before made complete come first.
        while self.ready <= packed.start && !self.steps.is_empty() {
            self.steps()?;
        }
        self.literals += packed.literals;
        self.append(&packed.bytes)
    }
}
