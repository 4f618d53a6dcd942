//! Compares a file with its recovery data: which shards are at their own offsets, which are elsewhere, and which are lost.

use std::sync::Arc;

use packline_runtime::{Input, Observer, Resources};

use crate::hashing::{FileHashes, hash_file};
use crate::repair::find::find;
use crate::{Error, RecoverySet};

/// How a file compares with its recovery data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// The offset at which each shard was found.
    pub(crate) offsets: Vec<Option<u64>>,
    /// Whether all protected bytes are unchanged.
    pub intact: bool,
    /// The file's size minus the size of the protected bytes; 0 where recovery data follows the protected bytes.
    pub excess: i128,
    /// Shards that were found at an offset other than their own.
    pub moved: usize,
    /// Shards that were not found.
    pub lost: usize,
    /// Intact recovery shards.
    pub repairable: usize,
}

impl Examined {
    /// Whether the file, without recovery data, is unchanged since it was protected.
    pub fn is_whole(&self) -> bool {
        self.intact && self.excess == 0
    }

    /// Whether the protected bytes can be restored.
    pub fn can_be_repaired(&self) -> bool {
        self.lost <= self.repairable
    }
}

/// Compares a file with its recovery data. If the recovery data follows the protected bytes, `file` holds both. Bytes that the system cannot
/// read count as damaged.
///
/// # Errors
/// [`Error::Memory`], [`Error::Work`], [`Error::Input`].
pub fn examine(
    file: &Arc<dyn Input>,
    set: &RecoverySet,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Examined, Error> {
    let shape = set.shape();
    let protected = set.protected(file);
    let FileHashes { shards, root } = hash_file(&protected, &shape, false, resources, observer)?;
    let expected = (0..).zip(&shards).zip(&set.table).map(|((index, found), entry)| {
        let here = found.as_ref().is_some_and(|sums| entry.matches(&sums.node));
        here.then(|| shape.start(index))
    });
    let mut offsets: Vec<Option<u64>> = expected.collect();
    let here = offsets.iter().flatten().count();
    let intact = root == Some(set.blake3());
    if here < offsets.len() {
        find(&*protected, set, &mut offsets, &resources.cancel)?;
    }
    let lost = offsets.iter().filter(|offset| offset.is_none()).count();
    let moved = offsets.len() - lost - here;
    let excess = match set.location() {
        crate::PacketLocation::Sidecar => i128::from(file.size()) - i128::from(shape.length),
        crate::PacketLocation::Appended => 0,
    };
    Ok(Examined { offsets, intact, excess, moved, lost, repairable: set.repairable() })
}
