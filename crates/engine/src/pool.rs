//! Worker threads and their queues: started once, kept, used by one line or by several, and joined at the end.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::core::Core;
use crate::sync::thread::{self, JoinHandle};
use crate::worker::Worker;
use crate::{QueueStats, Scheduling, Tracer, WorkerStats};

/// Worker threads that lines share. Clones are the same pool; it ends with the last of them and of its lines, each worker
/// after the job it is at.
///
/// Lines on one pool take turns item by item, and none waits for the others' results. A worker keeps a tool for every
/// line it has worked for, until the line is dropped.
#[derive(Clone)]
pub struct Pool {
    crew: Arc<Crew>,
}

struct Crew {
    core: Arc<Core>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts `workers` threads, or as many as the limits of the process and the machine allow: [`workers`](Self::workers) is
    /// their number. With 0, the jobs of each line are run by its own caller. With a tracer, it is told of every job, and how
    /// long jobs wait and workers idle is measured.
    ///
    /// # Errors
    /// The system refuses to start a thread for another reason than a limit: the message says which of how many. None is left
    /// running then.
    pub fn new(workers: usize, scheduling: &Scheduling, tracer: Option<Arc<dyn Tracer>>) -> io::Result<Self> {
        Self::with_threads(workers, scheduling, tracer, Crew::spawn)
    }

    /// The same with threads that `spawn` starts. A crew that a limit cuts short ends, and a smaller one is started: queues are
    /// laid out for the number of workers. Each is smaller than the last by one thread at least.
    fn with_threads(
        mut workers: usize,
        scheduling: &Scheduling,
        tracer: Option<Arc<dyn Tracer>>,
        spawn: impl Fn(&Crew, usize) -> io::Result<JoinHandle<()>>,
    ) -> io::Result<Self> {
        loop {
            let core = Arc::new(Core::new(workers, scheduling, tracer.clone()));
            let mut crew = Crew { core, threads: Vec::new() };
            let started = (1..=workers).try_for_each(|number| {
                crew.threads.push(spawn(&crew, number).map_err(|cause| refused(number, workers, &cause))?);
                Ok(())
            });
            match started {
                Ok(()) => return Ok(Self { crew: Arc::new(crew) }),
                Err(cause) if is_limit(&cause) => workers = crew.threads.len(),
                Err(cause) => return Err(cause),
            }
        }
    }

    /// A pool whose workers are moved by hand.
    #[cfg(test)]
    pub(crate) fn without_threads(workers: usize, scheduling: &Scheduling) -> Self {
        let core = Arc::new(Core::new(workers, scheduling, None));
        Self { crew: Arc::new(Crew { core, threads: Vec::new() }) }
    }

    /// How many workers there are.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.core().workers()
    }

    /// How many run queues there are.
    #[must_use]
    pub fn queues(&self) -> usize {
        self.core().dispatch.queues()
    }

    /// Counters of each run queue.
    #[must_use]
    pub fn queue_stats(&self) -> Vec<QueueStats> {
        self.core().queue_stats().0
    }

    /// Counters of each worker.
    #[must_use]
    pub fn worker_stats(&self) -> Vec<WorkerStats> {
        self.core().worker_stats()
    }

    /// What the workers and the lines share.
    pub(crate) fn core(&self) -> &Core {
        &self.crew.core
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Pool").field("workers", &self.workers()).field("queues", &self.queues()).finish()
    }
}

impl Crew {
    fn spawn(&self, number: usize) -> io::Result<JoinHandle<()>> {
        let core = Arc::clone(&self.core);
        let work = move || Worker::new(&core, number).run();
        thread::Builder::new().name(format!("worker-{number}")).spawn(work)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.core.close();
        for thread in self.threads.drain(..) {
            // A worker catches the panics of its jobs and of its tools' drops. Nothing is left that could matter.
            let _ = thread.join();
        }
    }
}

/// Whether fewer threads could be started: a limit of processes (`EAGAIN`), or no memory for a stack.
fn is_limit(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory)
}

fn refused(number: usize, workers: usize, cause: &io::Error) -> io::Error {
    io::Error::new(cause.kind(), format!("cannot start worker thread {number} of {workers}: {cause}"))
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "pool_tests.rs"]
mod tests;
