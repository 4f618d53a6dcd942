//! Random damage, from a seed: damage within the budget is repaired byte for byte, and other damage is reported.

use packline_recovery::{Error, PacketLocation, Redundancy, Shape};
use packline_runtime::Resources;
use packline_testkit::Random;

use crate::support::*;

/// Sizes of files, and their weight.
const SMALL: [usize; 10] = [1, 2, 100, 1023, 1024, 1025, 5000, 33_000, 150_000, 700_000];
const LARGE: [usize; 6] = [1, 3000, 1 << 20, 5 << 20, 20 << 20, 100 << 20];

/// Damages of one file.
struct Suite {
    random: Random,
    original: Vec<u8>,
    sidecar: Vec<u8>,
    behind: Vec<u8>,
    shape: Shape,
    resources: Resources,
}

/// Outcomes that were seen.
#[derive(Debug, Default)]
struct Outcomes {
    repaired: usize,
    beyond: usize,
}

impl Suite {
    fn new(length: usize, redundancy: &str, seed: u64) -> Suite {
        let original = content(length, seed);
        let resources = Resources::new(2);
        let shape = Shape::new(length as u64, Redundancy::parse(redundancy).unwrap()).unwrap();
        let sidecar = protected(&original, redundancy, PacketLocation::Sidecar, &resources);
        let behind = protected(&original, redundancy, PacketLocation::Appended, &resources);
        Suite { random: Random::new(seed), original, sidecar, behind, shape, resources }
    }

    fn run(&mut self, outcomes: &mut Outcomes) {
        if self.random.below(3) == 0 {
            let mut damaged = self.behind.clone();
            self.damage(&mut damaged);
            self.check(&Case { file: &damaged, sidecar: None }, outcomes);
        } else {
            let mut file = self.original.clone();
            let mut sidecar = self.sidecar.clone();
            if self.random.below(8) != 0 {
                self.damage(&mut file);
            }
            if self.random.below(2) == 0 {
                self.damage(&mut sidecar);
            }
            self.check(&Case { file: &file, sidecar: Some(&sidecar) }, outcomes);
        }
    }

    #[track_caller]
    fn check(&self, case: &Case<'_>, outcomes: &mut Outcomes) {
        match case.repaired(&self.resources) {
            Ok(bytes) => {
                assert!(bytes == self.original, "a repair is wrong");
                outcomes.repaired += 1;
            }
            Err(error @ (Error::Beyond { .. } | Error::TableLost { .. } | Error::NoData)) => {
                let within = is_within_budget(&self.original, &self.sidecar, &self.shape, case);
                assert!(!within, "damage within the budget was not repaired: {error}");
                outcomes.beyond += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..1 + self.random.below(3) * self.random.below(2) {
            self.damage_once(bytes);
        }
    }

    fn damage_once(&mut self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        if length == 0 {
            return;
        }
        let at = self.random.below(length as u64) as usize;
        let budget = (self.shape.recovery() as u64 * self.shape.shard_bytes()) as usize;
        match self.random.below(9) {
            0 | 1 => bytes[at] ^= 1 << self.random.below(8),
            2 => self.overwrite(bytes, at / 512 * 512, 512),
            3 => {
                let burst = 1 + self.random.below(budget as u64 + budget as u64 / 8) as usize;
                self.overwrite(bytes, at, burst);
            }
            // Heads, tables and footers are at the ends.
            4 => self.overwrite(bytes, 0, 1 + at % 4096),
            5 => self.overwrite(bytes, length - (length.min(1 + at % 4096)), 4096),
            6 => bytes.truncate(length - self.random.below(length.min(budget + 1) as u64) as usize),
            7 => {
                let inserted = self.random.noise(1024);
                bytes.splice(at..at, inserted);
            }
            _ => drop(bytes.drain(at..length.min(at + 1024))),
        }
    }

    fn overwrite(&mut self, bytes: &mut [u8], at: usize, count: usize) {
        let end = bytes.len().min(at + count);
        let noise = self.random.noise(end - at);
        bytes[at..end].copy_from_slice(&noise);
    }
}

fn run(sizes: &[usize], suites: u64, damages: usize) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for seed in 0..suites {
        let mut random = Random::new(seed);
        let size = sizes[seed as usize % sizes.len()];
        let length = 1 + random.below(size as u64) as usize;
        let length = if random.below(2) == 0 { size } else { length };
        let redundancy = ["5%", "1%", "20%", "100%"][random.below(4) as usize];
        let mut suite = Suite::new(length, redundancy, seed);
        (0..damages).for_each(|_| suite.run(&mut outcomes));
    }
    outcomes
}

/// A run of bytes that begins within a shard reaches into one more shard than its length suggests.
#[test]
fn repairs_any_run_of_bytes_within_the_redundancy() {
    let resources = Resources::new(0);
    for (length, step) in [(4000, 97), (33_000, 331), (150_000, 4999)] {
        let file = content(length, 7);
        let sidecar = protected(&file, "10%", PacketLocation::Sidecar, &resources);
        let run = length.div_ceil(10);
        let mut starts: Vec<usize> = (0..=length - run).step_by(step).collect();
        starts.extend([1023, 1025, length - run].map(|start| start.min(length - run)));
        for start in starts {
            let mut damaged = file.clone();
            damaged[start..start + run].iter_mut().for_each(|byte| *byte ^= 0x55);
            let case = Case { file: &damaged, sidecar: Some(&sidecar) };
            assert!(case.repaired(&resources).unwrap() == file, "{length}: {run} bytes from {start}");
        }
        // The same share of the shards, at random offsets.
        let shards = length.div_ceil(1024);
        let mut damaged = file.clone();
        (0..shards).step_by(10).for_each(|shard| damaged[shard * 1024] ^= 1);
        let case = Case { file: &damaged, sidecar: Some(&sidecar) };
        assert!(case.repaired(&resources).unwrap() == file, "{length}: scattered");
    }
}

#[test]
fn repairs_or_reports_damage() {
    let outcomes = run(&SMALL, 30, 20);
    assert!(outcomes.repaired > 200 && outcomes.beyond > 20, "{outcomes:?}");
}

#[test]
#[ignore = "long: cargo test --release -p packline-recovery --test recovery damage -- --ignored"]
fn repairs_or_reports_ten_thousand_damages_of_files_up_to_100_megabytes() {
    let many = run(&SMALL, 90, 100);
    let large = run(&LARGE, 24, 42);
    assert!(many.repaired > 3000 && large.repaired > 300, "{many:?}, {large:?}");
    assert!(many.beyond > 300 && large.beyond > 30, "{many:?}, {large:?}");
}
