//! The hashes of shards: the nodes of a BLAKE3 tree, and a rolling checksum that finds shards which moved.

use crate::format::shape::UNIT;
use crate::pass::{demand, for_each, plan};
use crate::readable::{STEP, steps};
use crate::{Error, Shape};
use blake3::hazmat::HasherExt as _;
use packline_engine::{Permit, Task};
use packline_runtime::{Blake3Tree, Input, Observer, Pass, Progress, Resources};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The checksum of a window that moves over a file byte by byte is a polynomial over the bytes, modulo 2^64. This is the point at which
/// the polynomial is evaluated. It is odd, so that every byte of a long window counts.
pub(crate) const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
/// Powers of the base for eight bytes, the highest first.
const POWERS: [u64; 8] = powers();

const fn powers() -> [u64; 8] {
    let mut powers = [1u64; 8];
    let mut at = 7;
    while at > 0 {
        powers[at - 1] = powers[at].wrapping_mul(BASE);
        at -= 1;
    }
    powers
}

/// Returns the checksum of a window with these bytes appended. The checksum of an empty window is 0.
pub(crate) fn appended(mut sum: u64, bytes: &[u8]) -> u64 {
    let (eights, rest) = bytes.as_chunks::<8>();
    let by_eight = POWERS[0].wrapping_mul(BASE);
    for eight in eights {
        let of_eight = eight.iter().zip(POWERS).map(|(&byte, power)| u64::from(byte).wrapping_mul(power));
        sum = sum.wrapping_mul(by_eight).wrapping_add(of_eight.fold(0, u64::wrapping_add));
    }
    rest.iter().fold(sum, |sum, &byte| sum.wrapping_mul(BASE).wrapping_add(u64::from(byte)))
}

/// Moves a window of a fixed size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rolling {
    /// The base to the power of the window's size minus 1.
    first: u64,
}

impl Rolling {
    pub(crate) fn new(window: u64) -> Rolling {
        let mut first = 1u64;
        let mut square = BASE;
        let mut left = window - 1;
        while left > 0 {
            if left & 1 == 1 {
                first = first.wrapping_mul(square);
            }
            square = square.wrapping_mul(square);
            left >>= 1;
        }
        Rolling { first }
    }

    /// Returns the checksum of the window one byte later.
    pub(crate) fn moved(self, sum: u64, out: u8, into: u8) -> u64 {
        let kept = sum.wrapping_sub(u64::from(out).wrapping_mul(self.first));
        kept.wrapping_mul(BASE).wrapping_add(u64::from(into))
    }
}

/// Bytes that are hashed in one job.
const JOB: u64 = 1 << 20;

/// The chaining value of a shard in the file's BLAKE3.
pub(crate) type Node = [u8; 32];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShardHashes {
    /// The rolling checksum of the shard's bytes; 0 if it was not requested.
    pub(crate) rolling: u64,
    pub(crate) node: Node,
}

pub(crate) struct FileHashes {
    /// The hashes of each shard; `None` where the file is shorter.
    pub(crate) shards: Vec<Option<ShardHashes>>,
    /// BLAKE3 of the protected bytes, if no shard is missing.
    pub(crate) root: Option<[u8; 32]>,
}

/// Reads a shard that begins at `offset` of the file, and hashes it as shard `index`.
///
/// # Errors
/// Returns the error of the read that failed.
pub(crate) fn hash_shard(
    input: &dyn Input,
    shape: &Shape,
    index: usize,
    offset: u64,
    rolls: bool,
    buffer: &mut Vec<u8>,
) -> io::Result<ShardHashes> {
    let mut hasher = blake3::Hasher::new();
    let mut rolling = 0;
    let bytes = shape.bytes(index);
    hasher.set_input_offset(shape.start(index));
    buffer.resize(bytes.min(STEP as u64) as usize, 0);
    for (at, length) in steps(offset, bytes) {
        let read = &mut buffer[..length];
        input.read_at(at, read)?;
        hasher.update(read);
        if rolls {
            rolling = appended(rolling, read);
        }
    }
    Ok(ShardHashes { rolling, node: hasher.finalize_non_root() })
}

