//! Kill -9 at any moment of `lrzip`, `compress` and `decompress`: nothing under a final name is half there, and the next run succeeds.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::killing::{kill, moments, names_in, run};
use packline_testkit::Random;

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");
/// Kills of each way.
const KILLS: u64 = 24;

/// Words that make an output of an input: `compress` and `decompress`.
struct Way {
    packed_name: &'static str,
    compress: &'static [&'static str],
    decompress: &'static [&'static str],
}

const LRZ: Way = Way {
    packed_name: "plain.lrz",
    compress: &["lrzip", "-f", "-q", "-g", "-o"],
    decompress: &["lrzip", "-d", "-f", "-q", "-o"],
};

const PLN: Way = Way {
    packed_name: "plain.pln",
    compress: &["compress", "-f", "-q", "--codec", "gzip", "--record-size", "64K", "-o"],
    decompress: &["decompress", "-f", "-q", "-o"],
};

/// A file, and what was made of it in peace.
struct Place {
    way: Way,
    top: tempfile::TempDir,
    plain: Vec<u8>,
    packed: Vec<u8>,
}

impl Place {
    fn new(way: Way) -> Place {
        let (top, plain) = (tempfile::tempdir().unwrap(), Random::new(5).noise(3 << 20));
        let mut place = Place { way, top, plain, packed: Vec::new() };
        place.plain.extend_from_within(..1 << 20);
        fs::write(place.at("plain"), &place.plain).unwrap();
        run(&mut place.compress(place.way.packed_name));
        place.packed = fs::read(place.at(place.way.packed_name)).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    fn packline(&self, words: &[&str], output: &str, input: &str) -> Command {
        let mut command = crate::killing::command(PACKLINE);
        command.args(words).args([output, input]).current_dir(self.top.path()).env("LRZIP", "NOCONFIG");
        command
    }

    fn compress(&self, output: &str) -> Command {
        self.packline(self.way.compress, output, "plain")
    }

    fn decompress(&self, output: &str) -> Command {
        self.packline(self.way.decompress, output, self.way.packed_name)
    }

    /// Kills a command that makes `out`, which must be what it was before or all of `whole`.
    fn is_killed(&self, seed: u64, command: impl Fn() -> Command, whole: &[u8]) {
        let output = self.at("out");
        let time = run(&mut command());
        for (round, moment) in moments(seed, KILLS, time).enumerate() {
            // By turns there is nothing before, and something that must stay until the new file is whole.
            let before = (round % 2 == 1).then_some(b"what was there".to_vec());
            let _ = fs::remove_file(&output);
            before.iter().for_each(|bytes| fs::write(&output, bytes).unwrap());
            kill(command(), moment);
            let after = fs::read(&output).ok();
            assert!(after == before || after.as_deref() == Some(whole), "killed after {moment:?}: half a file");
            assert!(fs::read(self.at("plain")).unwrap() == self.plain, "killed after {moment:?}: the source changed");
        }
        run(&mut command());
        assert!(fs::read(&output).unwrap() == whole, "the run after the kills made another file");
        assert_eq!(
            names_in(self.top.path()),
            ["out", "plain", self.way.packed_name],
            "the run after the kills tidies up"
        );
    }
}

#[test]
fn a_killed_lrzip_leaves_all_or_nothing() {
    let place = Place::new(LRZ);
    place.is_killed(3, || place.compress("out"), &place.packed);
}

#[test]
fn a_killed_lrunzip_leaves_all_or_nothing() {
    let place = Place::new(LRZ);
    place.is_killed(4, || place.decompress("out"), &place.plain);
}

#[test]
fn a_killed_compress_leaves_all_or_nothing() {
    let place = Place::new(PLN);
    place.is_killed(5, || place.compress("out"), &place.packed);
}

#[test]
fn a_killed_decompress_leaves_all_or_nothing() {
    let place = Place::new(PLN);
    place.is_killed(6, || place.decompress("out"), &place.plain);
}
