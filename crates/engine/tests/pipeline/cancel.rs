//! Cancels pipelines, and drops pipelines with jobs in flight.

use std::sync::atomic::Ordering;
use std::thread;

use packline_engine::{CancelToken, Config, Fault};
use proptest::prelude::*;

use crate::fake::{Fake, Packer, Parcel, items, pipeline, run};
use crate::gate::{Gated, GatedMap, ignore};

/// The call that waits while the pipeline is cancelled.
type Waiting = fn(&mut GatedMap) -> Result<(), Fault<String>>;

fn cancelled_while(waiting: Waiting) {
    let work = Gated::default();
    let config = Config::new(2, 100);
    let cancel = config.cancel.clone();
    let mut pipe = GatedMap::new(work.clone(), config).unwrap();
    let permit = pipe.reserve(100, &mut ignore).unwrap();
    pipe.submit(Some(permit), &mut ignore).unwrap();
    let begun = work.begun.clone();
    let canceller = thread::spawn(move || {
        begun.pass();
        cancel.cancel();
    });
    assert!(matches!(waiting(&mut pipe), Err(Fault::Cancelled)));
    assert!(matches!(pipe.drain(&mut ignore), Err(Fault::Stopped)));
    canceller.join().unwrap();
    work.go.open();
    drop(pipe);
    assert!(!work.running.load(Ordering::SeqCst), "the drop waits for what runs");
}

#[test]
fn cancel_ends_every_wait() {
    cancelled_while(|pipe| pipe.advance(&mut ignore));
    cancelled_while(|pipe| pipe.drain(&mut ignore));
    cancelled_while(|pipe| pipe.reserve(1, &mut ignore).map(drop));
}

#[test]
fn a_cancelled_pipeline_refuses_the_next_call() {
    let cancel = CancelToken::new();
    let config = Config { cancel: cancel.clone(), ..Config::default() };
    let mut pipe = pipeline(&Fake::default(), config);
    cancel.cancel();
    let mut packer = Packer::default();
    assert!(matches!(pipe.reserve(1, &mut packer), Err(Fault::Cancelled)));
    assert!(matches!(pipe.settle(&mut packer), Err(Fault::Stopped)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_pipeline_dropped_in_the_middle_leaves_nothing(items in items(100), workers in 0usize..5, fed in 0usize..100) {
        let fake = Fake::default();
        let mut pipe = pipeline(&fake, Config::new(workers, 1 << 20));
        let budget = pipe.budget();
        let mut packer = Packer::default();
        for (number, &item) in items.iter().enumerate().take(fed) {
            let permit = pipe.reserve(item.bytes, &mut packer).unwrap();
            pipe.submit(Parcel { number, part: 0, item, mark: 0, permit }, &mut packer).unwrap();
        }
        drop((pipe, packer));
        prop_assert_eq!((budget.used(), fake.tools.load(Ordering::SeqCst)), (0, 0));
    }

    #[test]
    fn cancelling_at_any_time_is_clean(items in items(100), workers in 0usize..4, after in 0u32..20_000) {
        let fake = Fake::default();
        let config = Config::new(workers, 300);
        let cancel = config.cancel.clone();
        let mut pipe = pipeline(&fake, config);
        let budget = pipe.budget();
        let canceller = thread::spawn(move || {
            (0..after).for_each(|_| std::hint::spin_loop());
            cancel.cancel();
        });
        let end = run(&mut pipe, &items).end;
        canceller.join().unwrap();
        drop(pipe);
        prop_assert!(end.is_none_or(|end| end == "Cancelled"));
        prop_assert_eq!((budget.used(), fake.tools.load(Ordering::SeqCst)), (0, 0));
    }
}
