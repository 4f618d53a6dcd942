//! Any number of workers and any budget give what the serial line gives.

use packline_engine::{Config, Line, ParallelLine, SerialLine, Stats};
use proptest::prelude::*;

use crate::fake::{Fake, Item, Log, items, run};

const WORKERS: [usize; 7] = [0, 1, 2, 3, 7, 16, 64];
/// Nothing, about one item, and more than all.
const BUDGETS: [usize; 3] = [0, 300, 1 << 20];

pub fn serial(items: &[Item]) -> (Log, Stats) {
    let mut line = SerialLine::new(Fake::default());
    let log = run(&mut line, items);
    (log, line.stats())
}

pub fn parallel(items: &[Item], workers: usize, budget: usize) -> (Log, Stats) {
    let mut line = ParallelLine::new(Fake::default(), Config::new(workers, budget)).unwrap();
    let log = run(&mut line, items);
    (log, line.stats())
}

/// The counters that say what was done, without those that say how.
fn done(stats: &Stats) -> [u64; 5] {
    [stats.fed, stats.decided, stats.submitted, stats.passed, stats.committed]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_line_gives_the_same(items in items(120)) {
        let (expected, reference) = serial(&items);
        prop_assert_eq!(&expected.end, &None);
        for workers in WORKERS {
            for budget in BUDGETS {
                let (log, stats) = parallel(&items, workers, budget);
                prop_assert_eq!(&log, &expected, "{} workers, budget {}", workers, budget);
                prop_assert_eq!(done(&stats), done(&reference));
                prop_assert_eq!((reference.bytes_in_flight, stats.bytes_in_flight), (0, 0));
                prop_assert!(stats.wakes <= stats.jobs(), "{:?}", stats);
                prop_assert!(workers > 0 || stats.wakes + stats.parks + stats.sleeps == 0, "{:?}", stats);
            }
        }
    }
}

#[test]
fn a_line_without_items_ends_at_once() {
    for workers in [0, 2] {
        let mut line = ParallelLine::new(Fake::default(), Config::new(workers, 0)).unwrap();
        let mut packer = crate::fake::Packer::default();
        line.settle(&mut packer).unwrap();
        line.drain(&mut packer).unwrap();
        assert_eq!(line.stats().waits, 0);
    }
}

#[test]
fn a_line_can_be_drained_and_used_again() {
    let items: Vec<Item> = (0..50).map(|n| Item::new(n, crate::fake::Plan::Parts(2))).collect();
    let mut line = ParallelLine::new(Fake::default(), Config::new(2, 100)).unwrap();
    let first = run(&mut line, &items);
    let second = run(&mut line, &items);
    assert_eq!(first, second);
    assert_eq!(first, serial(&items).0);
}