/// Hashes all shards of a file at their own offsets. With `rolls`, it also calculates their rolling checksums.
///
/// # Errors
/// [`Error::Input`], [`Error::Memory`], [`Error::Work`].
pub(crate) fn hash_file(
    input: &Arc<dyn Input>,
    shape: &Shape,
    rolls: bool,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<FileHashes, Error> {
    let item = (JOB / shape.shard_bytes()).max(1) * size_of::<ShardHashes>() as u64;
    let needed = demand(2 * (shape.shards() * size_of::<ShardHashes>()) as u64, STEP as u64, item);
    let plan = plan(|_| needed, UNIT, "hashing a file", resources, observer)?;
    let step = (JOB / shape.shard_bytes()).max(1) as usize;
    let jobs = (0..shape.shards()).step_by(step).map(|first| first..shape.shards().min(first + step));
    let mut shards = Vec::with_capacity(shape.shards());
    let task = HashTask { input: Arc::clone(input), shape: *shape, rolls };
    for_each(task, &plan, resources, jobs, &mut |(sums, _permit): (Vec<Option<ShardHashes>>, Permit)| {
        shards.extend(sums);
        let done = shape.start(shards.len()).min(shape.length);
        let total = Some(shape.length);
        let pass = Some(Pass { name: "hashing", part: 1, done, total });
        observer.advance(&Progress { pass, ..Progress::of_source(done, total) });
        Ok(())
    })?;
    let tree: Option<Blake3Tree> = shards.iter().map(|sums| sums.map(|sums| sums.node)).collect();
    let root = match tree {
        Some(tree) if tree.count() > 1 => tree.root(),
        Some(_) => Some(hash_alone(&**input, shape.length).map_err(Error::Input)?),
        None => None,
    };
    Ok(FileHashes { shards, root })
}

/// Hashes the only shard of a file. The node of a single shard does not determine the hash of the file.
fn hash_alone(input: &dyn Input, bytes: u64) -> io::Result<[u8; 32]> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; bytes.min(STEP as u64) as usize];
    for (at, length) in steps(0, bytes) {
        input.read_at(at, &mut buffer[..length])?;
        hasher.update(&buffer[..length]);
    }
    Ok(*hasher.finalize().as_bytes())
}

/// Hashes runs of shards.
struct HashTask {
    input: Arc<dyn Input>,
    shape: Shape,
    rolls: bool,
}

impl Task for HashTask {
    type In = (Range<usize>, Permit);
    type Out = (Vec<Option<ShardHashes>>, Permit);
    type Error = Error;
    type Tool = Vec<u8>;

    fn tool(&self) -> Vec<u8> {
        Vec::new()
    }

    fn run(&self, buffer: &mut Vec<u8>, (run, permit): Self::In) -> Result<Self::Out, Error> {
        let size = self.input.size();
        let sums = run.map(|index| {
            let start = self.shape.start(index);
            if start + self.shape.bytes(index) > size {
                return Ok(None);
            }
            hash_shard(&*self.input, &self.shape, index, start, self.rolls, buffer).map(Some)
        });
        Ok((sums.collect::<io::Result<_>>().map_err(Error::Input)?, permit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_window_has_the_checksum_of_its_bytes() {
        let bytes: Vec<u8> = (0..500u32).map(|number| ((number * number) >> 3) as u8).collect();
        for window in [1, 7, 8, 64, 100] {
            let rolling = Rolling::new(window as u64);
            let mut sum = appended(0, &bytes[..window]);
            for at in 0..bytes.len() - window {
                sum = rolling.moved(sum, bytes[at], bytes[at + window]);
                assert_eq!(sum, appended(0, &bytes[at + 1..=at + window]));
                let (head, tail) = bytes[at + 1..=at + window].split_at(window / 3);
                assert_eq!(sum, appended(appended(0, head), tail));
            }
        }
    }
}
