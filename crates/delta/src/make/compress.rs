//! The task of the workers: compress a group.

use std::sync::Arc;

use packline_codec::{ReferenceEncoder, ReferenceLzma};
use packline_engine::{Permit, Task};
use packline_runtime::Input;

use super::groups::PlannedGroup;
use crate::apply::read_ranges;
use crate::format::part::{PartKind, put_part};
use crate::format::{LITERALS_MOST, NUMBERS_MOST, REFERENCE_MOST};
use crate::{Error, Side};

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
