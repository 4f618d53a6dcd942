//! The thread that reads, decides and commits, with the rules of each packer.

mod packline;
mod toolsng;

pub use packline::Packline;
pub use toolsng::ToolsNg;

#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Position in the output, by which queues sort.
    pub place: u64,
    /// Nanoseconds in the first stage, 0 if none.
    pub hash: f64,
    /// Nanoseconds in the second stage, 0 if none.
    pub compress: f64,
    /// The job that produced its input; that job's worker may still have it in its cache.
    pub after: Option<usize>,
}

/// The caller's next action.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Works for this many nanoseconds, alone on the machine.
    Spend(f64),
    /// Submits a job; jobs are numbered from 0 in this order.
    Submit(Job),
    /// Takes the queue's lock to check for results.
    CheckResults,
    /// Sleeps until [`Caller::done`] returns true.
    Wait,
    Finish,
}

pub trait Caller {
    /// The next action. Called when the last one, or a wait, has ended.
    fn step(&mut self) -> Step;
    /// A job is done. Returns whether to wake a waiting caller.
    fn done(&mut self, job: usize) -> bool;
    /// The caller holds the queue's lock, to push a job or only to check for results.
    fn locked(&mut self, pushed: bool);
    /// Results that are ready and not taken.
    fn ready(&self) -> usize;
    /// Largest number of bytes in flight so far.
    fn peak_bytes(&self) -> f64;
}

/// Limit on work in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Window {
    Items(usize),
    Bytes(f64),
}
