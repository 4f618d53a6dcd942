//! What workers do with a block: test it, compress it, encrypt it.

use packline_engine::{OrderedMap, Permit, Task};

use super::coder::Tool;
use super::policy::Policy;
use super::probe::Probe;
use super::seal::{Salt, Seal};
use crate::{BackEnd, Error, Resources};

/// Shorter blocks are stored, as lrzip does.
const SHORTEST: usize = 64;

/// A block on its way to a worker.
pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    pub(super) from: Origin,
    /// What its data is encrypted with, if it is.
    pub(super) salt: Option<Salt>,
    pub(super) permit: Permit,
}

/// Where a block belongs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    /// 0 for opcodes, 1 for literals.
    pub(super) stream: usize,
    /// Bytes of the chunk that are put together when the block is used up.
    pub(super) reached: u64,
}

/// A block as it stands in the file, and what its record says.
pub(super) struct Pressed {
    pub(super) back_end: BackEnd,
    /// Bytes of plain data.
    pub(super) plain: u64,
    /// Bytes of compressed data; encryption may have made them more.
    pub(super) stored: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) from: Origin,
    pub(super) salt: Option<Salt>,
    /// The memory of `bytes`.
    _permit: Permit,
}

/// The workers' part of writing.
pub(super) struct CompressTask {
    pub(super) policy: Policy,
    /// Bytes of a block, at most.
    pub(super) block: usize,
    pub(super) seal: Option<Seal>,
}

/// What a worker keeps.
#[derive(Default)]
pub(super) struct Bench {
    probe: Option<Probe>,
    tool: Option<Tool>,
    /// That of opcodes, if they have one of their own.
    opcodes: Option<Tool>,
}

impl CompressTask {
    /// The block compressed, if that is tried and makes it smaller.
    fn smaller(&self, bench: &mut Bench, plain: &[u8], stream: usize) -> Result<Option<Vec<u8>>, Error> {
        if plain.len() < SHORTEST || (self.policy.probe && !bench.probe()?.promises(plain)?) {
            return Ok(None);
        }
        let (coder, tool) = match &self.policy.opcodes {
            Some(coder) if stream == 0 => (coder, &mut bench.opcodes),
            _ => (&self.policy.coder, &mut bench.tool),
        };
        if tool.is_none() {
            *tool = coder.tool(self.block)?;
        }
        Ok(tool.as_mut().map(|tool| tool.press(plain)).transpose()?.flatten())
    }
}

impl Bench {
    fn probe(&mut self) -> Result<&mut Probe, Error> {
        match &mut self.probe {
            Some(probe) => Ok(probe),
            place => Ok(place.insert(Probe::new()?)),
        }
    }
}

impl Task for CompressTask {
    type In = Block;
    type Out = Pressed;
    type Error = Error;
    type Tool = Bench;

    fn tool(&self) -> Bench {
        Bench::default()
    }

    fn run(&self, bench: &mut Bench, block: Block) -> Result<Pressed, Error> {
        let Block { bytes: plain_bytes, from, salt, mut permit } = block;
        let plain = plain_bytes.len() as u64;
        let (back_end, mut bytes) = match self.smaller(bench, &plain_bytes, from.stream)? {
            Some(bytes) => (self.policy.coder.back_end(), bytes),
            None => (BackEnd::None, plain_bytes),
        };
        let stored = bytes.len() as u64;
        if let (Some(seal), Some(salt)) = (&self.seal, salt) {
            seal.close(&mut bytes, salt);
        }
        permit.shrink_to(bytes.capacity());
        Ok(Pressed { back_end, plain, stored, bytes, from, salt, _permit: permit })
    }

    fn bytes_in(&self, block: &Block) -> u64 {
        block.bytes.len() as u64
    }

    fn bytes_out(&self, pressed: &Pressed) -> u64 {
        pressed.bytes.len() as u64
    }
}

/// The map that blocks go through.
pub(super) fn map(
    task: CompressTask,
    workers: usize,
    window: usize,
    resources: &Resources,
) -> Result<OrderedMap<CompressTask>, Error> {
    let map = OrderedMap::new(task, resources.engine.sized(workers, window, &resources.cancel));
    map.map_err(|cause| Error::Internal(cause.to_string()))
}
