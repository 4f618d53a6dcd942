//! The error that is returned, the results committed before it, and the memory that remains.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use packline_engine::{Config, Fault, Outbox, Permit, Sequencer};
use proptest::prelude::*;

use crate::fake::{
    Compress, Fake, FakePipeline, Flaw, Hash, Item, Packer, Parcel, Plan, flaw, items, pipeline, quiet, run,
};
use crate::matrix::{parallel, serial};

fn parcel(number: usize) -> Parcel {
    Parcel { number, part: 0, item: Item::new(1, Plan::Parts(1)), mark: 0, permit: Permit::detached(1) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_first_error_wins_on_every_pipeline(
        items in items(60),
        flaws in prop::collection::vec((any::<prop::sample::Index>(), flaw()), 1..6),
        workers in prop::sample::select(vec![0usize, 1, 2, 3, 7]),
        budget in prop::sample::select(vec![0usize, 300, 1 << 20]),
    ) {
        let mut items = items;
        items.push(Item::new(1, Plan::Parts(1)));
        for (index, flaw) in flaws {
            let at = index.index(items.len());
            items[at].flaw = flaw;
        }
        let (expected, _) = serial(&items);
        let (log, _) = parallel(&items, workers, budget);
        prop_assert_eq!(&log.end, &expected.end);
        prop_assert_eq!(&log.committed, &expected.committed);
        prop_assert!(log.decided.starts_with(&expected.decided));
    }

    #[test]
    fn nothing_is_left_after_an_error(items in items(60), flaw in flaw(), workers in 0usize..4) {
        let mut items = items;
        items.push(Item { flaw, ..Item::new(9, Plan::Parts(1)) });
        let fake = Fake::default();
        let mut pipe = pipeline(&fake, Config::new(workers, 500));
        let budget = pipe.budget();
        prop_assert!(run(&mut pipe, &items).end.is_some());
        drop(pipe);
        prop_assert_eq!((budget.used(), fake.tools.load(Ordering::SeqCst)), (0, 0));
    }
}

/// Submits `items` to both pipelines; the error of each must be `expected`.
fn ends_with(items: &[Item], expected: &str) {
    assert_eq!(serial(items).0.end.as_deref(), Some(expected), "serial");
    for workers in [0, 1, 4] {
        assert_eq!(parallel(items, workers, 1000).0.end.as_deref(), Some(expected), "{workers} workers");
    }
}

fn good(count: usize) -> Vec<Item> {
    (0..count).map(|_| Item::new(10, Plan::Parts(1))).collect()
}

#[test]
fn a_slow_early_error_beats_a_quick_late_one() {
    let mut items = good(20);
    items[3] = Item { flaw: Flaw::Compress, cost: 50_000, ..items[3] };
    items[4].flaw = Flaw::Hash;
    items[9].flaw = Flaw::Source;
    ends_with(&items, "Work(\"planted compress 3\")");
}

#[test]
fn an_earlier_error_beats_an_error_of_the_source() {
    let mut items = good(20);
    items[9].flaw = Flaw::Commit;
    items[10].flaw = Flaw::Source;
    ends_with(&items, "Work(\"planted commit 9\")");
    items[9].flaw = Flaw::None;
    ends_with(&items, "Work(\"planted source 10\")");
}

#[test]
fn a_failed_decision_drops_the_jobs_it_submitted() {
    let mut items = good(20);
    items[5] = Item { flaw: Flaw::DecideLate, ..Item::new(10, Plan::Parts(3)) };
    ends_with(&items, "Work(\"planted late decide 5\")");
    assert_eq!(parallel(&items, 2, 0).0.committed.last().map(|&(number, ..)| number), Some(4));
}

#[test]
fn a_panic_is_an_error_with_its_message() {
    let mut items = good(20);
    items[7].flaw = Flaw::HashPanic;
    ends_with(&items, "Panic(\"planted hash panic 7\")");
    items[6].flaw = Flaw::CompressPanic;
    ends_with(&items, "Panic(\"planted compress panic 6\")");
}

#[test]
fn every_later_call_says_stopped() {
    let check = |pipe: &mut FakePipeline| {
        let mut items = good(3);
        items[1].flaw = Flaw::Hash;
        assert!(run(pipe, &items).end.is_some());
        let mut packer = Packer::default();
        let counts = |pipe: &FakePipeline| (pipe.stats().submitted, pipe.stats().passed);
        let before = counts(pipe);
        pipe.outbox().submit(parcel(0));
        pipe.outbox().pass(parcel(0));
        assert_eq!(counts(pipe), before, "a stopped pipeline drops jobs and results");
        assert!(matches!(pipe.reserve(1, &mut packer), Err(Fault::Stopped)));
        assert!(matches!(pipe.submit(parcel(0), &mut packer), Err(Fault::Stopped)));
        assert!(matches!(pipe.settle(&mut packer), Err(Fault::Stopped)));
        assert!(matches!(pipe.drain(&mut packer), Err(Fault::Stopped)));
        assert!(packer.log.committed.is_empty());
    };
    check(&mut pipeline(&Fake::default(), Config::new(0, 100)));
    check(&mut pipeline(&Fake::default(), Config::new(2, 100)));
}

/// Panics in `decide` or `commit`.
struct Panics {
    in_commit: bool,
}

impl Sequencer<Hash, Compress> for Panics {
    fn decide(&mut self, hashed: Parcel, next: &mut Outbox<Compress>) -> Result<(), String> {
        assert!(self.in_commit, "planted");
        next.submit(hashed);
        Ok(())
    }

    fn commit(&mut self, _: Parcel) -> Result<(), String> {
        panic!("planted");
    }
}

fn unwinds(pipe: &mut FakePipeline, in_commit: bool) {
    quiet();
    let mut caller = Panics { in_commit };
    let run = catch_unwind(AssertUnwindSafe(|| {
        for number in 0..50 {
            pipe.submit(parcel(number), &mut caller)?;
        }
        pipe.drain(&mut caller)
    }));
    assert!(run.is_err());
    assert!(matches!(pipe.settle(&mut caller), Err(Fault::Stopped)));
}

#[test]
fn a_panic_of_the_caller_unwinds_and_the_workers_are_joined() {
    for in_commit in [false, true] {
        unwinds(&mut pipeline(&Fake::default(), Config::new(0, 0)), in_commit);
        let fake = Fake::default();
        let mut pipe = pipeline(&fake, Config::new(3, 0));
        unwinds(&mut pipe, in_commit);
        drop(pipe);
        assert_eq!(fake.tools.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn an_error_frees_what_is_queued_at_once() {
    let mut items = good(20);
    items[1].flaw = Flaw::Hash;
    let mut pipe = pipeline(&Fake::default(), Config::new(2, 1 << 20));
    assert!(run(&mut pipe, &items).end.is_some());
    let budget = pipe.budget();
    let fed = pipe.stats().fed;
    drop(pipe);
    assert_eq!(budget.used(), 0);
    assert!((2..=20).contains(&fed), "{fed} items were submitted before the error was seen");
}
