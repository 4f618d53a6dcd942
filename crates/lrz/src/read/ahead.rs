//! Blocks of both streams, decompressed ahead by the engine and returned in order.
//!
//! Each stream has its own share of the memory, and its blocks are used in the order of planning. The first block that is needed is therefore
//! always in flight, or fits. A block that exceeds the share is decompressed incrementally by the consumer.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use packline_engine::{Budget, CancelToken, Consumer, OrderedMap, Permit, StatsSink, Task};
use packline_runtime::memory::MapPlan;
use packline_runtime::{of_fault, unless_cancelled};

use super::bytes::Bytes;
use super::decode::{self, Tools};
use super::info::{Cursor, Walk, extent};
use super::plan::Plan;
use super::{BlockInfo, ChunkInfo};
use crate::format::BackEnd;
use crate::{Error, Resources};

/// Bytes of a stored block that are read at a time.
const PART: u64 = 4 << 20;
/// Blocks of stream 0 that are planned ahead, in addition to the current one.
const OPCODES_AHEAD: usize = 2;
/// Upper bound for the chunks planned ahead.
const CHUNKS_AHEAD: usize = 8;

/// A block to decompress, or a part of one to read.
struct Job {
    block: BlockInfo,
    part: Option<(u64, usize)>,
    permit: Permit,
}

/// The result of a job.
type Product = Result<Decoded, Error>;

/// Decompressed bytes, with the reservation of their memory.
pub(super) struct Decoded {
    pub(super) bytes: Vec<u8>,
    _permit: Permit,
}

struct DecodeTask {
    bytes: Arc<Bytes>,
    cancel: CancelToken,
}

impl Task for DecodeTask {
    type In = Job;
    type Out = Product;
    type Error = Error;
    type Tool = Tools;

    fn tool(&self) -> Tools {
        Tools::new()
    }

    fn run(&self, tools: &mut Tools, job: Job) -> Result<Product, Error> {
        let Job { block, part, mut permit } = job;
        let bytes = match part {
            Some((from, size)) => decode::part(&self.bytes, &block, from, size),
            None => decode::whole(&self.bytes, &block, tools, &self.cancel),
        };
        // An error is reported when the block is needed, not before.
        Ok(bytes.map(|bytes| {
            permit.shrink_to(bytes.len());
            Decoded { bytes, _permit: permit }
        }))
    }

    fn bytes_in(&self, job: &Job) -> u64 {
        job.part.map_or(job.block.size, |(_, size)| size as u64)
    }

    fn bytes_out(&self, product: &Product) -> u64 {
        product.as_ref().map_or(0, |decoded| decoded.bytes.len() as u64)
    }
}

type Slot = Rc<RefCell<Option<Product>>>;

/// Slots for the results of the jobs in flight, in the order of the jobs.
#[derive(Default)]
struct Promises(VecDeque<Slot>);

impl Consumer<DecodeTask> for Promises {
    fn consume(&mut self, product: Product) -> Result<(), Error> {
        if let Some(slot) = self.0.pop_front() {
            *slot.borrow_mut() = Some(product);
        }
        Ok(())
    }
}

/// The next bytes of a stream.
pub(super) enum NextBytes {
    /// A block, or a part of one.
    Decoded(Decoded),
    /// A block that exceeds the stream's share of the memory.
    Large(BlockInfo),
}

enum Planned {
    Promised(Slot),
    Large(BlockInfo),
    Failed(Error),
}

/// A stream of a chunk, with its planned blocks.
struct Lane {
    cursor: Cursor,
    /// The next block to plan, and the number of its bytes that are planned.
    next: Option<(BlockInfo, u64)>,
    ended: bool,
    planned: VecDeque<Planned>,
}

impl Lane {
    fn new(bytes: &Bytes, chunk: &ChunkInfo, stream: usize) -> Lane {
        Lane { cursor: Cursor::new(bytes, chunk, stream), next: None, ended: false, planned: VecDeque::new() }
    }

