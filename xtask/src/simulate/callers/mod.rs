//! The thread that reads, decides and commits, as the packers have it.

mod packline;
mod toolsng;

pub use packline::Packline;
pub use toolsng::ToolsNg;

/// Work for a worker.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Where it stands in the output: what queues sort by.
    pub place: u64,
    /// Nanoseconds in the first stage, 0 if none.
    pub hash: f64,
    /// Nanoseconds in the second stage, 0 if none.
    pub compress: f64,
    /// The job that what it works on was made by, whose worker may still have it in its cache.
    pub after: Option<usize>,
}

/// What the caller does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Works by itself, nanoseconds alone on the machine.
    Spend(f64),
    /// Gives a job to the workers; jobs are numbered from 0 in this order.
    Submit(Job),
    /// Takes the queue's lock to look at what is done.
    Glance,
    /// Sleeps until [`Caller::done`] says that it should not.
    Wait,
    /// Has finished.
    Finish,
}

/// One way to be the caller.
pub trait Caller {
    /// What it does next. Asked when the step before is over, or when a wait is.
    fn step(&mut self) -> Step;
    /// A job is done; whether a caller that waits is to be woken for it.
    fn done(&mut self, job: usize) -> bool;
    /// It holds the queue's lock, having pushed a job or only looked.
    fn locked(&mut self, pushed: bool);
    /// Results that are there and not yet taken.
    fn ready(&self) -> usize;
    /// Most bytes that ever were between reading and committing.
    fn peak_bytes(&self) -> f64;
}

/// How much may be on its way at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Window {
    /// So many items, whatever their size.
    Items(usize),
    /// So many bytes.
    Bytes(f64),
}
