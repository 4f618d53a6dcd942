//! Tests of a pool with jobs put into its queues by hand: workers outlive panics, tools live as long as their pipeline.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::*;
use crate::context::Shared;
use crate::job::JobRef;
use crate::scheduler::job_queues::{Entry, Owner};
use crate::scheduler::key::Key;
use crate::slot::Slot;
use crate::task::Outcome;
use crate::{CancelToken, Class, Fault, StageName, Task};

/// Jobs that panic, fail or give the number of the tool they ran with; the first tool cannot be made.
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

/// The result of a job.
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
    shared: Arc<Shared<Shaky>>,
    number: u64,
}

impl Half {
    fn new(pool: &Pool) -> Self {
        let shared = Shared::new(Shaky::default(), Arc::default());
        let stages: crate::core::Stages = vec![(StageName::Map, shared.clone())];
        let (number, _) = pool.core().open_pipeline(stages);
        Self { pool: pool.clone(), shared, number }
    }

    fn push(&self, job: JobRef) {
        let entry = Entry { key: Key::new(Class::Normal, 0), ticket: 0, item: None, queued: 0, job };
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
        let line = Half::new(&pool);
        assert!(matches!(line.run("go"), Err(Fault::Panic(text)) if text == "no tool"));
        assert!(matches!(line.run("go"), Ok(1)));
        assert!(matches!(line.run("panic"), Err(Fault::Panic(text)) if text == "in the job"));
        assert!(matches!(line.run("go"), Ok(2)), "the tool is made anew after a panic");
        assert!(matches!(line.run("fail"), Err(Fault::Work(()))));
        assert!(matches!(line.run("go"), Ok(2)), "and kept after an error");
        // Nobody holds the slot any more when the job is done: the worker drops the result.
        line.push(Arc::new(Slot::<Shaky>::new("bomb")));
        assert!(matches!(line.run("go"), Ok(2)));
        line.close();
        let next = Half::new(&pool);
        assert!(next.run("go").is_err() && matches!(next.run("go"), Ok(1)), "and it outlives the drop of a tool");
    }
}

#[test]
fn a_sleeping_worker_lets_go_of_the_tools_of_a_closed_line() {
    let pool = pool_of_one();
    {
        let first = Half::new(&pool);
        let second = Half::new(&pool);
        for line in [&first, &second] {
            assert!(line.run("go").is_err() && line.run("go").is_ok());
        }
        assert_eq!((first.alive(), second.alive()), (1, 1));
        second.close();
        assert_eq!((first.alive(), second.alive()), (1, 0));
        assert!(matches!(first.run("go"), Ok(1)), "the other line's tool is kept");
        // The worker's last job was of the second pipeline: nothing waits for it to drop the first one's tool.
        first.close();
        drop(pool);
        let Half { pool, shared, .. } = first;
        drop((pool, second));
        assert_eq!(shared.task.alive.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn a_job_that_outlived_its_line_is_dropped() {
    let pool = pool_of_one();
    {
        let line = Half::new(&pool);
        let other = Half::new(&pool);
        line.close();
        let slot = Arc::new(Slot::<Shaky>::new("go"));
        line.push(slot.clone());
        assert!(other.run("go").is_err(), "behind it");
        assert!(slot.wait_for() && Arc::strong_count(&slot) == 1);
    }
}

#[test]
fn every_sleeper_is_reached_by_a_burst_and_one_wake_a_job_is_the_most() {
    let pool = Pool::new(4, &Scheduling::default(), None).unwrap();
    let asleep = || {
        while pool.core().scheduler.sleepers() < 4 {
            thread::yield_now();
        }
    };
    let line = Half::new(&pool);
    assert!(line.run("go").is_err(), "the tool that cannot be made");
    asleep();
    let before = pool.core().queue_stats().0[0];
    for round in 1..=20 {
        assert!(line.run("go").is_ok());
        asleep();
        let now = pool.core().queue_stats().0[0];
        assert_eq!((now.wakes - before.wakes, now.jobs - before.jobs), (round, round));
    }
    assert_eq!(pool.core().worker_stats().iter().map(|worker| worker.jobs).sum::<u64>(), 21);
}

/// A pool of 4 workers where the system starts no more than `most` threads, and refuses others with `kind`.
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
fn a_refused_thread_is_named() {
    let error = refused(3, 64, &io::Error::from(io::ErrorKind::WouldBlock));
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    assert!(error.to_string().starts_with("cannot start worker thread 3 of 64: "));
    assert_eq!(format!("{:?}", Pool::new(0, &Scheduling::default(), None).unwrap()), "Pool { workers: 0, queues: 1 }");
}
