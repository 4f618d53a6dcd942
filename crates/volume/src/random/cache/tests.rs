//! Tests the cache alone: its bound, its order, and many threads that want the same block.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use packline_runtime::FormatFault;

use super::*;

const BLOCK: usize = 1000;

fn wanted(number: u64) -> UnitKey {
    UnitKey { unit: Unit { offset: number * 7, stored: 5, length: BLOCK as u32, form: 1 }, exact: true }
}

fn corrupt() -> ReadError {
    ReadError::Corrupt(FormatFault { offset: 3, what: "wrong".into(), expected: "right".into() })
}

/// Asks for a block, and delivers it at once if it is absent. Returns whether the block was cached.
fn touch(cache: &Cache, number: u64) -> bool {
    match cache.ask(wanted(number)) {
        CacheLookup::Here(outcome) => {
            assert_eq!(outcome.unwrap().bytes(), [number as u8; BLOCK]);
            true
        }
        CacheLookup::Coming(_) => panic!("nobody is at it"),
        CacheLookup::Yours(in_flight) => {
            let decoded = Decoded::Small(vec![number as u8; BLOCK]);
            cache.deliver(wanted(number), &in_flight, &Ok(Arc::new(decoded)));
            false
        }
    }
}

#[test]
fn the_bound_holds_and_the_block_used_longest_ago_goes() {
    let cache = Cache::new(3 * BLOCK);
    assert!((0..3).all(|number| !touch(&cache, number)));
    assert!(touch(&cache, 0));
    assert!(!touch(&cache, 3));
    assert_eq!(cache.used(), 3 * BLOCK);
    assert!(touch(&cache, 2) && touch(&cache, 0) && touch(&cache, 3));
    assert!(!touch(&cache, 1));
    for number in 0..1000 {
        touch(&cache, number * number % 61);
        assert!(cache.used() <= 3 * BLOCK);
    }
}

#[test]
fn what_a_sequential_reader_is_through_with_goes_soon() {
    let cache = Cache::new(100 * BLOCK);
    (0..20).for_each(|number| assert!(!touch(&cache, number)));
    cache.release(wanted(77));
    for number in 0..10 {
        cache.release(wanted(number));
        cache.release(wanted(number));
    }
    assert!((2..20).all(|number| touch(&cache, number)));
    assert!(!touch(&cache, 0) && !touch(&cache, 1));
    assert_eq!(cache.used(), 20 * BLOCK);
}

#[test]
fn what_is_asked_for_again_while_it_parts_is_not_lost_on_its_way() {
    let cache = Cache::new(2 * BLOCK);
    let CacheLookup::Yours(in_flight) = cache.ask(wanted(0)) else { panic!("never asked for") };
    (0..20).for_each(|number| cache.release(wanted(number)));
    cache.deliver(wanted(0), &in_flight, &Ok(Arc::new(Decoded::Small(vec![0; BLOCK]))));
    assert!(cache.knows(wanted(0)) && cache.used() == BLOCK);
}

#[test]
fn small_blocks_count_for_what_they_take() {
    let cache = Cache::new(2 * BLOCK);
    for number in 0..100 {
        let CacheLookup::Yours(in_flight) = cache.ask(wanted(number)) else { panic!("never asked for") };
        cache.deliver(wanted(number), &in_flight, &Ok(Arc::new(Decoded::Small(vec![0; 10]))));
    }
    assert_eq!(cache.used(), 1000);
    assert!(cache.knows(wanted(0)));
}

#[test]
fn faults_of_the_image_are_remembered_and_those_of_the_device_are_not() {
    let cache = Cache::new(2 * BLOCK);
    let CacheLookup::Yours(in_flight) = cache.ask(wanted(0)) else { panic!("never asked for") };
    cache.deliver(wanted(0), &in_flight, &Err(corrupt()));
    assert!(matches!(cache.ask(wanted(0)), CacheLookup::Here(Err(ReadError::Corrupt(FormatFault { offset: 3, .. })))));
    let CacheLookup::Yours(in_flight) = cache.ask(wanted(1)) else { panic!("never asked for") };
    let cause = Arc::new(std::io::Error::other("unplugged"));
    cache.deliver(wanted(1), &in_flight, &Err(ReadError::Input { offset: 0, cause }));
    assert!(matches!(in_flight.wait(), Err(ReadError::Input { .. })));
    assert!(!cache.knows(wanted(1)) && cache.used() == FAULT);
}

#[test]
fn blocks_at_one_place_that_are_asked_for_differently_are_different() {
    let cache = Cache::new(3 * BLOCK);
    touch(&cache, 4);
    let whole = wanted(4);
    assert!(cache.knows(whole));
    assert!(!cache.knows(UnitKey { exact: false, ..whole }));
    assert!(!cache.knows(UnitKey { unit: Unit { length: 1, ..whole.unit }, ..whole }));
    assert!(!cache.knows(UnitKey { unit: Unit { stored: 6, ..whole.unit }, ..whole }));
}

#[test]
fn nothing_is_decoded_ahead_where_all_space_is_in_flight() {
    let cache = Cache::new(2 * BLOCK);
    assert!(cache.ask_ahead(wanted(0), || true).is_none(), "what its reader has passed is not decoded either");
    let flights: Vec<_> = (0..2).map(|number| cache.ask_ahead(wanted(number), || false).unwrap()).collect();
    assert!(cache.ask_ahead(wanted(0), || false).is_none() && cache.ask_ahead(wanted(2), || false).is_none());
    // A reader is served anyway, and the bound holds again afterwards.
    assert!(!touch(&cache, 3));
    for (number, in_flight) in flights.iter().enumerate() {
        let decoded = Decoded::Small(vec![number as u8; BLOCK]);
        cache.deliver(wanted(number as u64), in_flight, &Ok(Arc::new(decoded)));
    }
    assert!(cache.used() <= 2 * BLOCK);
}

#[test]
fn however_many_want_a_block_one_makes_it() {
    let cache = Cache::new(4 * BLOCK);
    let made = AtomicUsize::new(0);
    let want = || {
        for number in (0..64).map(|step| step % 4) {
            let outcome = match cache.ask(wanted(number)) {
                CacheLookup::Here(outcome) => outcome,
                CacheLookup::Coming(in_flight) => in_flight.wait(),
                CacheLookup::Yours(in_flight) => {
                    made.fetch_add(1, Ordering::Relaxed);
                    thread::yield_now();
                    let outcome = Ok(Arc::new(Decoded::Small(vec![number as u8; BLOCK])));
                    cache.deliver(wanted(number), &in_flight, &outcome);
                    outcome
                }
            };
            assert_eq!(outcome.unwrap().bytes()[0], number as u8);
        }
    };
    thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(want))));
    assert_eq!(made.into_inner(), 4);
}
