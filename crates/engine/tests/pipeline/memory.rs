//! The budget is exceeded by at most one item, and never blocks a pipeline forever.

use packline_engine::{Config, Permit};
use proptest::prelude::*;

use crate::fake::{Fake, Item, Packer, Parcel, Plan, TAILS, items, pipeline};
use crate::gate::{Gated, GatedMap, ignore};
use crate::matrix::parallel;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_peak_is_within_one_item(items in items(100), budget in 0usize..4000, workers in 0usize..5) {
        let largest = items.iter().map(|item| item.bytes).max().unwrap_or(0).max(10);
        let held = if items.iter().any(|item| item.plan == Plan::Tail) { largest * (TAILS - 1) } else { 0 };
        let (log, stats) = parallel(&items, workers, budget);
        prop_assert_eq!(log.end, None);
        prop_assert!(stats.peak_bytes <= budget.max(held + largest), "{:?}", stats);
    }
}

#[test]
fn small_items_count_with_the_overhead_of_the_map() {
    let task = Gated::default();
    let mut map = GatedMap::new(task.clone(), Config::new(1, 1 << 16)).unwrap();
    let opener = std::thread::spawn(move || {
        task.begun.pass();
        std::thread::sleep(std::time::Duration::from_millis(50));
        task.go.open();
    });
    let mut most = 0;
    for _ in 0..5000 {
        let permit = map.reserve(0, &mut ignore).unwrap();
        map.submit(Some(permit), &mut ignore).unwrap();
        let stats = map.stats();
        most = most.max(stats.fed - stats.committed);
    }
    map.drain(&mut ignore).unwrap();
    opener.join().unwrap();
    // 64 KiB hold no more than 512 entries of 128 bytes.
    assert!((10..=512).contains(&most), "{most} items in flight");
}

#[test]
fn permits_of_the_caller_never_block_it() {
    for workers in [0, 2] {
        let mut pipe = pipeline(&Fake::default(), Config::new(workers, 100));
        let mut packer = Packer::default();
        let held: Vec<Permit> = (0..20).map(|_| pipe.reserve(60, &mut packer).unwrap()).collect();
        for (number, permit) in held.into_iter().enumerate() {
            let item = Item::new(60, Plan::Tail);
            pipe.submit(Parcel { number, part: 0, item, mark: 0, permit }, &mut packer).unwrap();
            drop(pipe.reserve(1000, &mut packer).unwrap());
        }
        pipe.drain(&mut packer).unwrap();
        packer.flush(pipe.outbox());
        pipe.drain(&mut packer).unwrap();
        assert_eq!((packer.log.committed.len(), pipe.stats().bytes_in_flight), (7, 0));
    }
}

#[test]
fn a_permit_dropped_elsewhere_wakes_the_caller() {
    let work = Gated::default();
    let mut pipe = GatedMap::new(work.clone(), Config::new(1, 1000)).unwrap();
    let held = pipe.reserve(1000, &mut ignore).unwrap();
    pipe.submit(None, &mut ignore).unwrap();
    // The pipeline's only job does not end before the memory is returned, so nothing else can wake the caller.
    let dropper = std::thread::spawn({
        let begun = work.begun.clone();
        move || {
            begun.pass();
            drop(held);
        }
    });
    let permit = pipe.reserve(500, &mut ignore).unwrap();
    assert_eq!(permit.bytes(), 500);
    work.go.open();
    dropper.join().unwrap();
    pipe.drain(&mut ignore).unwrap();
}
