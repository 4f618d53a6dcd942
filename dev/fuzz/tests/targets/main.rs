//! Runs each target on its seeds and on a number of changed seeds, which are the same in each run. libFuzzer, which finds more, runs longer
//! (`cargo xtask fuzz`).
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a test fails by panicking")]

mod change;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use packline_fuzz::seeds;
use packline_testkit::share;
use rustix::time::{ClockId, clock_gettime};

/// Limits of one input: of the processor, for the thread of the target, and of the clock, within which each input ends on a busy machine too.
const PROCESSOR: Duration = Duration::from_secs(10);
const CLOCK: Duration = Duration::from_secs(120);

/// The short form of the tests takes one input of this number.
const SHARE: usize = 4;

/// A test for each target, with the number of changed seeds, which take about a second.
macro_rules! targets {
    ($($name:ident $changes:literal)*) => {
        $(
            #[test]
            fn $name() {
                run(stringify!($name), packline_fuzz::$name, $changes);
            }
        )*

        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

targets! {
    action 15000
    cache_answer 20000
    cpio 8000
    decompress 1000
    delta 1000
    directory 5000
    encode 10
    encrypted 800
    erofs 600
    erofs_index 2000
    erofs_writer 2
    erofs_xattr 3000
    huff0 10000
    image 500
    inode 5000
    layers 10000
    lrz 300
    metadata 10000
    mtree 20000
    oci 1500
    pln 150
    pseudo_file 30000
    recovery 150
    squashfs_old 250
    superblock 3000
    tar_reader 8000
    verity 10000
    zip 4000
}

fn run(name: &str, target: fn(&[u8]), changes: u64) {
    let seeds = seeds::of(name).unwrap();
    let names: BTreeSet<&str> = seeds.iter().map(|seed| seed.name.as_str()).collect();
    assert!(!seeds.is_empty() && names.len() == seeds.len(), "{names:?}");
    let seeds: Vec<Vec<u8>> = seeds.into_iter().map(|seed| seed.bytes).collect();
    let numbers: Vec<u64> = share(0..seeds.len() as u64 + changes, SHARE, name).collect();
    let inputs = numbers.into_iter().map(move |number| {
        let seed = seeds.get(number as usize).cloned();
        seed.unwrap_or_else(|| change::changed(&seeds, number))
    });
    if let Some(input) = failing_input(target, inputs) {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.input"));
        std::fs::write(&path, &input).unwrap();
        panic!("the target {name} panics, or runs for {CLOCK:?}, with the {} bytes in {}", input.len(), path.display());
    }
}

/// Runs a target in a thread of its own, so that an input that takes too long is found too. Returns the input with which the target fails.
fn failing_input(target: fn(&[u8]), inputs: impl Iterator<Item = Vec<u8>> + Send + 'static) -> Option<Vec<u8>> {
    let (sender, receiver) = channel();
    let work = move || {
        for input in inputs {
            sender.send(input.clone()).unwrap();
            let before = processor_time();
            target(&input);
            let taken = processor_time() - before;
            assert!(taken < PROCESSOR, "one input took {taken:?} (expected less than {PROCESSOR:?})");
        }
    };
    let worker = thread::Builder::new().spawn(work).unwrap();
    let mut last = None;
    loop {
        match receiver.recv_timeout(CLOCK) {
            Ok(input) => last = Some(input),
            Err(RecvTimeoutError::Timeout) => return last,
            Err(RecvTimeoutError::Disconnected) => return last.filter(|_| worker.join().is_err()),
        }
    }
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}

#[test]
fn each_target_has_a_test_and_seeds_and_a_program() {
    let programs = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("libfuzzer/src/bin")).unwrap();
    let programs = programs.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
    let names: BTreeSet<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(programs.collect::<BTreeSet<_>>(), names);
    assert_eq!(seeds::targets().map(str::to_owned).collect::<BTreeSet<_>>(), names);
}

#[test]
fn input_that_fails_is_found() {
    let target = |bytes: &[u8]| assert_ne!(bytes, [7]);
    let inputs = |last: u8| (0..last).map(|byte| vec![byte]);
    assert_eq!(failing_input(target, inputs(10)), Some(vec![7]));
    assert_eq!(failing_input(target, inputs(7)), None);
}