    /// Returns the next block to plan, and the number of its bytes that are planned.
    fn peek(&mut self, bytes: &Bytes) -> Option<(BlockInfo, u64)> {
        if self.next.is_none() && !self.ended {
            match self.cursor.advance(bytes) {
                Ok(block) => self.next = block.map(|block| (block, 0)),
                Err(error) => self.planned.push_back(Planned::Failed(error)),
            }
            self.ended = self.next.is_none();
        }
        self.next
    }
}

/// A planned chunk and its two streams.
struct Chunk {
    info: ChunkInfo,
    lanes: [Lane; 2],
}

/// Plans, decompresses and returns blocks.
pub(super) struct Ahead {
    bytes: Arc<Bytes>,
    map: OrderedMap<DecodeTask>,
    promises: Promises,
    budgets: [Budget; 2],
    walk: Walk,
    /// The current chunk and those after it.
    chunks: VecDeque<Chunk>,
    /// The last planned chunk, after which the next one begins.
    last: Option<ChunkInfo>,
    /// Whether the first chunk is in use.
    started: bool,
    /// The reason why planning stopped: an error, or the end of the file.
    stopped: Option<Result<(), Error>>,
    /// Upper bound for the planned blocks of stream 1.
    literals_ahead: usize,
    /// Whether workers start planned jobs before they are needed.
    ahead: bool,
    cancel: CancelToken,
    stats: Option<StatsSink>,
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if let Some(stats) = &self.stats {
            self.budgets.iter().for_each(|budget| stats.add_budget(budget));
        }
    }
}

impl Ahead {
    pub(super) fn new(bytes: &Arc<Bytes>, plan: &Plan, resources: &Resources) -> Result<Ahead, Error> {
        let map = map(bytes, resources)?;
        let workers = map.workers();
        Ok(Ahead {
            bytes: Arc::clone(bytes),
            map,
            promises: Promises::default(),
            budgets: plan.blocks.map(Budget::new),
            walk: Walk::new(bytes),
            chunks: VecDeque::new(),
            last: None,
            started: false,
            stopped: None,
            literals_ahead: 2 * workers + 2,
            ahead: workers > 0,
            cancel: resources.cancel.clone(),
            stats: resources.engine.stats.clone(),
        })
    }

    /// Advances to the next chunk; `None` after the last.
    pub(super) fn next_chunk(&mut self) -> Result<Option<ChunkInfo>, Error> {
        if std::mem::replace(&mut self.started, true) {
            self.chunks.pop_front();
        }
        if self.chunks.is_empty() {
            self.plan_chunk();
        }
        if let Some(chunk) = self.chunks.front() {
            return Ok(Some(chunk.info));
        }
        self.stopped.replace(Ok(())).unwrap_or(Ok(())).map(|()| None)
    }

    /// Plans one more chunk, if there is one.
    fn plan_chunk(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        match self.enter() {
            Ok(Some(info)) => {
                let lanes = [0, 1].map(|stream| Lane::new(&self.bytes, &info, stream));
                self.chunks.push_back(Chunk { info, lanes });
                self.last = Some(info);
            }
            Ok(None) => self.stopped = Some(Ok(())),
            Err(error) => self.stopped = Some(Err(error)),
        }
    }

    /// Returns the chunk after the last planned one.
    fn enter(&mut self) -> Result<Option<ChunkInfo>, Error> {
        if let Some(before) = self.last.take() {
            let end = extent(&self.bytes, &before)?;
            self.walk.leave(&self.bytes, &before, end)?;
        }
        self.walk.enter(&self.bytes)
    }

