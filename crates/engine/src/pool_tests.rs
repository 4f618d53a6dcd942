//! Tests of a pool with jobs put into its queues by hand: workers outlive panics, tools live as long as their line.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::*;
use crate::desk::Shared;
use crate::key::Key;
use crate::rows::{Entry, Owner};
use crate::slot::{Outcome, Slot};
use crate::stage::{HashStage, PressStage};
use crate::{CancelToken, Class, Fault, LaneName, Work};

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

impl Work for Shaky {
    type Raw = &'static str;
    type Hashed = usize;
    type Job = ();
    type Packed = Bomb;
    type Error = ();
    type Tool = Tool;

    fn tool(&self) -> Tool {
        let number = self.tools.fetch_add(1, Ordering::SeqCst);
        assert!(number > 0, "no tool");
        self.alive.fetch_add(1, Ordering::SeqCst);
        Tool { number, alive: Arc::clone(&self.alive) }
    }

    fn hash(&self, tool: &mut Tool, raw: &'static str) -> Result<usize, ()> {
        assert!(raw != "panic", "in the job");
        if raw == "fail" { Err(()) } else { Ok(tool.number) }
    }

    fn compress(&self, _: &mut Tool, (): ()) -> Result<Bomb, ()> {
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

/// A line of which only the pool's side is there.
struct Half {
    pool: Pool,
    shared: Arc<Shared<Shaky>>,
    number: u64,
}

impl Half {
    fn new(pool: &Pool) -> Self {
        let shared = Shared { work: Shaky::default(), bell: Arc::default(), closed: false.into() };
        let shared = Arc::new(shared);
        let (number, _) = pool.core().open_line(Arc::<Shared<Shaky>>::clone(&shared));
        Self { pool: pool.clone(), shared, number }
    }

    fn push(&self, lane: LaneName, job: crate::task::Job) {
        let entry = Entry { key: Key::new(Class::Normal, 0), ticket: 0, item: None, queued: 0, job };
        self.pool.core().push(0, Owner { line: self.number, lane }, entry);
    }

    fn hashed(&self, raw: &'static str) -> Outcome<usize, ()> {
        let slot = Arc::new(Slot::<HashStage<Shaky>>::new(raw));
        self.shared.bell.arm();
        assert!(slot.want());
        self.push(LaneName::Hash, Arc::<Slot<HashStage<Shaky>>>::clone(&slot));
        self.shared.bell.sleep(&CancelToken::new());
        slot.take().unwrap()
    }

    fn alive(&self) -> usize {
        self.shared.work.alive.load(Ordering::SeqCst)
    }

    fn close(&self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.pool.core().close_line(self.number);
    }
}

fn ways() -> [Pool; 2] {
    let plain = Scheduling { plain: true, ..Scheduling::default() };
    [plain, Scheduling::default()].map(|scheduling| Pool::new(1, &scheduling, None).unwrap())
}

#[test]
fn one_worker_outlives_every_panic() {
    for pool in ways() {
        let line = Half::new(&pool);
        assert!(matches!(line.hashed("go"), Err(Fault::Panic(text)) if text == "no tool"));
        assert!(matches!(line.hashed("go"), Ok(1)));
        assert!(matches!(line.hashed("panic"), Err(Fault::Panic(text)) if text == "in the job"));
        assert!(matches!(line.hashed("go"), Ok(2)), "the tool is made anew after a panic");
        assert!(matches!(line.hashed("fail"), Err(Fault::Work(()))));
        assert!(matches!(line.hashed("go"), Ok(2)), "and kept after an error");
        // Nobody holds the slot any more when the job is done: the worker drops the result.
        line.push(LaneName::Commit, Arc::new(Slot::<PressStage<Shaky>>::new(())));
        assert!(matches!(line.hashed("go"), Ok(2)));
        line.close();
        let next = Half::new(&pool);
        assert!(next.hashed("go").is_err() && matches!(next.hashed("go"), Ok(1)), "and it outlives the drop of a tool");
    }
}

#[test]
fn a_sleeping_worker_lets_go_of_the_tools_of_a_closed_line() {
    for pool in ways() {
        let (first, second) = (Half::new(&pool), Half::new(&pool));
        for line in [&first, &second] {
            assert!(line.hashed("go").is_err() && line.hashed("go").is_ok());
        }
        assert_eq!((first.alive(), second.alive()), (1, 1));
        second.close();
        assert_eq!((first.alive(), second.alive()), (1, 0));
        assert!(matches!(first.hashed("go"), Ok(1)), "the other line's tool is kept");
        // The worker's last job was of the second line: nobody waits for it to let go of the first one's tool.
        first.close();
        drop(pool);
        let Half { pool, shared, .. } = first;
        drop((pool, second));
        assert_eq!(shared.work.alive.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn a_job_that_outlived_its_line_is_dropped() {
    for pool in ways() {
        let (line, other) = (Half::new(&pool), Half::new(&pool));
        line.close();
        let slot = Arc::new(Slot::<HashStage<Shaky>>::new("go"));
        line.push(LaneName::Hash, Arc::<Slot<HashStage<Shaky>>>::clone(&slot));
        assert!(other.hashed("go").is_err(), "behind it");
        assert!(slot.want() && Arc::strong_count(&slot) == 1);
    }
}

#[test]
fn every_sleeper_is_reached_by_a_burst_and_one_wake_a_job_is_the_most() {
    let pool = Pool::new(4, &Scheduling::default(), None).unwrap();
    let asleep = || {
        while pool.core().dispatch.sleepers() < 4 {
            thread::yield_now();
        }
    };
    let line = Half::new(&pool);
    assert!(line.hashed("go").is_err(), "the tool that cannot be made");
    asleep();
    let before = pool.queue_stats()[0];
    for round in 1..=20 {
        assert!(line.hashed("go").is_ok());
        asleep();
        let now = pool.queue_stats()[0];
        assert_eq!((now.wakes - before.wakes, now.jobs - before.jobs), (round, round));
    }
    assert_eq!(pool.worker_stats().iter().map(|worker| worker.jobs).sum::<u64>(), 21);
}

/// A pool of 4 workers where the system starts no more than `most` threads, and refuses others with `kind`.
fn with_at_most(most: usize, kind: io::ErrorKind) -> io::Result<Pool> {
    Pool::with_threads(4, &Scheduling::default(), None, |crew, number| match number > most {
        true => Err(kind.into()),
        false => crew.spawn(number),
    })
}

#[test]
fn a_pool_has_as_many_workers_as_a_limit_of_threads_allows() {
    for most in 0..=5 {
        let pool = with_at_most(most, io::ErrorKind::WouldBlock).unwrap();
        assert_eq!((pool.workers(), pool.worker_stats().len()), (most.min(4), most.min(4)));
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
