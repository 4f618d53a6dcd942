//! Tests of a pool with jobs put into its queues by hand: workers outlive panics, tools live as long as their pipeline.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::*;
use crate::scheduler::job_queues::{Owner, QueuedJob};
use crate::scheduler::key::Key;
use crate::task::Outcome;
use crate::worker::context::SharedStage;
use crate::worker::job::JobRef;
use crate::worker::slot::Slot;
use crate::{CancelToken, Class, Fault, StageName, Task};

/// Jobs that panic, fail or return the number of the tool they ran with; the first tool cannot be made.
#[derive(Clone, Default)]
struct Shaky {
    tools: Arc<AtomicUsize>,
    alive: Arc<AtomicUsize>,
}

struct Tool {
    number: usize,
    alive: Arc<AtomicUsize>,
}

impl Drop for Tool {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
        assert!(!self.number.is_multiple_of(2), "planted: a tool that cannot be dropped");
    }
}

impl Shaky {
    fn new_tool(&self) -> Tool {
        let number = self.tools.fetch_add(1, Ordering::SeqCst);
        assert!(number > 0, "no tool");
        self.alive.fetch_add(1, Ordering::SeqCst);
        Tool { number, alive: Arc::clone(&self.alive) }
    }
}

impl Task for Shaky {
    type In = &'static str;
    type Out = Made;
    type Error = ();
    type Tool = Tool;

    fn tool(&self) -> Tool {
        self.new_tool()
    }

    fn run(&self, tool: &mut Tool, input: &'static str) -> Result<Made, ()> {
        match input {
            "panic" => panic!("in the job"),
            "fail" => Err(()),
            "bomb" => Ok(Made::Bomb(Bomb)),
            _ => Ok(Made::Tool(tool.number)),
        }
    }
}

#[allow(dead_code, reason = "a bomb is only dropped")]
enum Made {
    /// The number of the tool it ran with.
    Tool(usize),
    Bomb(Bomb),
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

/// A pipeline without a caller.
struct Half {
    pool: Pool,
    shared: Arc<SharedStage<Shaky>>,
    number: u64,
}

impl Half {
    fn new(pool: &Pool) -> Self {
        let shared = SharedStage::new(Shaky::default(), Arc::default());
        let stages: crate::core::StageList = vec![(StageName::Map, shared.clone())];
        let (number, _) = pool.core().open_pipeline(stages);
        Self { pool: pool.clone(), shared, number }
    }

    fn push(&self, job: JobRef) {
        let entry = QueuedJob { key: Key::new(Class::Normal, 0), ticket: 0, item: None, queued: 0, job };
        self.pool.core().push(0, Owner { pipeline: self.number, name: StageName::Map }, entry);
    }

    fn run(&self, input: &'static str) -> Result<usize, Fault<()>> {
        let slot = Arc::new(Slot::<Shaky>::new(input));
        self.shared.waker.prepare();
        assert!(slot.wait_for());
        self.push(slot.clone());
        self.shared.waker.sleep(&CancelToken::new());
        let outcome: Outcome<Shaky> = slot.take().unwrap();
        outcome.map(|made| match made {
            Made::Tool(number) => number,
            Made::Bomb(_) => 0,
        })
    }

    fn alive(&self) -> usize {
        self.shared.task.alive.load(Ordering::SeqCst)
    }

