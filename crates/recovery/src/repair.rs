//! Repairs a file into another one, and proves that it is right.

use std::sync::Arc;

use packline_runtime::{Input, Observer, Resources, Sink, unless_cancelled};

use crate::columns::put;
use crate::examine::Examined;
use crate::readable::{STEP, steps};
use crate::rebuild::rebuild;
use crate::survey::survey;
use crate::{Error, RecoverySet};

/// Writes the protected bytes as they were to `sink`, which must take bytes at any offset: from byte 0 on. The sink is not flushed;
/// [`prove`] must find them right before they replace anything.
///
/// # Errors
/// [`Error::Beyond`] if more shards are lost than can be repaired, before anything is written; [`Error::Input`], [`Error::Packets`],
/// [`Error::Output`], [`Error::Memory`], [`Error::Work`].
pub fn repair(
    file: &Arc<dyn Input>,
    set: &RecoverySet,
    examined: &Examined,
    sink: &mut dyn Sink,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let shape = set.shape();
    let protected = set.protected(file);
    if !examined.can_be_repaired() {
        let Examined { lost, repairable, .. } = *examined;
        let shards = shape.shards();
        let shard_bytes = shape.shard_bytes();
        let recovery = shape.recovery();
        return Err(Error::Beyond { lost, shards, shard_bytes, repairable, recovery });
    }
    let mut buffer = vec![0; STEP];
    for (index, place) in examined.places.iter().enumerate() {
        let Some(place) = *place else { continue };
        unless_cancelled(&resources.cancel)?;
        for (offset, length) in steps(0, shape.bytes(index)) {
            protected.read_at(place + offset, &mut buffer[..length]).map_err(Error::Input)?;
            put(sink, shape.start(index) + offset, &buffer[..length])?;
        }
    }
    if examined.lost == 0 { Ok(()) } else { rebuild(&protected, set, examined, sink, resources, observer) }
}

/// Compares repaired bytes with the hash of the protected ones.
///
/// # Errors
/// [`Error::Unproven`] if they are not the same; [`Error::Input`], [`Error::Memory`], [`Error::Work`].
pub fn prove(
    repaired: &Arc<dyn Input>,
    set: &RecoverySet,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let root = survey(repaired, &set.shape(), false, resources, observer)?.root;
    if root == Some(set.blake3()) && repaired.size() == set.shape().length { Ok(()) } else { Err(Error::Unproven) }
}
