//! With any number of workers and any budget the results equal those of a loop without threads.

use packline_engine::{Config, CpuLocation, Policy, Pool, QueueDomain, Scheduling, Stats, Topology};
use proptest::prelude::*;

use crate::fake::{Fake, Item, Log, items, pipeline, run};
use crate::reference::done;
pub use crate::reference::serial;

const WORKERS: [usize; 7] = [0, 1, 2, 3, 7, 16, 64];
/// Memory for nothing, for about one item, and for more than all items.
const BUDGETS: [usize; 3] = [0, 300, 1 << 20];

pub fn parallel(items: &[Item], workers: usize, budget: usize) -> (Log, Stats) {
    configured(items, Config::new(workers, budget))
}

/// Six workers for each package, two for each cache.
fn topology() -> Topology {
    Topology::new((0..12).map(|n| CpuLocation { core: n, cache: n / 2, package: n / 6 }).collect())
}

/// Every way of scheduling.
fn schedulings() -> Vec<Scheduling> {
    let ways = QueueDomain::EVERY.into_iter().flat_map(|queue_per| Policy::EVERY.map(|policy| (queue_per, policy)));
    let one = |(queue_per, policy)| Scheduling { queue_per, policy, topology: topology() };
    ways.map(one).collect()
}

/// Sends `items` through a pipeline of `config`.
fn configured(items: &[Item], config: Config) -> (Log, Stats) {
    let mut pipe = pipeline(&Fake::default(), config);
    let log = run(&mut pipe, items);
    (log, pipe.stats())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_pipeline_gives_the_same_log(items in items(120)) {
        let (expected, reference) = serial(&items);
        prop_assert_eq!(&expected.end, &None);
        for workers in WORKERS {
            for budget in BUDGETS {
                let (log, stats) = parallel(&items, workers, budget);
                prop_assert_eq!(&log, &expected, "{} workers, budget {}", workers, budget);
                prop_assert_eq!(done(&stats), reference);
                prop_assert_eq!(stats.bytes_in_flight, 0);
                prop_assert!(stats.wakes <= stats.jobs(), "{:?}", stats);
                prop_assert!(workers > 0 || stats.wakes + stats.parks + stats.sleeps == 0, "{:?}", stats);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn every_scheduling_gives_the_same_log(items in items(80)) {
        let (expected, reference) = serial(&items);
        for scheduling in schedulings() {
            for (help_out, workers, budget) in [(false, 5, 300), (true, 5, 300), (true, 2, 1 << 20), (true, 1, 0), (false, 0, 300)] {
                let config = Config { scheduling: scheduling.clone(), help_out, ..Config::new(workers, budget) };
                let (log, stats) = configured(&items, config);
                prop_assert_eq!(&log, &expected, "{:?}, {} workers, help {}", scheduling, workers, help_out);
                prop_assert_eq!(done(&stats), reference);
                prop_assert!(stats.wakes <= stats.jobs() && (help_out || stats.helped == 0), "{:?}", stats);
            }
        }
    }

    #[test]
    fn pipelines_on_one_pool_stay_separate(items in items(80), workers in 0usize..4) {
        let (expected, _) = serial(&items);
        for scheduling in schedulings() {
            let pool = Pool::new(workers, &scheduling, None).unwrap();
            let pipe = |help_out| {
                let config = Config { pool: Some(pool.clone()), help_out, ..Config::new(99, 500) };
                configured(&items, config).0
            };
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|n| scope.spawn({ let pipe = &pipe; move || pipe(n % 2 == 0) })).collect();
                threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), expected));
            });
            prop_assert_eq!(pool.workers(), workers);
        }
    }
}

#[test]
fn a_pipeline_without_items_ends_at_once() {
    for workers in [0, 2] {
        let mut pipe = pipeline(&Fake::default(), Config::new(workers, 0));
        let mut packer = crate::fake::Packer::default();
        pipe.settle(&mut packer).unwrap();
        pipe.drain(&mut packer).unwrap();
        assert_eq!(pipe.stats().waits, 0);
    }
}

#[test]
fn a_pipeline_can_be_drained_and_used_again() {
    let items: Vec<Item> = (0..50).map(|n| Item::new(n, crate::fake::Plan::Parts(2))).collect();
    let mut pipe = pipeline(&Fake::default(), Config::new(2, 100));
    let first = run(&mut pipe, &items);
    let second = run(&mut pipe, &items);
    assert_eq!(first, second);
    assert_eq!(first, serial(&items).0);
}