    fn close(&self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.pool.core().close_pipeline(self.number);
    }
}

fn pool_of_one() -> Pool {
    Pool::new(1, &Scheduling::default(), None).unwrap()
}

#[test]
fn one_worker_outlives_every_panic() {
    let pool = pool_of_one();
    {
        let pipe = Half::new(&pool);
        assert!(matches!(pipe.run("go"), Err(Fault::Panic(text)) if text == "no tool"));
        assert!(matches!(pipe.run("go"), Ok(1)));
        assert!(matches!(pipe.run("panic"), Err(Fault::Panic(text)) if text == "in the job"));
        assert!(matches!(pipe.run("go"), Ok(2)), "a panic replaces the tool");
        assert!(matches!(pipe.run("fail"), Err(Fault::Work(()))));
        assert!(matches!(pipe.run("go"), Ok(2)), "an error keeps it");
        // When this job is done, the worker alone holds the slot, so it drops the result.
        pipe.push(Arc::new(Slot::<Shaky>::new("bomb")));
        assert!(matches!(pipe.run("go"), Ok(2)));
        pipe.close();
        let next = Half::new(&pool);
        assert!(next.run("go").is_err() && matches!(next.run("go"), Ok(1)), "the worker outlives the drop of a tool");
    }
}

#[test]
fn a_sleeping_worker_drops_the_tools_of_a_closed_pipeline() {
    let pool = pool_of_one();
    {
        let first = Half::new(&pool);
        let second = Half::new(&pool);
        for pipe in [&first, &second] {
            assert!(pipe.run("go").is_err() && pipe.run("go").is_ok());
        }
        assert_eq!((first.alive(), second.alive()), (1, 1));
        second.close();
        assert_eq!((first.alive(), second.alive()), (1, 0));
        assert!(matches!(first.run("go"), Ok(1)), "the other pipe's tool is kept");
        // To drop the pool joins the worker, after which no tool is left.
        first.close();
        drop(pool);
        let Half { pool, shared, .. } = first;
        drop((pool, second));
        assert_eq!(shared.task.alive.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn drops_a_job_of_a_closed_pipeline() {
    let pool = pool_of_one();
    {
        let pipe = Half::new(&pool);
        let other = Half::new(&pool);
        pipe.close();
        let slot = Arc::new(Slot::<Shaky>::new("go"));
        pipe.push(slot.clone());
        assert!(other.run("go").is_err(), "queued after it");
        assert!(slot.wait_for() && Arc::strong_count(&slot) == 1);
    }
}

#[test]
fn wakes_at_most_one_worker_for_a_job() {
    let pool = Pool::new(4, &Scheduling::default(), None).unwrap();
    let asleep = || {
        while pool.core().scheduler.sleepers() < 4 {
            thread::yield_now();
        }
    };
    let pipe = Half::new(&pool);
    assert!(pipe.run("go").is_err(), "the tool that cannot be made");
    asleep();
    let before = pool.core().queue_stats().0[0];
    for round in 1..=20 {
        assert!(pipe.run("go").is_ok());
        asleep();
        let now = pool.core().queue_stats().0[0];
        assert_eq!((now.wakes - before.wakes, now.jobs - before.jobs), (round, round));
    }
    assert_eq!(pool.core().worker_stats().iter().map(|worker| worker.jobs).sum::<u64>(), 21);
}

/// A pool of 4 workers on a system that starts at most `most` threads and fails for others with `kind`.
fn with_at_most(most: usize, kind: io::ErrorKind) -> io::Result<Pool> {
    Pool::with_threads(4, &Scheduling::default(), None, |threads, number| {
        if number > most { Err(kind.into()) } else { threads.spawn(number) }
    })
}

#[test]
fn a_pool_has_as_many_workers_as_a_limit_of_threads_allows() {
    for most in 0..=5 {
        let pool = with_at_most(most, io::ErrorKind::WouldBlock).unwrap();
        assert_eq!((pool.workers(), pool.core().worker_stats().len()), (most.min(4), most.min(4)));
    }
    let denied = with_at_most(2, io::ErrorKind::PermissionDenied).unwrap_err();
    assert!(denied.to_string().starts_with("cannot start worker thread 3 of 4: "), "{denied}");
}

#[test]
fn the_error_names_the_thread() {
    let error = refused(3, 64, &io::Error::from(io::ErrorKind::WouldBlock));
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    assert!(error.to_string().starts_with("cannot start worker thread 3 of 64: "));
    assert_eq!(format!("{:?}", Pool::new(0, &Scheduling::default(), None).unwrap()), "Pool { workers: 0, queues: 1 }");
}
