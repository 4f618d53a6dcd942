//! Whole runs whose results can be computed by hand.

use crate::callers::Window;
use crate::designs::DesignName;
use crate::machine::{Costs, Machine};
use crate::outcome::Outcome;
use crate::published::COSTS;
use crate::setup::{CallerKind, Setup};
use crate::trace::{self, tests::made};
use crate::workload::{Block, Item, Workload};
use crate::world::Wake;
use clap::ValueEnum;

const ITEM: Item = Item { bytes: 100.0, read: 0.0, hash: 0.0, decide: 0.0, whole: true, first: 0, blocks: 0 };
const BLOCK: Block = Block { bytes_in: 100.0, bytes_out: 50.0, compress: Some(0.0), commit: 0.0 };

fn equal(count: usize, item: &Item, block: &Block) -> Workload {
    let mut work = Workload::default();
    (0..count).for_each(|_| work.add(item.clone(), std::slice::from_ref(block)));
    work
}

fn free(workers: usize) -> Machine {
    Machine::ideal(workers + 1, Costs::FREE)
}

fn run(setup: &Setup, machine: &Machine, work: &Workload) -> Outcome {
    setup.run(machine, work).unwrap()
}

fn close(wall: f64, expected: f64) {
    assert!((wall - expected).abs() < 1e-6 * expected.max(1.0), "{wall} (expected {expected})");
}

#[test]
fn one_worker_takes_the_sum() {
    let work = equal(100, &Item { hash: 3.0, ..ITEM }, &Block { compress: Some(7.0), ..BLOCK });
    for &design in DesignName::value_variants() {
        let setup = Setup { design, ..Setup::packline(1, 100.0) };
        let outcome = run(&setup, &free(1), &work);
        close(outcome.wall, 1000.0);
        close(outcome.workers, 1.0);
        assert_eq!(outcome.jobs, 200);
    }
    close(run(&Setup::toolsng(1), &free(1), &work).wall, 1000.0);
}

#[test]
fn many_workers_leave_the_callers_path() {
    let item = Item { read: 10.0, hash: 1.0, decide: 2.0, ..ITEM };
    let mut work = equal(50, &item, &Block { compress: Some(4.0), commit: 3.0, ..BLOCK });
    work.tail = 40.0;
    for &design in DesignName::value_variants() {
        let setup = Setup { design, ..Setup::packline(16, 100.0) };
        // The caller's work hides everything except the last compress job: the last hash job runs while the item before is
        // committed.
        close(run(&setup, &free(16), &work).wall, 50.0 * 15.0 + 40.0 + 4.0);
    }
    assert_eq!(work.caller_work(), 790.0);
}

#[test]
fn workers_share_equal_work() {
    let work = equal(64, &Item { hash: 100.0, ..ITEM }, &Block { compress: Some(300.0), ..BLOCK });
    for workers in [2, 4, 8, 16, 64] {
        let wall = run(&Setup::packline(workers, 100.0), &free(workers), &work).wall;
        let least = 64.0 * 400.0 / workers as f64;
        assert!((least..=least + 300.0).contains(&wall), "{workers} workers: {wall} of {least}");
    }
    // Four workers on two cores behave as two.
    let two = run(&Setup::packline(4, 100.0), &Machine::ideal(2, Costs::FREE), &work).wall;
    assert!((12_800.0..13_400.0).contains(&two), "{two}");
}

#[test]
fn a_slow_head_holds_up_a_small_window() {
    let mut work = equal(1, &Item { hash: 100.0, ..ITEM }, &BLOCK);
    (0..3).for_each(|_| work.add(Item { hash: 10.0, ..ITEM }, &[BLOCK]));
    let small = Setup { window: Window::Items(2), ..Setup::packline(2, 100.0) };
    let outcome = run(&small, &free(2), &work);
    // The second is done at 10, but the third and the fourth enter only at 100, when the first is written. These two run in parallel.
    close(outcome.wall, 110.0);
    close(outcome.stalled, 90.0);
    assert_eq!(outcome.peak_bytes, 200.0);
    let large = Setup::packline(2, 100.0);
    close(run(&large, &free(2), &work).wall, 100.0);
}

#[test]
fn a_window_in_bytes_is_never_exceeded() {
    let work = equal(40, &Item { hash: 10.0, ..ITEM }, &Block { compress: Some(50.0), ..BLOCK });
    let setup = Setup { window: Window::Bytes(350.0), ..Setup::packline(8, 100.0) };
    let outcome = run(&setup, &free(8), &work);
    assert!(outcome.peak_bytes <= 350.0, "{}", outcome.peak_bytes);
    let wide = run(&Setup::packline(8, 100.0), &free(8), &work);
    assert!(outcome.wall > wide.wall && wide.peak_bytes > 350.0);
}

