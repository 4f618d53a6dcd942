//! Models of the engine's hand-overs under loom: every order of their steps, up to a bound of preemptions. A wake-up
//! that can be lost is a deadlock, which loom reports.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p packline-engine --release --lib models`
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use loom::model::Builder;
use loom::thread;

use crate::bell::Bell;
use crate::core::Core;
use crate::desk::Shared;
use crate::dispatch::Dispatch;
use crate::hand::{Hand, Taker};
use crate::key::Key;
use crate::rows::{Entry, Owner};
use crate::seat::Seat;
use crate::slot::Slot;
use crate::stage::HashStage;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::task::tests::Echo;
use crate::worker::Worker;
use crate::{Budget, Caller, CancelToken, Class, Config, LaneName, Line, Outbox, ParallelLine, Policy, Scheduling};

const OWNER: Owner = Owner { line: 1, lane: LaneName::Hash };

fn entry<J>(time: u64, job: J) -> Entry<J> {
    Entry { key: Key::new(Class::Normal, time), ticket: time, item: None, queued: 0, job }
}

/// Runs `model` in every order with at most `preemptions` switches that no wait asks for.
fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// What the workers of a model share: jobs, an end, and how many jobs they took.
struct Yard {
    dispatch: Dispatch<usize>,
    ended: AtomicBool,
    taken: AtomicUsize,
}

impl Yard {
    fn new(dispatch: Dispatch<usize>) -> Arc<Self> {
        Arc::new(Self { dispatch, ended: AtomicBool::new(false), taken: AtomicUsize::new(0) })
    }

    /// A worker that takes jobs, each worth its number, until it has `enough` or the end comes.
    fn worker(self: &Arc<Self>, queue: usize, enough: usize) -> thread::JoinHandle<()> {
        let yard = Arc::clone(self);
        thread::spawn(move || {
            let (hand, seat) = (Hand::new(queue), Seat::here(queue));
            let taker = Taker { hand: &hand, clock: None };
            let changed = || yard.ended.load(Ordering::SeqCst);
            let mut count = 0;
            while count < enough && !changed() {
                if let Some(taken) = yard.dispatch.next(&taker, &seat, &changed) {
                    yard.taken.fetch_add(taken.entry.job, Ordering::SeqCst);
                    count += 1;
                }
            }
        })
    }

    fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.dispatch.wake_all();
    }
}

fn ways(queues: usize) -> [fn() -> Dispatch<usize>; 2] {
    match queues {
        1 => [Dispatch::plain, || Dispatch::ordered(1, Policy::Earliest)],
        _ => [|| Dispatch::ordered(2, Policy::Local), || Dispatch::ordered(2, Policy::Earliest)],
    }
}

#[test]
fn a_worker_that_falls_asleep_finds_every_job() {
    for way in ways(1) {
        check(3, move || {
            let yard = Yard::new(way());
            let worker = yard.worker(0, 2);
            yard.dispatch.push(0, OWNER, entry(0, 1));
            yard.dispatch.push(0, OWNER, entry(1, 10));
            worker.join().unwrap();
            assert_eq!(yard.taken.load(Ordering::SeqCst), 11);
        });
    }
}

#[test]
fn two_jobs_reach_two_workers_though_only_one_searches() {
    for way in ways(1) {
        check(2, move || {
            let yard = Yard::new(way());
            // Each takes one job and leaves: if the second sleeper were not called, it would sleep for ever.
            let workers = [yard.worker(0, 1), yard.worker(0, 1)];
            yard.dispatch.push(0, OWNER, entry(0, 1));
            yard.dispatch.push(0, OWNER, entry(1, 10));
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            assert_eq!(yard.taken.load(Ordering::SeqCst), 11);
        });
    }
}

#[test]
fn a_queue_that_is_passed_by_loses_nothing() {
    for way in ways(2) {
        check(2, move || {
            let yard = Yard::new(way());
            let workers = [yard.worker(0, 1), yard.worker(1, 1)];
            yard.dispatch.push(1, OWNER, entry(0, 1));
            yard.dispatch.push(1, OWNER, entry(1, 10));
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            assert_eq!(yard.taken.load(Ordering::SeqCst), 11);
        });
    }
}

#[test]
fn the_end_reaches_a_worker_that_falls_asleep() {
    for way in ways(1) {
        check(3, move || {
            let yard = Yard::new(way());
            let worker = yard.worker(0, usize::MAX);
            yard.end();
            worker.join().unwrap();
        });
    }
}

#[test]
fn a_slot_hands_its_result_over_and_wakes_who_wants_it() {
    check(3, || {
        let bell = Arc::new(Bell::default());
        let slot = Arc::new(Slot::<HashStage<Echo>>::new(7));
        let worker = thread::spawn({
            let (slot, bell) = (Arc::clone(&slot), Arc::clone(&bell));
            move || assert!(slot.work_off(0, &bell, |job| Ok(job + 1)))
        });
        bell.arm();
        if slot.want() {
            bell.sleep(&CancelToken::new());
        }
        bell.disarm();
        assert!(matches!(slot.take(), Some(Ok(8))));
        worker.join().unwrap();
    });
}

#[test]
fn memory_that_comes_back_wakes_who_waits_for_it() {
    check(3, || {
        let bell = Arc::new(Bell::default());
        let budget = Budget::with_bell(100, Arc::clone(&bell));
        let held = budget.take(100);
        let worker = thread::spawn(move || drop(held));
        bell.arm();
        if budget.want(10, 0) {
            bell.sleep(&CancelToken::new());
        }
        bell.disarm();
        budget.unwant();
        assert!(budget.try_take(100).is_some());
        worker.join().unwrap();
    });
}

#[test]
fn who_closes_a_line_waits_for_its_running_job_and_wakes_its_sleeper() {
    check(2, || {
        let core = Arc::new(Core::new(1, &Scheduling::default(), None));
        let shared = Shared { work: Echo, bell: Arc::default(), closed: AtomicBool::new(false) };
        let shared = Arc::new(shared);
        let (line, _) = core.open_line(Arc::<Shared<Echo>>::clone(&shared));
        let worker = thread::spawn({
            let core = Arc::clone(&core);
            move || Worker::new(&core, 1).run()
        });
        let slot = Arc::new(Slot::<HashStage<Echo>>::new(7));
        core.push(0, Owner { line, ..OWNER }, entry(0, Arc::<Slot<HashStage<Echo>>>::clone(&slot)));
        shared.closed.store(true, Ordering::SeqCst);
        core.close_line(line);
        // Either it was dropped from the queue, or it has been run: nobody holds it any more.
        assert_eq!(Arc::strong_count(&slot), 1);
        core.close();
        worker.join().unwrap();
    });
}

/// Hands everything on, and keeps what comes of it.
#[derive(Default)]
struct Kept(Vec<u32>);

impl Caller<Echo> for Kept {
    fn decide(&mut self, hashed: u32, next: &mut dyn Outbox<Echo>) -> Result<(), ()> {
        next.submit(hashed);
        Ok(())
    }

    fn commit(&mut self, packed: u32) -> Result<(), ()> {
        self.0.push(packed);
        Ok(())
    }
}

/// Here because models are compiled as users' binaries are, without debug assertions.
#[test]
fn a_line_without_workers_runs_its_jobs_while_it_waits() {
    check(1, || {
        let mut line = ParallelLine::new(Echo, Config::new(0, 100)).unwrap();
        let mut kept = Kept::default();
        (0..3).for_each(|item| line.feed(item, &mut kept).unwrap());
        line.drain(&mut kept).unwrap();
        assert_eq!(kept.0, [0, 1, 2]);
    });
}
