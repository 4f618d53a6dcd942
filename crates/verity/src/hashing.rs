//! Blocks of data are hashed on the workers, a piece of many blocks at a time.

use std::sync::Arc;

use packline_engine::{Permit, Task};
use packline_runtime::memory::Demand;
use packline_runtime::{Input, Observer, Progress, Resources};

use crate::Error;
use crate::layout::{BLOCK, BLOCK_BYTES};
use crate::salted::{DIGEST, Digest, Salted};

/// Bytes of a piece: small enough for a core's cache, large enough that a job's overhead is nothing.
pub(crate) const PIECE: usize = 256 << 10;
/// Pieces in flight while an image is written: a piece takes less time than most images take to write one.
const PASSING: usize = 8;
/// Bytes that a piece in flight takes that is read by the worker: its hashes, the job.
const IN_FLIGHT: usize = 2 * PIECE / BLOCK * DIGEST;
/// Pieces in flight for each worker that reads them.
const AHEAD: usize = 8;

/// Bytes that hashing takes whatever the number of workers: an open block of each level, and buffers.
const BESIDES: u64 = 64 * BLOCK_BYTES;

/// Where the blocks of a piece are.
pub(crate) enum Content {
    Bytes(Vec<u8>),
    At { input: Arc<dyn Input>, offset: u64, length: usize },
}

/// So many blocks, with the memory that they take.
pub(crate) struct Piece {
    pub(crate) content: Content,
    pub(crate) permit: Permit,
}

/// The hashes of a piece.
pub(crate) struct Hashed {
    pub(crate) digests: Vec<Digest>,
    /// The bytes of a piece that came with them, to be used again.
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
    type In = Piece;
    type Out = Hashed;
    type Error = Error;
    type Tool = Vec<u8>;

    fn tool(&self) -> Vec<u8> {
        Vec::new()
    }

    fn run(&self, tool: &mut Vec<u8>, Piece { content, permit }: Piece) -> Result<Hashed, Error> {
        match content {
            Content::Bytes(buffer) => Ok(Hashed { digests: self.digests(&buffer), buffer, _permit: permit }),
            Content::At { input, offset, length } => {
                tool.resize(length, 0);
                input.read_at(offset, tool).map_err(Error::Image)?;
                Ok(Hashed { digests: self.digests(tool), buffer: Vec::new(), _permit: permit })
            }
        }
    }

    fn bytes_in(&self, piece: &Piece) -> u64 {
        match &piece.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::At { length, .. } => *length as u64,
        }
    }
}

/// The memory to hash a file.
pub fn hashing_demand() -> Demand {
    let window = (AHEAD * IN_FLIGHT) as u64;
    Demand { fixed: BESIDES, per_worker: PIECE as u64, window, window_per_worker: window }
}

/// The memory to hash an image while it is written.
pub fn pass_demand() -> Demand {
    Demand::fixed(pass_window() as u64 + BESIDES)
}

/// Bytes in flight beside the writing of an image.
pub(crate) fn pass_window() -> usize {
    PASSING * PIECE
}

/// Hashes so many blocks of an input, and gives their hashes to `consume` in order.
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
    let mut consumer = |hashed: Hashed| {
        done += hashed.digests.len() as u64 * BLOCK_BYTES;
        consume(&hashed.digests)?;
        observer.advance(&Progress::of_source(done, Some(end)));
        Ok(())
    };
    let mut offset = 0;
    while offset < end {
        let length = (end - offset).min(PIECE as u64) as usize;
        let permit = map.reserve(IN_FLIGHT, &mut consumer)?;
        let content = Content::At { input: input.clone(), offset, length };
        map.submit(Piece { content, permit }, &mut consumer)?;
        offset += length as u64;
    }
    Ok(map.drain(&mut consumer)?)
}
