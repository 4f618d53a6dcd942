//! Models of the engine's hand-overs under loom: every order of their steps, up to a bound of preemptions. A wake-up
//! that can be lost is a deadlock, which loom reports.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p packline-engine --release --lib models`
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use loom::model::Builder;
use loom::thread;

use crate::bell::Bell;
use crate::slot::Slot;
use crate::stage::HashStage;
use crate::task::tests::Echo;
use crate::{Budget, CancelToken};

/// Runs `model` in every order with at most `preemptions` switches that no wait asks for.
fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn a_slot_hands_its_result_over_and_wakes_who_wants_it() {
    check(3, || {
        let bell = Arc::new(Bell::default());
        let slot = Arc::new(Slot::<HashStage<Echo>>::new(7));
        let worker = thread::spawn({
            let (slot, bell) = (Arc::clone(&slot), Arc::clone(&bell));
            move || assert!(slot.work_off(0, &bell, |job| Ok(job + 1)))
        });
        bell.arm();
        if slot.want() {
            bell.sleep(&CancelToken::new());
        }
        bell.disarm();
        assert!(matches!(slot.take(), Some(Ok(8))));
        worker.join().unwrap();
    });
}

#[test]
fn memory_that_comes_back_wakes_who_waits_for_it() {
    check(3, || {
        let bell = Arc::new(Bell::default());
        let budget = Budget::with_bell(100, Arc::clone(&bell));
        let held = budget.take(100);
        let worker = thread::spawn(move || drop(held));
        bell.arm();
        if budget.want(10, 0) {
            bell.sleep(&CancelToken::new());
        }
        bell.disarm();
        budget.unwant();
        assert!(budget.try_take(100).is_some());
        worker.join().unwrap();
    });
}
