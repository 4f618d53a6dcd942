//! A hundred thousand tiny jobs: a lost wake-up would hang these tests.

use crate::fake::{Item, Plan};
use crate::matrix::{parallel, serial};

fn tiny(count: usize) -> Vec<Item> {
    (0..count).map(|n| Item::new(n % 7, if n % 5 == 4 { Plan::Tail } else { Plan::Parts(1) })).collect()
}

#[test]
fn many_tiny_jobs() {
    let items = tiny(60_000);
    let (expected, _) = serial(&items);
    for (workers, budget) in [(0, 1 << 24), (1, 1 << 24), (2, 1 << 24), (2, 1 << 14), (7, 1 << 16), (64, 1 << 20)] {
        let (log, stats) = parallel(&items, workers, budget);
        assert_eq!(log, expected, "{workers} workers, budget {budget}");
        assert!(stats.jobs() > 100_000 && stats.wakes <= stats.jobs(), "{stats:?}");
    }
}

#[test]
fn one_by_one_with_no_memory() {
    let items = tiny(3000);
    let (expected, _) = serial(&items);
    for workers in [1, 2, 7] {
        assert_eq!(parallel(&items, workers, 0).0, expected, "{workers} workers");
    }
}

#[test]
fn pipelines_side_by_side_stay_separate() {
    let items = tiny(3000);
    let (expected, _) = serial(&items);
    std::thread::scope(|scope| {
        for workers in [1, 2, 3] {
            let items = &items;
            let expected = &expected;
            scope.spawn(move || assert_eq!(&parallel(items, workers, 500).0, expected));
        }
    });
}
