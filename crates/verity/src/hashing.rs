//! Hashes blocks of data, each with the salt before it, on the workers, a batch of many blocks at a time.

use crate::Error;
use crate::layout::{BLOCK, BLOCK_BYTES};
use packline_engine::{Permit, Task};
use packline_runtime::memory::Demand;
use packline_runtime::{Input, Observer, Progress, Resources, from_hex};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// Bytes of a batch: small enough for a core's cache, large enough that the overhead of a job does not matter.
pub(crate) const BATCH: usize = 256 << 10;
/// Number of batches in flight while an image is written. Hashing a batch takes less time than writing it in most images.
const WRITE_BATCHES: usize = 8;
/// Memory of a batch in flight that the worker reads itself: its hashes and the job.
const IN_FLIGHT: usize = 2 * BATCH / BLOCK * DIGEST;
/// Number of batches in flight for each worker that reads them.
const AHEAD: usize = 8;

/// Memory of hashing for any number of workers, bytes: an open block of each level, and buffers.
const FIXED: u64 = 64 * BLOCK_BYTES;

/// The blocks of a batch.
pub(crate) enum Content {
    Bytes(Vec<u8>),
    At { input: Arc<dyn Input>, offset: u64, length: usize },
}

/// Blocks to hash together, with the permit for their memory.
pub(crate) struct Batch {
    pub(crate) content: Content,
    pub(crate) permit: Permit,
}

/// The hashes of a batch.
pub(crate) struct BatchHashes {
    pub(crate) digests: Vec<Digest>,
    /// The buffer that came with the batch, for reuse.
    pub(crate) buffer: Vec<u8>,
    _permit: Permit,
}

pub(crate) struct HashTask(pub(crate) Salted);

impl HashTask {
    fn digests(&self, bytes: &[u8]) -> Vec<Digest> {
        bytes.chunks(BLOCK).map(|block| self.0.digest(block)).collect()
    }
}

impl Task for HashTask {
    type In = Batch;
    type Out = BatchHashes;
    type Error = Error;
    type Tool = Vec<u8>;

    fn tool(&self) -> Vec<u8> {
        Vec::new()
    }

    fn run(&self, tool: &mut Vec<u8>, Batch { content, permit }: Batch) -> Result<BatchHashes, Error> {
        match content {
            Content::Bytes(buffer) => Ok(BatchHashes { digests: self.digests(&buffer), buffer, _permit: permit }),
            Content::At { input, offset, length } => {
                tool.resize(length, 0);
                input.read_at(offset, tool).map_err(Error::Image)?;
                Ok(BatchHashes { digests: self.digests(tool), buffer: Vec::new(), _permit: permit })
            }
        }
    }

    fn bytes_in(&self, batch: &Batch) -> u64 {
        match &batch.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::At { length, .. } => *length as u64,
        }
    }
}

/// Memory for hashing a file.
pub fn hashing_demand() -> Demand {
    let window = (AHEAD * IN_FLIGHT) as u64;
    Demand { fixed: FIXED, per_worker: BATCH as u64, window, window_per_worker: window }
}

/// Memory for hashing an image while it is written.
pub fn pass_demand() -> Demand {
    Demand::fixed(pass_window() as u64 + FIXED)
}

/// Bytes in flight while an image is written.
pub(crate) fn pass_window() -> usize {
    WRITE_BATCHES * BATCH
}

/// Hashes `blocks` blocks of an input and passes their hashes to `consume` in order.
pub(crate) fn hash_input(
    input: &Arc<dyn Input>,
    blocks: u64,
    salted: Salted,
    resources: &Resources,
    observer: &mut dyn Observer,
    consume: &mut dyn FnMut(&[Digest]) -> Result<(), Error>,
) -> Result<(), Error> {
    let demand = hashing_demand();
    let plan = resources.plan(demand, |workers| demand.window * workers.max(1), "a hash tree", observer)?;
    let mut map = resources.map(HashTask(salted), plan)?;
    let mut done = 0;
    let end = blocks * BLOCK_BYTES;
    let mut consumer = |hashed: BatchHashes| {
        done += hashed.digests.len() as u64 * BLOCK_BYTES;
        consume(&hashed.digests)?;
        observer.advance(&Progress::of_source(done, Some(end)));
        Ok(())
    };
    let mut offset = 0;
    while offset < end {
        let length = (end - offset).min(BATCH as u64) as usize;
        let permit = map.reserve(IN_FLIGHT, &mut consumer)?;
        let content = Content::At { input: input.clone(), offset, length };
        map.submit(Batch { content, permit }, &mut consumer)?;
        offset += length as u64;
    }
    Ok(map.drain(&mut consumer)?)
}

/// Bytes of a hash.
pub(crate) const DIGEST: usize = 32;

/// A hash of a block.
pub type Digest = [u8; DIGEST];

/// A SHA-256 state after the salt.
#[derive(Debug, Clone)]
pub(crate) struct Salted(Sha256);

impl Salted {
    pub(crate) fn new(salt: &[u8]) -> Salted {
        Salted(Sha256::new().chain_update(salt))
    }

    pub(crate) fn digest(&self, block: &[u8]) -> Digest {
        self.0.clone().chain_update(block).finalize().into()
    }
}

/// Parses a root hash in hexadecimal. White space around it is allowed, as in a file.
///
/// # Errors
/// A message that describes the expected form.
pub fn parse_root_hash(text: &str) -> Result<Digest, String> {
    let bytes = from_hex(text.trim().as_bytes()).and_then(|bytes| Digest::try_from(bytes).ok());
    bytes.ok_or_else(|| "invalid root hash (expected 64 hexadecimal digits)".to_string())
}
