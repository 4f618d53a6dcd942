//! Repairs a file: writes the protected bytes to another file, and verifies their hash.

pub(crate) mod examine;
mod find;
mod rebuild;

use std::sync::Arc;

use packline_runtime::{Input, Observer, Resources, Sink, unless_cancelled};

use crate::hashing::hash_file;
use crate::pass::put;
use crate::readable::{STEP, steps};
use crate::repair::examine::Examined;
use crate::repair::rebuild::rebuild;
use crate::{Error, RecoverySet};

/// Writes the original protected bytes to `sink`, from byte 0. The sink must accept bytes at any offset, and is not flushed. The caller must
/// call [`prove`] before the result replaces a file.
///
/// # Errors
/// [`Error::Beyond`] before anything is written, if more shards are lost than can be repaired; [`Error::Input`], [`Error::Packets`],
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
    for (index, start) in examined.offsets.iter().enumerate() {
        let Some(start) = *start else { continue };
        unless_cancelled(&resources.cancel)?;
        for (offset, length) in steps(0, shape.bytes(index)) {
            protected.read_at(start + offset, &mut buffer[..length]).map_err(Error::Input)?;
            put(sink, shape.start(index) + offset, &buffer[..length])?;
        }
    }
    if examined.lost == 0 { Ok(()) } else { rebuild(&protected, set, examined, sink, resources, observer) }
}

/// Compares the hash of the repaired bytes with the hash of the protected bytes.
///
/// # Errors
/// [`Error::Unproven`] if the hashes differ; [`Error::Input`], [`Error::Memory`], [`Error::Work`].
pub fn prove(
    repaired: &Arc<dyn Input>,
    set: &RecoverySet,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let root = hash_file(repaired, &set.shape(), false, resources, observer)?.root;
    if root == Some(set.blake3()) && repaired.size() == set.shape().length { Ok(()) } else { Err(Error::Unproven) }
}
