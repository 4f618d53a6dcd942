//! Sends small items down lines of every kind, as fast as they go, for checkers of races to look on: see `cargo xtask races`.
//!
//! `stress ITEMS`: what comes out of each line is compared with what the serial line gives.
#![allow(clippy::print_stdout, clippy::disallowed_methods, clippy::unwrap_used, clippy::panic)]

#[allow(dead_code, reason = "the tests make more kinds of items")]
#[path = "../tests/line/fake.rs"]
mod fake;

use std::thread;

use fake::{Fake, Item, Log, Plan, run};
use packline_engine::{Config, Line, ParallelLine, Policy, Pool, Scheduling, SerialLine, Share};

/// Room for a few items, for some more, and for all.
const BUDGETS: [usize; 3] = [0, 2000, 1 << 20];

/// Items of a few bytes, each fifth of which waits for others.
fn items(count: usize) -> Vec<Item> {
    (0..count).map(|n| Item::new(n % 7, if n % 5 == 4 { Plan::Tail } else { Plan::Parts(2) })).collect()
}

fn ways() -> Vec<Scheduling> {
    let plain = Scheduling { plain: true, ..Scheduling::default() };
    let of = |share, policy| Scheduling { share, policy, ..Scheduling::default() };
    let queues = [(Share::All, Policy::Earliest), (Share::None, Policy::Earliest), (Share::None, Policy::Local)];
    queues.map(|(share, policy)| of(share, policy)).into_iter().chain([plain]).collect()
}

fn through(config: Config, items: &[Item]) -> Log {
    run(&mut ParallelLine::new(Fake::default(), config).unwrap(), items)
}

/// Two lines of one pool, whose callers are threads of their own; one helps out.
fn side_by_side(pool: &Pool, items: &[Item], expected: &Log) {
    thread::scope(|scope| {
        for help_out in [false, true] {
            let config = Config { pool: Some(pool.clone()), help_out, ..Config::new(0, 2000) };
            scope.spawn(move || assert_eq!(&through(config, items), expected));
        }
    });
}

/// A line that is dropped with jobs on it.
fn dropped(pool: &Pool, items: &[Item]) {
    let config = Config { pool: Some(pool.clone()), ..Config::new(0, 1 << 20) };
    let (mut line, mut packer) = (ParallelLine::new(Fake::default(), config).unwrap(), fake::Packer::default());
    for (number, &item) in items.iter().enumerate().take(40) {
        let permit = line.reserve(item.bytes, &mut packer).unwrap();
        line.feed(fake::Parcel { number, part: 0, item, mark: 0, permit }, &mut packer).unwrap();
    }
}

fn main() {
    let count = std::env::args().nth(1).map_or(1000, |count| count.parse().expect("usage: stress ITEMS"));
    let items = items(count);
    let expected = run(&mut SerialLine::new(Fake::default()), &items);
    for scheduling in ways() {
        for (workers, budget) in [1, 2, 4].into_iter().zip(BUDGETS) {
            let config = Config { scheduling: scheduling.clone(), ..Config::new(workers, budget) };
            assert_eq!(through(config, &items), expected);
        }
        let pool = Pool::new(3, &scheduling, None).unwrap();
        dropped(&pool, &items);
        side_by_side(&pool, &items, &expected);
    }
    println!("{count} items on {} lines: all as the serial line has them", ways().len() * 6);
}
