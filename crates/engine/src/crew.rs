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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Place;
    use crate::slot::{Outcome, Slot};
    use crate::{CancelToken, Fault};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Jobs that panic, fail or give the number of the tool they ran with; the first tool cannot be made.
    #[derive(Default)]
    struct Shaky {
        tools: AtomicUsize,
    }

    impl Work for Shaky {
        type Raw = &'static str;
        type Hashed = usize;
        type Job = ();
        type Packed = Bomb;
        type Error = ();
        type Tool = usize;

        fn tool(&self) -> usize {
            let number = self.tools.fetch_add(1, Ordering::SeqCst);
            assert!(number > 0, "no tool");
            number
        }

        fn hash(&self, tool: &mut usize, raw: &'static str) -> Result<usize, ()> {
            assert!(raw != "panic", "in the job");
            if raw == "fail" { Err(()) } else { Ok(*tool) }
        }

        fn compress(&self, _: &mut usize, (): ()) -> Result<Bomb, ()> {
            Ok(Bomb)
        }
    }

    /// Panics when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    fn hashed(shared: &Shared<Shaky>, raw: &'static str) -> Outcome<usize, ()> {
        let slot = Arc::new(Slot::new());
        shared.bell.arm();
        assert!(slot.want());
        shared.queue.push(Place::Hash(0), Job::Hash(raw, Arc::clone(&slot)));
        shared.bell.sleep(&CancelToken::new());
        slot.take().unwrap()
    }

    #[test]
    fn one_worker_outlives_every_panic() {
        let shared = Arc::new(Shared { work: Shaky::default(), queue: RunQueue::new(), bell: Arc::default() });
        let crew = Crew::start(1, &shared).unwrap();
        assert!(matches!(hashed(&shared, "go"), Err(Fault::Panic(text)) if text == "no tool"));
        assert!(matches!(hashed(&shared, "go"), Ok(1)));
        assert!(matches!(hashed(&shared, "panic"), Err(Fault::Panic(text)) if text == "in the job"));
        assert!(matches!(hashed(&shared, "go"), Ok(2)), "the tool is made anew after a panic");
        assert!(matches!(hashed(&shared, "fail"), Err(Fault::Work(()))));
        assert!(matches!(hashed(&shared, "go"), Ok(2)), "and kept after an error");
        // Nobody holds the slot any more when the job is done: the worker drops the result.
        shared.queue.push(Place::Commit(0), Job::Compress((), Arc::new(Slot::new())));
        assert!(matches!(hashed(&shared, "go"), Ok(2)));
        assert_eq!(crew.len(), 1);
    }

    #[test]
    fn a_refused_thread_is_named() {
        let error = refused(3, 64, &io::Error::from(io::ErrorKind::WouldBlock));
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(error.to_string().starts_with("cannot start worker thread 3 of 64: "));
    }
}
