//! Models of the hand-overs between the engine's threads, for loom: every order of their steps, up to a bound of preemptions.
//! loom reports a wake-up that can be lost as a deadlock.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p packline-engine --release --lib models`
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use loom::model::Builder;
use loom::thread;

use crate::caller::waker::CallerWaker;
use crate::core::{Core, StageList};
use crate::scheduler::Scheduler;
use crate::scheduler::idle_workers::WorkerParker;
use crate::scheduler::job_queues::{Owner, QueuedJob};
use crate::scheduler::key::Key;
use crate::scheduler::worker_state::{Taker, WorkerState};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::task::tests::Echo;
use crate::worker::Worker;
use crate::worker::context::SharedStage;
use crate::worker::slot::Slot;
use crate::{Budget, CancelToken, Class, Config, Outbox, Pipeline, Policy, Scheduling, Sequencer, StageName};

const OWNER: Owner = Owner { pipeline: 1, name: StageName::Map };

fn entry<J>(time: u64, job: J) -> QueuedJob<J> {
    QueuedJob { key: Key::new(Class::Normal, time), ticket: time, item: None, queued: 0, job }
}

/// Runs `model` in every order with at most `preemptions` switches of threads that do not wait.
fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// Shared by the workers of a model: jobs, an end, and the sum of the jobs taken.
struct Run {
    scheduler: Scheduler<usize>,
    ended: AtomicBool,
    taken: AtomicUsize,
}

impl Run {
    fn new(scheduler: Scheduler<usize>) -> Arc<Self> {
        Arc::new(Self { scheduler, ended: AtomicBool::new(false), taken: AtomicUsize::new(0) })
    }

    /// A worker that takes jobs, each worth its number, until it has `enough` or the run ends.
    fn worker(self: &Arc<Self>, queue: usize, enough: usize) -> thread::JoinHandle<()> {
        let run = Arc::clone(self);
        thread::spawn(move || {
            let worker = WorkerState::new(queue);
            let parker = WorkerParker::current(queue);
            let taker = Taker { worker: &worker, clock: None };
            let changed = || run.ended.load(Ordering::SeqCst);
            let mut count = 0;
            while count < enough && !changed() {
                if let Some(taken) = run.scheduler.next(&taker, &parker, &changed) {
                    run.taken.fetch_add(taken.entry.job, Ordering::SeqCst);
                    count += 1;
                }
            }
        })
    }

    fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.scheduler.wake_all();
    }
}

fn schedulers(queues: usize) -> &'static [fn() -> Scheduler<usize>] {
    match queues {
        1 => &[|| Scheduler::new(1, Policy::Earliest)],
        _ => &[|| Scheduler::new(2, Policy::Local), || Scheduler::new(2, Policy::Earliest)],
    }
}

#[test]
fn a_worker_that_falls_asleep_finds_every_job() {
    for scheduler in schedulers(1) {
        check(3, move || {
            let run = Run::new(scheduler());
            let worker = run.worker(0, 2);
            run.scheduler.push(0, OWNER, entry(0, 1));
            run.scheduler.push(0, OWNER, entry(1, 10));
            worker.join().unwrap();
            assert_eq!(run.taken.load(Ordering::SeqCst), 11);
        });
    }
}

#[test]
fn two_jobs_reach_two_workers_though_only_one_searches() {
    for scheduler in schedulers(1) {
        check(2, move || {
            let run = Run::new(scheduler());
            // Each worker takes one job and ends: if the second sleeper were not woken, it would sleep forever.
            let workers = [run.worker(0, 1), run.worker(0, 1)];
            run.scheduler.push(0, OWNER, entry(0, 1));
            run.scheduler.push(0, OWNER, entry(1, 10));
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            assert_eq!(run.taken.load(Ordering::SeqCst), 11);
        });
    }
}

