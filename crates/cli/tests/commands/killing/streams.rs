//! Kill -9 at any moment of `lrzip`, `compress` and `decompress`: nothing under a final name is incomplete, and the next run
//! succeeds.

use std::fs;
use std::process::Command;

use crate::killing::{kill, moments, run};
use crate::sandbox;
use packline_testkit::{Random, Sandbox};

/// Kills of each command.
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

/// A file, and the output of a run that was not killed.
struct Files {
    way: Way,
    sandbox: Sandbox,
    plain: Vec<u8>,
    packed: Vec<u8>,
}

impl Files {
    fn new(way: Way) -> Files {
        let mut files = Files { way, sandbox: sandbox(), plain: Random::new(5).noise(3 << 20), packed: Vec::new() };
        files.plain.extend_from_within(..1 << 20);
        files.sandbox.write("plain", &files.plain);
        run(&mut files.compress(files.way.packed_name));
        files.packed = files.sandbox.read(files.way.packed_name);
        files
    }

    fn packline(&self, words: &[&str], output: &str, input: &str) -> Command {
        self.sandbox.command(&[words, &[output, input]].concat())
    }

    fn compress(&self, output: &str) -> Command {
        self.packline(self.way.compress, output, "plain")
    }

    fn decompress(&self, output: &str) -> Command {
        self.packline(self.way.decompress, output, self.way.packed_name)
    }

    /// Kills a command that writes `out`, which must be unchanged or have all of `whole`.
    fn is_killed(&self, seed: u64, command: impl Fn() -> Command, whole: &[u8]) {
        let output = self.sandbox.at("out");
        let time = run(&mut command());
        for (round, moment) in moments(seed, KILLS, time).enumerate() {
            // Every second round starts with a file, which must stay until the new one is complete.
            let before = (round % 2 == 1).then_some(b"what was there".to_vec());
            let _ = fs::remove_file(&output);
            before.iter().for_each(|bytes| fs::write(&output, bytes).unwrap());
            kill(command(), moment);
            let after = fs::read(&output).ok();
            assert!(after == before || after.as_deref() == Some(whole), "killed after {moment:?}: half a file");
            assert!(self.sandbox.read("plain") == self.plain, "killed after {moment:?}: the source changed");
        }
        run(&mut command());
        assert!(fs::read(&output).unwrap() == whole, "the run after the kills made another file");
        assert_eq!(self.sandbox.names(), ["out", "plain", self.way.packed_name], "the run after the kills tidies up");
    }
}

#[test]
fn a_killed_lrzip_leaves_all_or_nothing() {
    let files = Files::new(LRZ);
    files.is_killed(3, || files.compress("out"), &files.packed);
}

#[test]
fn a_killed_lrunzip_leaves_all_or_nothing() {
    let files = Files::new(LRZ);
    files.is_killed(4, || files.decompress("out"), &files.plain);
}

#[test]
fn a_killed_compress_leaves_all_or_nothing() {
    let files = Files::new(PLN);
    files.is_killed(5, || files.compress("out"), &files.packed);
}

#[test]
fn a_killed_decompress_leaves_all_or_nothing() {
    let files = Files::new(PLN);
    files.is_killed(6, || files.decompress("out"), &files.plain);
}
