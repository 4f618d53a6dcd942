//! The work of one run: items in order, and the blocks that each decision produces.
//!
//! Times are nanoseconds of a thread that is alone on the machine; sizes are bytes.

/// One item that the caller reads and submits.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub bytes: f64,
    /// The caller's time to read it.
    pub read: f64,
    /// A worker's time for the first stage.
    pub hash: f64,
    /// The caller's time to decide.
    pub decide: f64,
    /// Whether its block is its own content, so that both stages could be one job.
    pub whole: bool,
    pub first: usize,
    pub blocks: usize,
}

/// A block to compress and commit, produced by a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub bytes_in: f64,
    pub bytes_out: f64,
    /// A worker's time; `None` if the block is committed as it is.
    pub compress: Option<f64>,
    /// The caller's time to commit it.
    pub commit: f64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Workload {
    pub items: Vec<Item>,
    /// The items' blocks, in order.
    pub blocks: Vec<Block>,
    /// The caller's time before the first item and after the last commit.
    pub tail: f64,
    /// Cache demand of the caller's work, the first stage and the second (see [`Machine::speed`]).
    ///
    /// [`Machine::speed`]: crate::machine::Machine::speed
    pub demands: [f64; 3],
    /// Size of the largest item: the smallest useful window.
    pub largest_item: f64,
}

impl Workload {
    pub fn add(&mut self, item: Item, blocks: &[Block]) {
        self.largest_item = self.largest_item.max(item.bytes);
        self.items.push(Item { first: self.blocks.len(), blocks: blocks.len(), ..item });
        self.blocks.extend_from_slice(blocks);
    }

    /// The caller's total time: a lower bound of every schedule.
    pub fn caller_work(&self) -> f64 {
        let items: f64 = self.items.iter().map(|item| item.read + item.decide).sum();
        items + self.blocks.iter().map(|block| block.commit).sum::<f64>() + self.tail
    }

    /// The workers' total time.
    pub fn worker_work(&self) -> f64 {
        let items: f64 = self.items.iter().map(|item| item.hash).sum();
        items + self.blocks.iter().filter_map(|block| block.compress).sum::<f64>()
    }
}
