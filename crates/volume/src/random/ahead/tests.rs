//! Tests which requests form a sequence, and which blocks are then decoded ahead.

use super::*;

const BLOCK: u64 = 128 << 10;

/// Returns the blocks due after these requests of 64 KiB, for a file of 100 blocks with at most 16 blocks ahead.
fn due(offsets: &[u64]) -> Range<u64> {
    let mut pattern = Pattern::default();
    let mut last = 0..0;
    for &offset in offsets {
        pattern.note(offset, 64 << 10);
        last = if pattern.is_sequential() { pattern.due(16, BLOCK, 100) } else { 0..0 };
    }
    last
}

#[test]
fn a_sequence_is_followed_further_the_longer_it_is() {
    let offsets: Vec<u64> = (0..24).map(|number| number * (64 << 10)).collect();
    assert_eq!(due(&offsets[..1]), 0..0);
    assert_eq!(due(&offsets[..2]), 1..5);
    assert_eq!(due(&offsets[..3]), 5..10);
    assert_eq!(due(&offsets[..4]), 10..18);
    // More blocks are due when half of them are used up.
    assert_eq!(due(&offsets[..5]), 18..18);
    assert_eq!(due(&offsets[..18]), 18..18);
    assert_eq!(due(&offsets[..19]), 18..26);
    assert_eq!(due(&offsets[..20]), 26..26);
}

#[test]
fn requests_may_overtake_each_other() {
    let kilo = |offset: u64| offset << 10;
    assert_eq!(due(&[0, kilo(128), kilo(64)]), 6..10);
    assert_eq!(due(&[kilo(64), 0, kilo(128)]), 5..10);
}

#[test]
fn leaps_are_no_sequence() {
    let mega = |offset: u64| offset << 20;
    assert_eq!(due(&[0, mega(5), mega(2), mega(9), mega(4)]), 0..0);
    assert_eq!(due(&[mega(3), mega(3) + 4096, mega(1)]), 0..0);
    // A sequence at another position of the file starts again.
    assert_eq!(due(&[0, 64 << 10, 128 << 10, mega(4), mega(4) + (64 << 10)]), 0..0);
    assert_eq!(due(&[0, 64 << 10, 128 << 10, mega(4), mega(4) + (64 << 10), mega(4) + (128 << 10)]), 34..38);
}

#[test]
fn nothing_is_due_behind_the_end() {
    assert_eq!(due(&[98 * BLOCK, 98 * BLOCK + 1, 98 * BLOCK + 2]), 99..100);
    assert_eq!(due(&[98 * BLOCK, 98 * BLOCK + 1, 98 * BLOCK + 2, 98 * BLOCK + 3]), 100..100);
    let mut pattern = Pattern::default();
    pattern.note(u64::MAX - 10, 10);
    pattern.note(u64::MAX - 10, 10);
    assert!(pattern.due(16, BLOCK, 3).is_empty());
}

#[test]
fn a_reader_counts_while_it_is_sequential() {
    let readers = Arc::new(AtomicUsize::new(0));
    let mut pattern = Pattern { among: Some(Share::of(&readers)), ..Pattern::default() };
    assert_eq!(readers.load(Ordering::Relaxed), 1);
    pattern.note(1 << 30, 1);
    assert_eq!(readers.load(Ordering::Relaxed), 0);
}

#[test]
fn what_is_needed_most_is_decoded() {
    let through = Arc::<AtomicU64>::default();
    let job = |number: u64, class| {
        let unit = crate::Unit { offset: number, stored: 1, length: 1, form: crate::PLAIN };
        Job { wanted: UnitKey { unit, exact: false }, block: number, through: Arc::clone(&through), class, number }
    };
    let ahead = (0..6).map(|number| job(number, Class::Normal));
    let jobs: Vec<Job> = ahead.chain([job(6, Class::Now), job(7, Class::Now)]).collect();
    let surplus: Vec<u64> = jobs.iter().filter(|job| job.is_surplus(8, 4)).map(|job| job.number).collect();
    assert_eq!(surplus, [0, 1, 2, 3]);
    assert!(!job(0, Class::Now).is_surplus(100, 4), "a request waits for it");
    // The reader was faster with all blocks except one.
    through.store(7, Ordering::Relaxed);
    assert!(jobs.iter().map(Job::is_passed).eq([true, true, true, true, true, true, true, false]));
}
