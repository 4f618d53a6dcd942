//! The complete engine under shuttle: small pipelines whose threads may be stopped at any lock or atomic, in random orders and
//! in orders with few but badly placed switches (PCT). shuttle reports a hang or a wrong result with its schedule.
//!
//! `RUSTFLAGS="--cfg shuttle" cargo test -p packline-engine --release --lib schedules`
#![allow(clippy::unwrap_used)]

use shuttle::thread;

use crate::task::tests::Echo;
use crate::{Config, Outbox, Pipeline, Policy, Pool, QueueDomain, Scheduling, Sequencer};

type EchoPipeline = Pipeline<Echo, Echo>;

/// Submits each item once, twice or not at all.
#[derive(Default)]
struct Packer(Vec<u32>);

impl Sequencer<Echo, Echo> for Packer {
    fn decide(&mut self, hashed: u32, next: &mut Outbox<Echo>) -> Result<(), ()> {
        match hashed % 4 {
            0 => next.pass(hashed),
            1 => {}
            _ => next.submit(hashed),
        }
        if hashed % 5 == 2 {
            next.submit(hashed + 100);
        }
        Ok(())
    }

    fn commit(&mut self, packed: u32) -> Result<(), ()> {
        self.0.push(packed);
        Ok(())
    }
}

const ITEMS: u32 = 6;

fn pack(pipe: &mut EchoPipeline) -> Vec<u32> {
    let mut packer = Packer::default();
    for item in 0..ITEMS {
        drop(pipe.reserve(40, &mut packer).unwrap());
        pipe.submit(item, &mut packer).unwrap();
    }
    pipe.settle(&mut packer).unwrap();
    pipe.outbox().submit(500);
    pipe.drain(&mut packer).unwrap();
    packer.0
}

fn expected() -> Vec<u32> {
    pack(&mut Pipeline::new(Echo, Echo, Config::new(0, 300)).unwrap())
}

fn scheduling(queue_per: QueueDomain, policy: Policy) -> Scheduling {
    Scheduling { queue_per, policy, ..Scheduling::default() }
}

/// Checks random schedules and PCT schedules.
fn check(model: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(model.clone(), 1500);
    shuttle::check_pct(model, 1500, 3);
}

#[test]
fn a_pipeline_with_its_own_pool() {
    let ways = [scheduling(QueueDomain::All, Policy::Earliest), scheduling(QueueDomain::None, Policy::Local)];
    for (help_out, scheduling) in [false, true].into_iter().flat_map(|help| ways.clone().map(|way| (help, way))) {
        check(move || {
            let config = Config { scheduling: scheduling.clone(), help_out, ..Config::new(2, 300) };
            assert_eq!(pack(&mut EchoPipeline::new(Echo, Echo, config).unwrap()), expected());
        });
    }
}

#[test]
fn two_pipelines_on_one_pool() {
    check(|| {
        let pool = Pool::new(2, &scheduling(QueueDomain::None, Policy::Earliest), None).unwrap();
        let pipe = || EchoPipeline::on(&pool, Echo, Echo, Config::new(0, 300));
        let mut first = pipe();
        let mut second = pipe();
        let other = thread::spawn(move || assert_eq!(pack(&mut second), expected()));
        assert_eq!(pack(&mut first), expected());
        drop(first);
        other.join().unwrap();
    });
}

#[test]
fn a_pipeline_dropped_in_the_middle() {
    check(|| {
        let pool = Pool::new(2, &Scheduling::default(), None).unwrap();
        let mut pipe = EchoPipeline::on(&pool, Echo, Echo, Config::new(0, 300));
        let mut packer = Packer::default();
        (0..3).for_each(|item| pipe.submit(item, &mut packer).unwrap());
        drop(pipe);
        assert_eq!(pack(&mut EchoPipeline::on(&pool, Echo, Echo, Config::new(0, 0))), expected());
    });
}