#[test]
fn a_caller_that_sleeps_for_memory_is_woken_when_a_quarter_is_free() {
    // Four results of a tenth of their size each: the caller that is woken for the first reads one item, not four.
    let block = Block { bytes_in: 100.0, bytes_out: 10.0, compress: Some(1000.0), commit: 0.0 };
    let work = equal(400, &ITEM, &block);
    let wakes = |bytes: f64| {
        let setup = Setup { window: Window::Bytes(bytes), ..Setup::packline(4, 100.0) };
        run(&setup, &free(4), &work)
    };
    let tight = wakes(700.0);
    let wide = wakes(40_000.0 * 3.0);
    assert!(tight.peak_bytes <= 700.0 && tight.wall > wide.wall);
    // All four workers have a job all the time: a quarter of the wide window is more than they need.
    close(wide.wall, 100_000.0);
}

#[test]
fn one_worker_spins_and_the_others_sleep() {
    let costs = Costs { spin: 3000.0, wake_call: 1.0, wake_latency: 1.0, wake_run: 0.0, ..COSTS };
    let hash = 30_000.0;
    let soon = 1500.0;
    let mut pairs = Workload::default();
    for item in 0..100 {
        let read = if item % 2 == 0 { hash + soon } else { 0.0 };
        pairs.add(Item { read, hash, ..ITEM }, &[]);
    }
    // A pair is done shortly before the next arrives. Of its two workers one spins and gets an item at once, the other is woken.
    let outcome = run(&Setup::packline(16, 100.0), &Machine::ideal(32, costs), &pairs);
    assert_eq!(outcome.jobs, 100);
    assert!((48..=52).contains(&outcome.wakes), "{}", outcome.wakes);
}

#[test]
fn a_fragment_block_blocks_the_window_of_tools_ng() {
    // A fragment fills its block at once: the block goes to the end of the queue, and what is read after it waits.
    let fragment = Item { whole: false, hash: 1.0, ..ITEM };
    let mut work = Workload::default();
    for _ in 0..10 {
        work.add(fragment.clone(), &[Block { compress: Some(50.0), ..BLOCK }]);
        (0..10).for_each(|_| work.add(Item { hash: 1.0, ..ITEM }, &[Block { compress: Some(9.0), ..BLOCK }]));
    }
    let ours = Setup::packline(4, 100.0);
    let theirs = Setup { window: Window::Items(6), ..Setup::toolsng(4) };
    let least = work.worker_work() / 4.0;
    let ours = run(&ours, &free(4), &work);
    let theirs = run(&theirs, &free(4), &work);
    assert!(ours.wall < least * 1.05, "{} of {least}", ours.wall);
    assert!(theirs.wall > least * 1.2, "{} of {least}", theirs.wall);
}

#[test]
fn one_is_woken_for_a_job_and_a_broadcast_wakes_all() {
    let work = equal(200, &Item { read: 50_000.0, hash: 1000.0, ..ITEM }, &Block { compress: None, ..BLOCK });
    let machine = Machine::ideal(32, COSTS);
    let one = run(&Setup::packline(16, 100.0), &machine, &work);
    assert_eq!((one.jobs, one.wakes), (200, 200));
    assert_eq!(one.locks.contended, 0);
    let all = Setup { wake: Wake::Broadcast, ..Setup::packline(16, 100.0) };
    let all = run(&all, &machine, &work);
    assert!(all.wakes > 200 * 15, "{}", all.wakes);
    assert!(all.wall > one.wall + 200.0 * 10.0 * COSTS.wake_more);
}

#[test]
fn two_locks_a_job() {
    let work = equal(500, &Item { read: 3000.0, hash: 2000.0, ..ITEM }, &Block { compress: Some(9000.0), ..BLOCK });
    for design in [DesignName::Fifo, DesignName::Heap, DesignName::Multiqueue] {
        let setup = Setup { design, queues: 4, ..Setup::packline(8, 100.0) };
        let outcome = run(&setup, &Machine::ideal(9, COSTS), &work);
        // One to push and one to take, and occasionally one that finds the queue already empty.
        let locks = outcome.locks.taken;
        assert!((2 * outcome.jobs..outcome.jobs * 9 / 4).contains(&locks), "{design:?}: {:?}", outcome.locks);
        assert!(outcome.wakes <= outcome.jobs);
    }
}

