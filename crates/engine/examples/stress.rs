//! Sends small items through pipelines of every kind, for race detectors (see `cargo xtask races`).
//!
//! `stress ITEMS` compares the results of each pipeline with the results of a pipeline without threads.
#![allow(clippy::print_stdout, clippy::disallowed_methods, clippy::unwrap_used, clippy::panic)]

#[allow(dead_code, reason = "the tests make more kinds of items")]
#[path = "../tests/pipeline/fake.rs"]
mod fake;

use std::thread;

use fake::{Fake, Item, Log, Plan, pipeline, run};
use packline_engine::{Config, Policy, Pool, QueueDomain, Scheduling};

/// Memory for one item, for a few, and for all.
const BUDGETS: [usize; 3] = [0, 2000, 1 << 20];

/// Items of a few bytes. Every fifth item waits for others.
fn items(count: usize) -> Vec<Item> {
    (0..count).map(|n| Item::new(n % 7, if n % 5 == 4 { Plan::Tail } else { Plan::Parts(2) })).collect()
}

fn schedulings() -> Vec<Scheduling> {
    let of = |queue_per, policy| Scheduling { queue_per, policy, ..Scheduling::default() };
    let queues = [
        (QueueDomain::All, Policy::Earliest),
        (QueueDomain::None, Policy::Earliest),
        (QueueDomain::None, Policy::Local),
    ];
    queues.map(|(queue_per, policy)| of(queue_per, policy)).to_vec()
}

fn through(config: Config, items: &[Item]) -> Log {
    run(&mut pipeline(&Fake::default(), config), items)
}

/// Two pipelines of one pool, called from two threads. One caller helps out.
fn side_by_side(pool: &Pool, items: &[Item], expected: &Log) {
    thread::scope(|scope| {
        for help_out in [false, true] {
            let config = Config { pool: Some(pool.clone()), help_out, ..Config::new(0, 2000) };
            scope.spawn(move || assert_eq!(&through(config, items), expected));
        }
    });
}

/// Drops a pipeline with jobs in flight.
fn dropped(pool: &Pool, items: &[Item]) {
    let config = Config { pool: Some(pool.clone()), ..Config::new(0, 1 << 20) };
    let mut pipe = pipeline(&Fake::default(), config);
    let mut packer = fake::Packer::default();
    for (number, &item) in items.iter().enumerate().take(40) {
        let permit = pipe.reserve(item.bytes, &mut packer).unwrap();
        pipe.submit(fake::Parcel { number, part: 0, item, mark: 0, permit }, &mut packer).unwrap();
    }
}

fn main() {
    let count = std::env::args().nth(1).map_or(1000, |count| count.parse().expect("usage: stress ITEMS"));
    let items = items(count);
    let expected = through(Config::new(0, 0), &items);
    for scheduling in schedulings() {
        for (workers, budget) in [1, 2, 4].into_iter().zip(BUDGETS) {
            let config = Config { scheduling: scheduling.clone(), ..Config::new(workers, budget) };
            assert_eq!(through(config, &items), expected);
        }
        let pool = Pool::new(3, &scheduling, None).unwrap();
        dropped(&pool, &items);
        side_by_side(&pool, &items, &expected);
    }
    println!("{count} items through {} pipelines: all equal the one without threads", schedulings().len() * 6);
}
