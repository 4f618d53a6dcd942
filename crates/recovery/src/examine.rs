//! Compares a file with its recovery data: which shards are where they belong, which are elsewhere, and which are lost.

use std::sync::Arc;

use packline_runtime::{Input, Observer, Resources};

use crate::find::find;
use crate::survey::{Survey, survey};
use crate::{Error, RecoverySet};

/// How a file compares with its recovery data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// Where each shard is.
    pub(crate) places: Vec<Option<u64>>,
    /// Whether the protected bytes are all at their places.
    pub intact: bool,
    /// Bytes that the file has more than the protected ones, or fewer if negative; 0 where recovery data follows.
    pub excess: i128,
    /// Shards that were found at other places than theirs.
    pub moved: usize,
    /// Shards that were not found.
    pub lost: usize,
    /// Recovery shards that are whole.
    pub repairable: usize,
}

impl Examined {
    /// Whether the file, without recovery data, is as it was when it was protected.
    pub fn is_whole(&self) -> bool {
        self.intact && self.excess == 0
    }

    /// Whether the protected bytes can be restored.
    pub fn can_be_repaired(&self) -> bool {
        self.lost <= self.repairable
    }
}

/// Compares a file with its recovery data. `file` is the one that holds the recovery data if that is behind the protected bytes. What the
/// system cannot read of it counts as damaged.
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
    let Survey { shards, root } = survey(&protected, &shape, false, resources, observer)?;
    let expected = (0..).zip(&shards).zip(&set.table).map(|((index, found), entry)| {
        let here = found.as_ref().is_some_and(|sums| entry.is_of(&sums.node));
        here.then(|| shape.start(index))
    });
    let mut places: Vec<Option<u64>> = expected.collect();
    let here = places.iter().flatten().count();
    let intact = root == Some(set.blake3());
    if here < places.len() {
        find(&*protected, set, &mut places, &resources.cancel)?;
    }
    let lost = places.iter().filter(|place| place.is_none()).count();
    let moved = places.len() - lost - here;
    let excess = match set.place() {
        crate::Place::Sidecar => i128::from(file.size()) - i128::from(shape.length),
        crate::Place::Behind => 0,
    };
    Ok(Examined { places, intact, excess, moved, lost, repairable: set.repairable() })
}