#[test]
fn equal_inputs_give_equal_results_with_a_thousand_workers() {
    let item = Item { read: 20.0, hash: 5000.0, ..ITEM };
    let work = equal(3000, &item, &Block { compress: Some(90_000.0), commit: 30.0, ..BLOCK });
    for &design in DesignName::value_variants() {
        let setup = Setup { design, queues: 128, ..Setup::packline(1024, 100.0) };
        let outcome = run(&setup, &Machine::ideal(1025, COSTS), &work);
        assert!(outcome.wall >= work.worker_work() / 1024.0, "{design:?}");
        assert_eq!(outcome, run(&setup, &Machine::ideal(1025, COSTS), &work), "{design:?}");
    }
}

#[test]
fn an_empty_workload_ends_at_once() {
    for setup in [Setup::packline(2, 1.0), Setup::toolsng(2)] {
        close(run(&setup, &free(2), &Workload::default()).wall, 0.0);
    }
    let bytes = Setup { caller: CallerKind::Toolsng, ..Setup::packline(2, 1.0) };
    assert!(bytes.run(&free(2), &Workload::default()).is_err());
}

/// Microseconds of an item in the trace below, on each of its threads.
const READ: f64 = 2.0;
const HASH: f64 = 50.0;
const COMPRESS: f64 = 150.0;
const DECIDE: f64 = 0.5;
const COMMIT: f64 = 1.0;

/// Two workers alternate on 40 items, each `slower` times as long: the trace, and its microseconds.
fn two_workers(slower: f64) -> (String, f64) {
    let tickets: Vec<(String, String)> = (0..40)
        .map(|k| (format!("\"ticket\":{k},\"bytes_in\":100"), format!("\"bytes_out\":50,\"item\":{k}")))
        .collect();
    let compress: Vec<String> = tickets.iter().map(|(ticket, more)| format!("{ticket},{more}")).collect();
    let mut rows = Vec::new();
    let round = (HASH + COMPRESS) * slower + DECIDE + COMMIT;
    for (k, (ticket, _)) in tickets.iter().enumerate() {
        let begin = 40.0 * READ + (k / 2) as f64 * round;
        let hashed = begin + HASH * slower;
        rows.push(("read", 0, k as f64 * READ, READ, ticket.as_str()));
        rows.push(("hash", 1 + k % 2, begin, HASH * slower, ticket));
        rows.push(("decide", 0, hashed + (k % 2) as f64 * DECIDE / 2.0, DECIDE / 2.0, ticket));
        rows.push(("compress", 1 + k % 2, hashed + DECIDE, COMPRESS * slower, &compress[k]));
        rows.push(("commit", 0, begin + round - COMMIT + (k % 2) as f64 * COMMIT / 2.0, COMMIT / 2.0, ticket));
    }
    let wall = 40.0 * READ + 20.0 * round;
    (made(2, wall, &rows), wall)
}

#[test]
fn a_trace_is_reproduced_and_extrapolated() {
    let (text, wall) = two_workers(1.0);
    let seen = trace::read(&text, &free(2), 0.0).unwrap();
    assert_eq!((seen.workers, seen.work.items.len(), seen.work.blocks.len()), (2, 40, 40));
    close(seen.work.worker_work(), 40.0 * (HASH + COMPRESS) * 1e3);
    let again = run(&Setup::packline(2, 100.0), &free(2), &seen.work).wall / 1e3;
    assert!((again / wall - 1.0).abs() < 0.05, "{again} of {wall}");
    // With four workers it takes little more than half of it: the trace's own pauses between jobs fall away.
    let four = run(&Setup::packline(4, 100.0), &free(4), &seen.work).wall / 1e3;
    assert!((0.45..0.56).contains(&(four / wall)), "{four} of {wall}");
}

#[test]
fn slowdown_by_other_threads_is_removed_from_traces() {
    // Both workers on one core, or two cores that fall to a half: each job takes twice its own time.
    let (text, wall) = two_workers(2.0);
    let halved = Machine { fall: 0.5, ..Machine::ideal(2, Costs::FREE) };
    for machine in [Machine::ideal(1, Costs::FREE), halved] {
        let seen = trace::read(&text, &machine, 0.0).unwrap();
        close(seen.work.worker_work(), 40.0 * (HASH + COMPRESS) * 1e3);
        let again = run(&Setup::packline(2, 100.0), &machine, &seen.work).wall / 1e3;
        assert!((again / wall - 1.0).abs() < 0.05, "{again} of {wall}");
    }
}
