//! Worker threads and their queues: started once, used by one or several pipelines, and joined at the end.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::core::Core;
use crate::sync::thread::{self, JoinHandle};
use crate::worker::Worker;
use crate::{Scheduling, Tracer};

/// Worker threads that pipelines share. Clones are the same pool. The pool ends when its last clone and its last pipeline are
/// dropped; each worker first finishes its current job.
///
/// Pipelines on one pool take turns item by item, and none waits for the others' results. A worker keeps a tool for every stage
/// it has worked for, until the pipeline is dropped.
#[derive(Clone)]
pub struct Pool {
    threads: Arc<Threads>,
}

struct Threads {
    core: Arc<Core>,
    handles: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts `workers` threads, or as many as the limits of the process and the machine allow; [`workers`](Self::workers)
    /// returns their number. With 0, each pipeline runs its jobs on its caller's thread as they are submitted. With a tracer,
    /// every job is recorded, and waiting and idle times are measured.
    ///
    /// # Errors
    /// The system refuses to start a thread for a reason other than a limit. The message names the thread's number, and no
    /// thread is left running.
    pub fn new(workers: usize, scheduling: &Scheduling, tracer: Option<Arc<dyn Tracer>>) -> io::Result<Self> {
        Self::with_threads(workers, scheduling, tracer, Threads::spawn)
    }

    /// Does the same with threads that `spawn` starts. If a limit is reached, the threads end and fewer are started, because
    /// queues are laid out for the number of workers. Each attempt starts at least one thread fewer than the last.
    fn with_threads(
        mut workers: usize,
        scheduling: &Scheduling,
        tracer: Option<Arc<dyn Tracer>>,
        spawn: impl Fn(&Threads, usize) -> io::Result<JoinHandle<()>>,
    ) -> io::Result<Self> {
        loop {
            let core = Arc::new(Core::new(workers, scheduling, tracer.clone()));
            let mut threads = Threads { core, handles: Vec::new() };
            let started = (1..=workers).try_for_each(|number| {
                threads.handles.push(spawn(&threads, number).map_err(|cause| refused(number, workers, &cause))?);
                Ok(())
            });
            match started {
                Ok(()) => return Ok(Self { threads: Arc::new(threads) }),
                Err(cause) if is_limit(&cause) => workers = threads.handles.len(),
                Err(cause) => return Err(cause),
            }
        }
    }

    /// A pool whose workers are driven by a test.
    #[cfg(test)]
    pub(crate) fn without_threads(workers: usize, scheduling: &Scheduling) -> Self {
        let core = Arc::new(Core::new(workers, scheduling, None));
        Self { threads: Arc::new(Threads { core, handles: Vec::new() }) }
    }

    #[must_use]
    pub fn workers(&self) -> usize {
        self.core().workers()
    }

    pub(crate) fn queues(&self) -> usize {
        self.core().scheduler.queues.len()
    }

    pub(crate) fn core(&self) -> &Core {
        &self.threads.core
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Pool").field("workers", &self.workers()).field("queues", &self.queues()).finish()
    }
}

impl Threads {
    fn spawn(&self, number: usize) -> io::Result<JoinHandle<()>> {
        let core = Arc::clone(&self.core);
        let work = move || Worker::new(&core, number).run();
        thread::Builder::new().name(format!("worker-{number}")).spawn(work)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.core.close();
        for thread in self.handles.drain(..) {
            // A worker catches the panics of its jobs and of the drops of its tools, so an error here means nothing.
            let _ = thread.join();
        }
    }
}

/// Whether fewer threads may succeed: a limit of processes (`EAGAIN`), or no memory for a stack.
fn is_limit(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory)
}

fn refused(number: usize, workers: usize, cause: &io::Error) -> io::Error {
    io::Error::new(cause.kind(), format!("cannot start worker thread {number} of {workers}: {cause}"))
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
