//! Lines whose every step is chosen by a seed, on one thread: any legal next step of the callers and of the workers, in
//! any order, over the engine's own queues, slots and lanes. A seed that fails is run again by its number.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::hand::Taker;
use crate::run_queue::Taken;
use crate::task::Job;
use crate::task::tests::Echo;
use crate::worker::Worker;
use crate::{Policy, Scheduling, SerialLine, Share, Site, Topology};

/// A small generator: the seeds are numbered, and a number is all there is to a run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Hands items on in all ways and classes, and writes down what is decided and committed.
#[derive(Default, PartialEq, Eq, Debug)]
struct Packer {
    decided: Vec<u32>,
    committed: Vec<u32>,
}

impl Caller<Echo> for Packer {
    fn decide(&mut self, hashed: u32, next: &mut dyn Outbox<Echo>) -> Result<(), ()> {
        self.decided.push(hashed);
        let class = [Class::Now, Class::Normal, Class::Idle][hashed as usize / 4 % 3];
        (0..hashed % 3).for_each(|part| next.submit_as(class, hashed * 10 + part));
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

/// A line, its caller, and what is still to be fed.
struct Side {
    line: ParallelLine<Echo>,
    packer: Packer,
    fed: u32,
}

const ITEMS: u32 = 9;

impl Side {
    fn new(pool: &Pool, dice: &mut Dice) -> Self {
        let config = Config::new(0, 200 * dice.below(12) as usize);
        Self { line: ParallelLine::on(pool, Echo, config), packer: Packer::default(), fed: 0 }
    }

    /// One step of the caller.
    fn step(&mut self, dice: &mut Dice) {
        let done = match dice.below(5) {
            0 if self.fed < ITEMS => {
                if self.line.admit(50).is_some() {
                    self.line.put_on(self.fed);
                    self.fed += 1;
                }
                Ok(true)
            }
            1 => self.line.commit_next(&mut self.packer),
            2 => self.line.decide_next(&mut self.packer),
            3 => Ok(self.line.promote_head()),
            _ => Ok(dice.below(8) == 0 && self.line.run_one()),
        };
        done.unwrap();
    }

    fn is_done(&self) -> bool {
        self.fed == ITEMS && self.line.hash.is_empty() && self.line.press.lane.is_empty()
    }
}

/// A worker that is moved by hand, with the job it has taken and not yet run.
struct Puppet<'a> {
    worker: Worker<'a>,
    number: usize,
    taken: Option<Taken<Job>>,
}

impl<'a> Puppet<'a> {
    fn new(core: &'a Core, number: usize) -> Self {
        Self { worker: Worker::new(core, number), number, taken: None }
    }

    /// One step of the worker: takes a job, or runs the one it has. Whether it could.
    fn step(&mut self, core: &Core) -> bool {
        match self.taken.take() {
            Some(taken) => self.worker.work_off(taken),
            None => self.taken = core.dispatch.take(&Taker { hand: core.hand(self.number), clock: None }),
        }
        self.taken.is_some()
    }
}

fn scheduling(dice: &mut Dice) -> Scheduling {
    Scheduling {
        share: Share::EVERY[dice.below(5) as usize],
        policy: Policy::EVERY[dice.below(2) as usize],
        topology: Topology::new((0..4).map(|n| Site { core: n, cache: n / 2, package: 0 }).collect()),
        plain: dice.below(5) == 0,
    }
}

/// Runs the lines of `sides` to their ends in the order that `dice` say.
fn play(pool: &Pool, sides: &mut [Side], dice: &mut Dice) {
    let core = pool.core();
    let mut puppets: Vec<Puppet<'_>> = (1..=core.workers()).map(|number| Puppet::new(core, number)).collect();
    for _ in 0..20_000 {
        let who = dice.below((sides.len() + puppets.len()) as u64) as usize;
        match who.checked_sub(sides.len()) {
            None => sides[who].step(dice),
            Some(puppet) => {
                puppets[puppet].step(core);
            }
        }
        if sides.iter().all(Side::is_done) {
            return;
        }
    }
    unreachable!("no step leads to the end");
}

fn expected() -> Packer {
    let (mut line, mut packer) = (SerialLine::new(Echo), Packer::default());
    (0..ITEMS).for_each(|item| line.feed(item, &mut packer).unwrap());
    packer
}

#[test]
fn ten_thousand_orders_give_what_the_serial_line_gives() {
    let expected = expected();
    for seed in 0..10_000 {
        let mut dice = Dice(seed);
        let pool = Pool::without_threads(1 + dice.below(4) as usize, &scheduling(&mut dice));
        let mut sides: Vec<Side> = (0..1 + dice.below(2)).map(|_| Side::new(&pool, &mut dice)).collect();
        play(&pool, &mut sides, &mut dice);
        for side in &sides {
            assert_eq!(side.packer, expected, "seed {seed}");
            assert_eq!(side.line.stats().bytes_in_flight, 0, "seed {seed}");
        }
        // Nobody is there who would hear of the end of a line.
        pool.core().forget_hands();
    }
}

/// The numbers of the lines whose jobs a single worker takes, one after the other.
fn turns(pool: &Pool) -> Vec<u64> {
    let core = pool.core();
    let taker = Taker { hand: core.hand(1), clock: None };
    std::iter::from_fn(|| core.dispatch.take(&taker)).map(|taken| taken.owner.line).collect()
}

#[test]
fn lines_take_turns_from_the_moment_they_come() {
    let pool = Pool::without_threads(1, &Scheduling::default());
    let line = || ParallelLine::on(&pool, Echo, Config::new(0, 1 << 20));
    let mut first = line();
    (0..50).for_each(|item| first.put_on(item));
    let core = pool.core();
    let taker = Taker { hand: core.hand(1), clock: None };
    (0..20).for_each(|_| assert!(core.dispatch.take(&taker).is_some()));
    let mut second = line();
    (0..5).for_each(|item| second.put_on(item));
    // The second neither waits for the thirty that are queued nor makes up for the twenty it missed.
    assert_eq!(turns(&pool)[..10], [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
    (0..4).for_each(|item| second.put_on(item));
    (0..4).for_each(|item| first.put_on(item));
    let after_a_break = turns(&pool);
    assert_eq!(after_a_break.iter().filter(|&&line| line == 2).count(), 4);
    assert!(after_a_break[..4].contains(&1) && after_a_break[..4].contains(&2), "{after_a_break:?}");
    core.forget_hands();
}