    /// Returns the next bytes of a stream of the current chunk; `None` at the end of the stream.
    pub(super) fn next_bytes(&mut self, stream: usize) -> Result<Option<NextBytes>, Error> {
        self.check()?;
        self.plan_ahead()?;
        if self.chunks.front().is_none_or(|chunk| chunk.lanes[stream].planned.is_empty()) {
            self.plan_one(0, stream, true)?;
        }
        let planned = self.chunks.front_mut().and_then(|chunk| chunk.lanes[stream].planned.pop_front());
        match planned {
            None => Ok(None),
            Some(Planned::Failed(error)) => Err(error),
            Some(Planned::Large(block)) => Ok(Some(NextBytes::Large(block))),
            Some(Planned::Promised(slot)) => self.wait(&slot).map(|decoded| Some(NextBytes::Decoded(decoded))),
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        Ok(unless_cancelled(&self.cancel)?)
    }

    fn wait(&mut self, slot: &Slot) -> Product {
        loop {
            if let Some(product) = slot.borrow_mut().take() {
                return product;
            }
            self.map.advance(&mut self.promises).map_err(of_fault)?;
        }
    }

    /// Submits as many jobs as memory allows.
    fn plan_ahead(&mut self) -> Result<(), Error> {
        let mut index = 0;
        while self.ahead && index < self.chunks.len() {
            while self.plan_one(index, 0, false)? {}
            while self.plan_one(index, 1, false)? {}
            let whole = self.chunks[index].lanes.iter().all(|lane| lane.ended);
            if !whole {
                return Ok(());
            }
            index += 1;
            if index == self.chunks.len() && index < CHUNKS_AHEAD {
                self.plan_chunk();
            }
        }
        Ok(())
    }

    /// Plans one more block of a stream. Returns false if there is no block, or no memory. A block `needed` at once is always planned.
    fn plan_one(&mut self, index: usize, stream: usize, needed: bool) -> Result<bool, Error> {
        let ahead = [OPCODES_AHEAD, self.literals_ahead][stream];
        let Some(chunk) = self.chunks.get_mut(index) else { return Ok(false) };
        let lane = &mut chunk.lanes[stream];
        if lane.planned.len() >= ahead && !needed {
            return Ok(false);
        }
        let Some((block, done)) = lane.peek(&self.bytes) else { return Ok(false) };
        let budget = &self.budgets[stream];
        let in_parts = block.back_end == BackEnd::None && !self.bytes.seal.is_encrypted();
        let part = in_parts.then(|| (done, (block.plain - done).min(PART).min(budget.limit() as u64 / 2)));
        let bytes = part.map_or_else(|| cost(&self.bytes, &block), |(_, size)| size);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        if bytes > budget.limit() {
            lane.next = None;
            lane.planned.push_back(Planned::Large(block));
            return Ok(true);
        }
        let permit = match budget.try_take(bytes) {
            Some(permit) => permit,
            None if needed => budget.take(bytes),
            None => return Ok(false),
        };
        let slot = Slot::default();
        lane.planned.push_back(Planned::Promised(Rc::clone(&slot)));
        let done = done + part.map_or(block.plain, |(_, size)| size);
        lane.next = Some((block, done)).filter(|_| done < block.plain);
        let part = part.map(|(from, size)| (from, size as usize));
        self.promises.0.push_back(slot);
        self.map.submit(Job { block, part, permit }, &mut self.promises).map_err(of_fault)?;
        Ok(true)
    }
}

/// Memory of a block while it is decompressed at once, in bytes.
pub(super) fn cost(bytes: &Bytes, block: &BlockInfo) -> u64 {
    let plain = if block.back_end == BackEnd::None { 0 } else { block.plain };
    block.size.saturating_add(plain).saturating_add(decode::decoder_memory(bytes, block))
}

fn map(bytes: &Arc<Bytes>, resources: &Resources) -> Result<OrderedMap<DecodeTask>, Error> {
    let task = DecodeTask { bytes: Arc::clone(bytes), cancel: resources.cancel.clone() };
    // The streams' budgets reserve the memory before a job is created, so the map need not count it again.
    Ok(resources.map(task, MapPlan { workers: resources.workers, window: usize::MAX })?)
}
