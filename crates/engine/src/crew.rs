//! The worker threads: started once, kept, and joined at the end.

use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use crate::Work;
use crate::bell::Bell;
use crate::job::{Bench, Job};
use crate::queue::{RunQueue, Seat};

/// What the caller and its workers share.
pub(crate) struct Shared<W: Work> {
    /// The two stages.
    pub(crate) work: W,
    /// Jobs nobody has taken yet.
    pub(crate) queue: RunQueue<Job<W>>,
    /// Wakes the caller.
    pub(crate) bell: Arc<Bell>,
}

/// The workers of one line. Dropping it throws away what is queued and waits for what runs.
pub(crate) struct Crew<W: Work> {
    shared: Arc<Shared<W>>,
    threads: Vec<JoinHandle<()>>,
}

impl<W: Work> Crew<W> {
    /// Starts `workers` threads.
    ///
    /// # Errors
    /// The system refuses a thread; those already started are stopped again.
    pub(crate) fn start(workers: usize, shared: &Arc<Shared<W>>) -> io::Result<Self> {
        let mut crew = Self { shared: Arc::clone(shared), threads: Vec::new() };
        for number in 1..=workers {
            let thread = crew.spawn(number).map_err(|cause| refused(number, workers, &cause))?;
            crew.threads.push(thread);
        }
        Ok(crew)
    }

    fn spawn(&self, number: usize) -> io::Result<JoinHandle<()>> {
        let shared = Arc::clone(&self.shared);
        Builder::new().name(format!("worker-{number}")).spawn(move || run(&shared))
    }

    /// How many threads there are.
    pub(crate) fn len(&self) -> usize {
        self.threads.len()
    }
}

impl<W: Work> Drop for Crew<W> {
    fn drop(&mut self) {
        self.shared.queue.close();
        for thread in self.threads.drain(..) {
            // A worker catches the panics of its jobs. One of its tool's drop at the very end changes nothing any more.
            let _ = thread.join();
        }
    }
}

fn run<W: Work>(shared: &Shared<W>) {
    let mut bench = Bench::new();
    let seat = Seat::here();
    while let Some(job) = shared.queue.take(&seat) {
        job.run(&shared.work, &mut bench, &shared.bell);
    }
}

fn refused(number: usize, workers: usize, cause: &io::Error) -> io::Error {
    io::Error::new(cause.kind(), format!("cannot start worker thread {number} of {workers}: {cause}"))
}
