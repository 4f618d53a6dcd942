//! The hashes of the data. They are in a temporary file until the number of blocks is known, which determines the locations of all levels.

use std::fs::File;
use std::sync::Arc;

use packline_runtime::{Input, Observer, Resources, Sink as _, WriteBehind};

use crate::hashing::{DIGEST, Digest, Salted, hash_input};
use crate::layout::{BLOCK, whole_blocks};
use crate::{Error, Salt};

/// The hashes of data blocks, and their salt.
#[derive(Debug)]
pub struct Leaves {
    spool: WriteBehind,
    count: u64,
    salt: Vec<u8>,
}

impl Leaves {
    /// No hashes yet; they will be in the empty file `spool`.
    pub(crate) fn new(spool: File) -> Leaves {
        Leaves { spool: WriteBehind::new(spool, None, Arc::default()), count: 0, salt: Vec::new() }
    }

    pub(crate) fn set_salt(&mut self, salt: Vec<u8>) {
        self.salt = salt;
    }

    /// The bytes that precede each block in its hash.
    pub fn salt(&self) -> &[u8] {
        &self.salt
    }

    /// The number of blocks.
    pub fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn push(&mut self, digests: &[Digest]) -> Result<(), Error> {
        self.spool.append(digests.as_flattened()).map_err(Error::Scratch)?;
        self.count += digests.len() as u64;
        Ok(())
    }

    /// Replaces the hash of a block.
    pub(crate) fn replace(&mut self, block: u64, digest: &Digest) -> Result<(), Error> {
        self.spool.write_at(block * DIGEST as u64, digest).map(drop).map_err(Error::Scratch)
    }

    /// Reads the hashes from `first` on, as many as there are and as fit into `buffer`. Returns the number of bytes.
    pub(crate) fn read(&mut self, first: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        let left = (self.count - first).saturating_mul(DIGEST as u64).min(buffer.len() as u64) as usize;
        self.spool.read_at(first * DIGEST as u64, &mut buffer[..left]).map_err(Error::Scratch)?;
        Ok(left)
    }
}

/// Hashes all blocks of an image on the workers. `spool` is an empty file for the hashes.
///
/// # Errors
/// [`Error::Size`] if the image is not a multiple of the block size; errors of the image and of the temporary file; [`Error::Memory`].
pub fn hash_leaves(
    image: &Arc<dyn Input>,
    salt: &Salt,
    spool: File,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Leaves, Error> {
    let blocks = whole_blocks(image.size())?;
    let mut first = [0; BLOCK];
    image.read_at(0, &mut first).map_err(Error::Image)?;
    let mut leaves = Leaves::new(spool);
    leaves.set_salt(salt.bytes(&first));
    let salted = Salted::new(&leaves.salt);
    hash_input(image, blocks, salted, resources, observer, &mut |digests| leaves.push(digests))?;
    Ok(leaves)
}
