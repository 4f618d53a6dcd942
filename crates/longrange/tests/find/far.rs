//! Windows of more than 4 GiB, too large for a test's memory: the content is generated when it is read.

use crate::content::{found, noise};
use packline_longrange::{Match, Settings, Window};

const GIB: u64 = 1 << 30;

/// Zeros with a few ranges of other bytes.
#[derive(Clone)]
struct Sea {
    length: u64,
    islands: Vec<(u64, Vec<u8>)>,
}

impl Window for Sea {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, at: u64, into: &mut [u8]) -> std::io::Result<()> {
        into.fill(0);
        let end = at + into.len() as u64;
        for (place, bytes) in &self.islands {
            let from = (*place).max(at);
            let to = (place + bytes.len() as u64).min(end);
            if from < to {
                let part = &bytes[(from - place) as usize..(to - place) as usize];
                into[(from - at) as usize..(to - at) as usize].copy_from_slice(part);
            }
        }
        Ok(())
    }
}

#[test]
fn finds_a_copy_after_five_gib() {
    let island = noise(300_000, 1);
    let here = 1_000_001;
    let there = 5 * GIB + 77_777;
    let size = island.len() as u64;
    // The next byte differs, so the match ends with the range.
    let first = [&island[..], &[1]].concat();
    let second = [&island[..], &[2]].concat();
    let sea = Sea { length: 5 * GIB + (1 << 20), islands: vec![(here, first), (there, second)] };
    let matches = found(&sea, &Settings::new(1, sea.length), 2);
    let zeros = |at: u64, end: u64| Match { at, length: end - at, distance: 1 };
    let copy = Match { at: there, length: size, distance: there - here };
    let expected = [zeros(1, here), zeros(here + size + 2, there), copy, zeros(there + size + 2, sea.length)];
    assert_eq!(matches, expected);
}
