//! The task of the workers: test, compress and encrypt a block.

use packline_engine::{OrderedMap, Permit, Task};
use packline_runtime::memory::MapPlan;

use super::coder::Tool;
use super::literals::{LiteralPlace, LiteralSource};
use super::policy::Policy;
use super::probe::Probe;
use super::seal::{Salt, Seal};
use crate::{BackEnd, Error, Resources};

/// Blocks with fewer bytes are stored, as in lrzip.
const SHORTEST: usize = 64;

/// A block to be compressed.
pub(super) struct Block {
    pub(super) content: Content,
    pub(super) from: Origin,
    /// The salt for encryption, if any.
    pub(super) salt: Option<Salt>,
    pub(super) permit: Permit,
}

/// The bytes of a block.
pub(super) enum Content {
    /// Opcodes.
    Bytes(Vec<u8>),
    /// This number of literal bytes, which the worker copies.
    Literals(LiteralSource, LiteralPlace, usize),
}

impl Content {
    fn size(&self) -> usize {
        match self {
            Content::Bytes(bytes) => bytes.len(),
            Content::Literals(_, _, size) => *size,
        }
    }
}

/// Position of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    /// 0 for opcodes, 1 for literals.
    pub(super) stream: usize,
    /// Bytes of the chunk that can be reconstructed after this block.
    pub(super) reached: u64,
}

/// A block in its stored form, with the values for the block's record.
pub(super) struct CompressedBlock {
    pub(super) back_end: BackEnd,
    /// Bytes of plain data.
    pub(super) plain: u64,
    /// Bytes of compressed data, without the bytes that encryption adds.
    pub(super) stored: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) from: Origin,
    pub(super) salt: Option<Salt>,
    /// Reserves the memory of `bytes`.
    _permit: Permit,
}

pub(super) struct CompressTask {
    pub(super) policy: Policy,
    /// Maximum block size in bytes.
    pub(super) block: usize,
    pub(super) seal: Option<Seal>,
}

/// The tools of a worker, created at first use.
#[derive(Default)]
pub(super) struct Tools {
    probe: Option<Probe>,
    tool: Option<Tool>,
    /// The tool for opcodes, if opcodes have their own coder.
    opcodes: Option<Tool>,
}

impl CompressTask {
    /// Compresses a block. Returns `None` if compression is not worth trying, or does not make the block smaller.
    fn try_compress(&self, tools: &mut Tools, plain: &[u8], stream: usize) -> Result<Option<Vec<u8>>, Error> {
        if plain.len() < SHORTEST || (self.policy.probe && !tools.probe()?.promises(plain)?) {
            return Ok(None);
        }
        let (coder, tool) = match &self.policy.opcodes {
            Some(coder) if stream == 0 => (coder, &mut tools.opcodes),
            _ => (&self.policy.coder, &mut tools.tool),
        };
        if tool.is_none() {
            *tool = coder.tool(self.block)?;
        }
        Ok(tool.as_mut().map(|tool| tool.compress(plain)).transpose()?.flatten())
    }
}

impl Tools {
    fn probe(&mut self) -> Result<&mut Probe, Error> {
        match &mut self.probe {
            Some(probe) => Ok(probe),
            unset => Ok(unset.insert(Probe::new()?)),
        }
    }
}

impl Task for CompressTask {
    type In = Block;
    type Out = CompressedBlock;
    type Error = Error;
    type Tool = Tools;

    fn tool(&self) -> Tools {
        Tools::default()
    }

    fn run(&self, tools: &mut Tools, block: Block) -> Result<CompressedBlock, Error> {
        let Block { content, from, salt, mut permit } = block;
        let plain_bytes = match content {
            Content::Bytes(bytes) => bytes,
            Content::Literals(source, place, size) => source.bytes(place, size)?,
        };
        let plain = plain_bytes.len() as u64;
        let (back_end, mut bytes) = match self.try_compress(tools, &plain_bytes, from.stream)? {
            Some(bytes) => (self.policy.coder.back_end(), bytes),
            None => (BackEnd::None, plain_bytes),
        };
        let stored = bytes.len() as u64;
        if let (Some(seal), Some(salt)) = (&self.seal, salt) {
            seal.close(&mut bytes, salt);
        }
        permit.shrink_to(bytes.capacity());
        Ok(CompressedBlock { back_end, plain, stored, bytes, from, salt, _permit: permit })
    }

    fn bytes_in(&self, block: &Block) -> u64 {
        block.content.size() as u64
    }

    fn bytes_out(&self, compressed: &CompressedBlock) -> u64 {
        compressed.bytes.len() as u64
    }
}

/// Starts the map that compresses blocks.
pub(super) fn map(
    task: CompressTask,
    workers: usize,
    window: usize,
    resources: &Resources,
) -> Result<OrderedMap<CompressTask>, Error> {
    Ok(resources.map(task, MapPlan { workers, window })?)
}
