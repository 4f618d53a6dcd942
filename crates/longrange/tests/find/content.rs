//! Content, windows, and checks of all matches.

use std::sync::Arc;

use packline_longrange::{Match, Settings, Window, find};

/// Bytes without repeats, which depend only on the seed.
pub fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes()
    };
    let mut bytes: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| word()).collect();
    bytes.truncate(length);
    bytes
}

/// Content like an archive's: text of few words, noise, padding, and later versions of earlier files.
pub fn like_files(length: usize) -> Vec<u8> {
    let words: Vec<Vec<u8>> = (0..400).map(|n| noise(3 + n % 9, n as u64)).collect();
    let mut bytes = Vec::with_capacity(length + (1 << 20));
    let mut seed = 1_usize;
    while bytes.len() < length {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(11);
        let kind = seed >> 60;
        let size = (seed >> 40) % 100_000;
        match kind {
            0..4 => (0..size / 10).for_each(|n| bytes.extend(&words[n.wrapping_mul(seed) >> 50 & 255])),
            4..8 => bytes.extend(noise(size, seed as u64)),
            _ => {
                let start = seed % (bytes.len() + 1);
                let copy = bytes[start..(start + size).min(bytes.len())].to_vec();
                // Some bytes are changed, and some are removed.
                copy.chunks(5000).for_each(|part| bytes.extend(part.iter().skip(kind & 1).map(|byte| byte ^ 1)));
                copy.chunks(7777).for_each(|part| bytes.extend(part.iter().skip(1)));
            }
        }
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.truncate(length);
    bytes
}

/// A window that is not in memory but read at offsets.
#[derive(Clone)]
pub struct Offsets(pub Vec<u8>);

impl Window for Offsets {
    fn length(&self) -> u64 {
        self.0.length()
    }

    fn read(&self, at: u64, into: &mut [u8]) -> std::io::Result<()> {
        self.0.read(at, into)
    }
}

pub fn found<W: Window + Clone + 'static>(window: &W, settings: &Settings, workers: usize) -> Vec<Match> {
    let mut matches = Vec::new();
    let each = &mut |next| {
        matches.push(next);
        Ok::<(), ()>(())
    };
    assert!(find(Arc::new(window.clone()), settings, workers, &|| false, each).is_ok());
    matches
}

pub fn covered(matches: &[Match]) -> u64 {
    matches.iter().map(|found| found.length).sum()
}

/// Checks that matches are in order, do not overlap, are joined and long enough, and equal the bytes at their distance.
pub fn check(bytes: &[u8], matches: &[Match], least: u64) {
    let mut last = Match { at: 0, length: 0, distance: 0 };
    for found in matches {
        assert!(found.at >= last.end() && found.length >= least, "{found:?} after {last:?}");
        assert!(found.at > last.end() || found.distance != last.distance, "{found:?} goes on from {last:?}");
        assert!((1..=found.at).contains(&found.distance), "{found:?}");
        let at = found.at as usize;
        let end = found.end() as usize;
        let distance = found.distance as usize;
        assert!(bytes[at..end] == bytes[at - distance..end - distance], "{found:?}");
        last = *found;
    }
}
