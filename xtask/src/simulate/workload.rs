//! What is to be done: items in their order, and what deciding each hands on.

/// One item the caller feeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its size.
    pub bytes: f64,
    /// What it costs the caller to make it, nanoseconds alone on the machine, as all times here.
    pub read: f64,
    /// A worker's time for its first stage.
    pub hash: f64,
    /// What it costs the caller to decide on it.
    pub decide: f64,
    /// Whether what it hands on is its own content, so that both stages could be one job.
    pub whole: bool,
    /// The first [`Press`] it hands on, if it hands on any.
    pub first: usize,
    /// How many it hands on.
    pub presses: usize,
}

/// What a decision hands on.
#[derive(Debug, Clone, PartialEq)]
pub struct Press {
    /// Size before and after.
    pub bytes_in: f64,
    /// See `bytes_in`.
    pub bytes_out: f64,
    /// A worker's time; `None` if no worker has to see it.
    pub compress: Option<f64>,
    /// What it costs the caller to commit it.
    pub commit: f64,
}

/// All of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Workload {
    /// Items in order.
    pub items: Vec<Item>,
    /// What they hand on, in order.
    pub presses: Vec<Press>,
    /// What the caller does when all is committed, and before the first item.
    pub tail: f64,
    /// What the caller, the first and the second stage each demand of caches (see [`Machine::speed`]).
    ///
    /// [`Machine::speed`]: super::machine::Machine::speed
    pub demands: [f64; 3],
    /// The largest item: what a window in bytes has to have room for.
    pub block: f64,
}

impl Workload {
    /// Adds an item with what it hands on.
    pub fn add(&mut self, item: Item, presses: &[Press]) {
        self.block = self.block.max(item.bytes);
        self.items.push(Item { first: self.presses.len(), presses: presses.len(), ..item });
        self.presses.extend_from_slice(presses);
    }

    /// The caller's time in all, nanoseconds alone on the machine: no schedule is quicker.
    pub fn caller_work(&self) -> f64 {
        let items: f64 = self.items.iter().map(|item| item.read + item.decide).sum();
        items + self.presses.iter().map(|press| press.commit).sum::<f64>() + self.tail
    }

    /// The workers' time in all.
    pub fn worker_work(&self) -> f64 {
        let items: f64 = self.items.iter().map(|item| item.hash).sum();
        items + self.presses.iter().filter_map(|press| press.compress).sum::<f64>()
    }
}