#[test]
fn a_skipped_queue_loses_no_job() {
    for scheduler in schedulers(2) {
        check(2, move || {
            let run = Run::new(scheduler());
            let workers = [run.worker(0, 1), run.worker(1, 1)];
            run.scheduler.push(1, OWNER, entry(0, 1));
            run.scheduler.push(1, OWNER, entry(1, 10));
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            assert_eq!(run.taken.load(Ordering::SeqCst), 11);
        });
    }
}

#[test]
fn the_end_wakes_a_worker_that_falls_asleep() {
    for scheduler in schedulers(1) {
        check(3, move || {
            let run = Run::new(scheduler());
            let worker = run.worker(0, usize::MAX);
            run.end();
            worker.join().unwrap();
        });
    }
}

#[test]
fn a_slot_delivers_its_result_and_wakes_the_caller_that_wants_it() {
    check(3, || {
        let waker = Arc::new(CallerWaker::default());
        let slot = Arc::new(Slot::<Echo>::new(7));
        let worker = thread::spawn({
            let slot = Arc::clone(&slot);
            let waker = Arc::clone(&waker);
            move || assert!(slot.run_job(0, &waker, |job| Ok(job + 1)))
        });
        waker.prepare();
        if slot.wait_for() {
            waker.sleep(&CancelToken::new());
        }
        waker.cancel();
        assert!(matches!(slot.take(), Some(Ok(8))));
        worker.join().unwrap();
    });
}

#[test]
fn returned_memory_wakes_the_caller_that_waits_for_it() {
    check(3, || {
        let waker = Arc::new(CallerWaker::default());
        let budget = Budget::with_waker(100, Arc::clone(&waker));
        let held = budget.take(100);
        let worker = thread::spawn(move || drop(held));
        waker.prepare();
        if budget.wait_for(10, 0) {
            waker.sleep(&CancelToken::new());
        }
        waker.cancel();
        budget.cancel_wait();
        assert!(budget.try_take(100).is_some());
        worker.join().unwrap();
    });
}

#[test]
fn closing_a_pipeline_waits_for_its_running_job_and_wakes_its_sleeper() {
    check(2, || {
        let core = Arc::new(Core::new(1, &Scheduling::default(), None));
        let shared = SharedStage::new(Echo, Arc::default());
        let stages: StageList = vec![(StageName::Map, shared.clone())];
        let (pipeline, _) = core.open_pipeline(stages);
        let worker = thread::spawn({
            let core = Arc::clone(&core);
            move || Worker::new(&core, 1).run()
        });
        let slot = Arc::new(Slot::<Echo>::new(7));
        let job: crate::worker::job::JobRef = slot.clone();
        core.push(0, Owner { pipeline, ..OWNER }, entry(0, job));
        shared.closed.store(true, Ordering::SeqCst);
        core.close_pipeline(pipeline);
        // The job was dropped from the queue or has been run, so no thread holds the slot.
        assert_eq!(Arc::strong_count(&slot), 1);
        core.close();
        worker.join().unwrap();
    });
}

#[derive(Default)]
struct Results(Vec<u32>);

impl Sequencer<Echo, Echo> for Results {
    fn decide(&mut self, hashed: u32, next: &mut Outbox<Echo>) -> Result<(), ()> {
        next.submit(hashed);
        Ok(())
    }

    fn commit(&mut self, packed: u32) -> Result<(), ()> {
        self.0.push(packed);
        Ok(())
    }
}

/// A model because models are compiled like users' binaries, without debug assertions.
#[test]
fn a_pipeline_without_workers_runs_its_jobs_itself() {
    check(1, || {
        let mut pipeline = Pipeline::new(Echo, Echo, Config::new(0, 100)).unwrap();
        let mut results = Results::default();
        (0..3).for_each(|item| pipeline.submit(item, &mut results).unwrap());
        pipeline.drain(&mut results).unwrap();
        assert_eq!(results.0, [0, 1, 2]);
    });
}
