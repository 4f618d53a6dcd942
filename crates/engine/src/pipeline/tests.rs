//! Pipelines on one thread whose every step is chosen by a seed: any legal next step of the callers and of the workers, in any
//! order, with the engine's own queues, slots and lanes. The number of a failing seed reproduces the failure.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::scheduler::run_queue::TakenJob;
use crate::scheduler::worker_state::Taker;
use crate::task::tests::Echo;
use crate::worker::Worker;
use crate::{CpuLocation, Policy, QueueDomain, Scheduling, Topology};

/// A small generator of random numbers; a run is determined by its seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Submits jobs of all kinds, and records decisions and commits.
#[derive(Default, PartialEq, Eq, Debug)]
struct Packer {
    decided: Vec<u32>,
    committed: Vec<u32>,
}

impl Sequencer<Echo, Echo> for Packer {
    fn decide(&mut self, hashed: u32, next: &mut Outbox<Echo>) -> Result<(), ()> {
        self.decided.push(hashed);
        (0..hashed % 3).for_each(|part| next.submit(hashed * 10 + part));
        if hashed % 4 == 1 {
            next.pass(hashed * 10 + 9);
        }
        Ok(())
    }

    fn commit(&mut self, packed: u32) -> Result<(), ()> {
        self.committed.push(packed);
        Ok(())
    }
}

/// A pipeline, its steps, and the number of items submitted.
struct Side {
    pipeline: Pipeline<Echo, Echo>,
    packer: Packer,
    fed: u32,
}

const ITEMS: u32 = 9;

impl Side {
    fn new(pool: &Pool, dice: &mut Dice) -> Self {
        let config = Config::new(0, 200 * dice.below(12) as usize);
        Self { pipeline: Pipeline::on(pool, Echo, Echo, config), packer: Packer::default(), fed: 0 }
    }

    fn step(&mut self, dice: &mut Dice) {
        let done = match dice.below(5) {
            0 if self.fed < ITEMS => {
                if self.pipeline.caller.admit(50, &self.pipeline.stages).is_some() {
                    self.pipeline.put(self.fed);
                    self.fed += 1;
                }
                Ok(true)
            }
            1 => self.pipeline.commit_next(&mut self.packer),
            2 => self.pipeline.decide_next(&mut self.packer),
            3 => Ok(self.pipeline.caller.promote_head(&self.pipeline.stages)),
            _ => Ok(dice.below(8) == 0 && self.pipeline.caller.run_one(&mut self.pipeline.stages)),
        };
        done.unwrap();
    }

    fn is_done(&self) -> bool {
        self.fed == ITEMS && self.pipeline.stages.overhead() == 0
    }
}

/// A worker that a test moves step by step, with the job it has taken and not yet run.
struct TestWorker<'a> {
    worker: Worker<'a>,
    number: usize,
    taken: Option<TakenJob<JobRef>>,
}

impl<'a> TestWorker<'a> {
    fn new(core: &'a Core, number: usize) -> Self {
        Self { worker: Worker::new(core, number), number, taken: None }
    }

    /// Takes a job, or runs the job it has. Returns whether it has a job afterwards.
    fn step(&mut self, core: &Core) -> bool {
        match self.taken.take() {
            Some(taken) => self.worker.run_job(taken),
            None => self.taken = core.scheduler.queues.take(&Taker { worker: core.worker(self.number), clock: None }),
        }
        self.taken.is_some()
    }
}

fn scheduling(dice: &mut Dice) -> Scheduling {
    Scheduling {
        queue_per: QueueDomain::EVERY[dice.below(5) as usize],
        policy: Policy::EVERY[dice.below(2) as usize],
        topology: Topology::new((0..4).map(|n| CpuLocation { core: n, cache: n / 2, package: 0 }).collect()),
    }
}

/// Runs the pipelines of `sides` to their ends in an order chosen by `dice`.
fn play(pool: &Pool, sides: &mut [Side], dice: &mut Dice) {
    let core = pool.core();
    let mut workers: Vec<TestWorker<'_>> = (1..=core.workers()).map(|number| TestWorker::new(core, number)).collect();
    for _ in 0..20_000 {
        let who = dice.below((sides.len() + workers.len()) as u64) as usize;
        match who.checked_sub(sides.len()) {
            None => sides[who].step(dice),
            Some(worker) => {
                workers[worker].step(core);
            }
        }
        if sides.iter().all(Side::is_done) {
            return;
        }
    }
    unreachable!("no step leads to the end");
}

fn expected() -> Packer {
    let mut packer = Packer::default();
    for item in 0..ITEMS {
        packer.decided.push(item);
        packer.committed.extend((0..item % 3).map(|part| item * 10 + part));
        packer.committed.extend((item % 4 == 1).then_some(item * 10 + 9));
    }
    packer
}

#[test]
fn ten_thousand_orders_equal_a_loop() {
    let expected = expected();
    for seed in 0..10_000 {
        let mut dice = Dice(seed);
        let pool = Pool::without_threads(1 + dice.below(4) as usize, &scheduling(&mut dice));
        let mut sides: Vec<Side> = (0..1 + dice.below(2)).map(|_| Side::new(&pool, &mut dice)).collect();
        play(&pool, &mut sides, &mut dice);
        for side in &sides {
            assert_eq!(side.packer, expected, "seed {seed}");
            assert_eq!(side.pipeline.stats().bytes_in_flight, 0, "seed {seed}");
        }
        // There is no worker thread that acknowledges the end of a pipeline.
        pool.core().forget_workers();
    }
}

/// The numbers of the pipelines whose jobs a single worker takes, in order.
fn turns(pool: &Pool) -> Vec<u64> {
    let core = pool.core();
    let taker = Taker { worker: core.worker(1), clock: None };
    std::iter::from_fn(|| core.scheduler.queues.take(&taker)).map(|taken| taken.owner.pipeline).collect()
}

#[test]
fn pipelines_take_turns_as_soon_as_they_begin() {
    let pool = Pool::without_threads(1, &Scheduling::default());
    let pipeline = || Pipeline::on(&pool, Echo, Echo, Config::new(0, 1 << 20));
    let mut first = pipeline();
    (0..50).for_each(|item| first.put(item));
    let core = pool.core();
    let taker = Taker { worker: core.worker(1), clock: None };
    (0..20).for_each(|_| assert!(core.scheduler.queues.take(&taker).is_some()));
    let mut second = pipeline();
    (0..5).for_each(|item| second.put(item));
    // The second pipeline neither waits for the thirty queued jobs nor makes up for the twenty it missed.
    assert_eq!(turns(&pool)[..10], [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
    (0..4).for_each(|item| second.put(item));
    (0..4).for_each(|item| first.put(item));
    let after_a_break = turns(&pool);
    assert_eq!(after_a_break.iter().filter(|&&pipeline| pipeline == 2).count(), 4);
    assert!(after_a_break[..4].contains(&1) && after_a_break[..4].contains(&2), "{after_a_break:?}");
    core.forget_workers();
}
