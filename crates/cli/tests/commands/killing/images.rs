//! Kill -9 at any moment of a pack or an unpack: nothing under a final name is incomplete, and the next run succeeds.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::killing::{kill, moments, run};
use crate::sandbox;
use packline_testkit::model::Node;
use packline_testkit::snapshot::{self, Except, Kind, Snapshot};
use packline_testkit::{Random, Sandbox};

/// The kills of each command in the short test and in the long one.
const FEW: u64 = 10;
const MANY: u64 = 100;

/// Files of all sizes up to a few blocks, and two large ones.
fn tree() -> Vec<Node> {
    let mut random = Random::new(9);
    let mut nodes = vec![Node::dir("")];
    for directory in 0..4 {
        nodes.push(Node::dir(format!("d{directory}")));
        for file in 0..40 {
            let length = random.below(160 << 10) as usize;
            nodes.push(Node::file(format!("d{directory}/f{file}"), random.noise(length)));
        }
    }
    nodes.extend((0..2).map(|file| Node::file(format!("large{file}"), random.noise(6 << 20))));
    nodes
}

/// A planted source, and an image of it from a run that was not killed.
struct Source {
    sandbox: Sandbox,
    /// The ending of the names of images.
    ending: &'static str,
    expected: Snapshot,
}

impl Source {
    fn new(ending: &'static str) -> Source {
        let sandbox = sandbox();
        sandbox.plant("source", &tree());
        let source = Source { expected: sandbox.snapshot("source"), sandbox, ending };
        run(&mut source.pack("whole"));
        source
    }

    fn name(&self, stem: &str) -> String {
        format!("{stem}.{}", self.ending)
    }

    fn pack(&self, stem: &str) -> Command {
        self.sandbox.command(&["pack", "-f", "-q", "-c", "lz4", "source", &self.name(stem)])
    }

    fn unpack(&self, destination: &str) -> Command {
        self.sandbox.command(&["unpack", "-f", "-q", &self.name("whole"), destination])
    }
}

fn pack_is_killed(ending: &'static str, count: u64) {
    let source = Source::new(ending);
    let whole = source.sandbox.read(source.name("whole"));
    let image = source.sandbox.at(source.name("image"));
    let time = run(&mut source.pack("image"));
    for (round, moment) in moments(1, count, time).enumerate() {
        // Every second round starts with a file, which must stay until the new image is complete.
        let before = (round % 2 == 1).then_some(b"what was there".to_vec());
        let _ = fs::remove_file(&image);
        before.iter().for_each(|bytes| fs::write(&image, bytes).unwrap());
        kill(source.pack("image"), moment);
        let after = fs::read(&image).ok();
        assert!(after == before || after.as_ref() == Some(&whole), "killed after {moment:?}: half an image");
    }
    run(&mut source.pack("image"));
    assert!(fs::read(&image).unwrap() == whole, "the run after the kills made another image");
    assert_eq!(source.sandbox.names(), [source.name("image"), "source".to_string(), source.name("whole")]);
}

/// Every file that exists has the content of the source.
fn assert_nothing_is_half_there(expected: &Snapshot, destination: &Path, moment: Duration) {
    let Ok(found) = snapshot::of_directory(destination) else {
        assert!(!destination.exists(), "killed after {moment:?}: the destination cannot be read");
        return;
    };
    for (path, attributes) in &found {
        let half = |wanted: &Kind| *wanted != attributes.kind;
        let wanted = expected.get(path).map(|attributes| &attributes.kind);
        assert!(!wanted.is_some_and(half), "killed after {moment:?}: {} is half there", path.escape_ascii());
    }
}

fn unpack_is_killed(count: u64) {
    let source = Source::new("sqfs");
    let destination = source.sandbox.at("destination");
    let time = run(&mut source.unpack("destination"));
    for (round, moment) in moments(2, count, time).enumerate() {
        // Every second round starts without a destination, the others with what the killed run left.
        if round % 2 == 0 {
            let _ = fs::remove_dir_all(&destination);
        }
        kill(source.unpack("destination"), moment);
        assert_nothing_is_half_there(&source.expected, &destination, moment);
    }
    run(&mut source.unpack("destination"));
    let found = source.sandbox.snapshot("destination");
    snapshot::assert_same("the run after the kills", &source.expected, &found, Except::default());
}

#[test]
fn a_killed_pack_leaves_all_or_nothing() {
    pack_is_killed("sqfs", FEW);
}

#[test]
fn a_killed_pack_to_erofs_leaves_all_or_nothing() {
    pack_is_killed("erofs", FEW);
}

#[test]
fn a_killed_unpack_leaves_whole_files() {
    unpack_is_killed(FEW);
}

#[test]
#[ignore = "long: cargo test -p packline-cli --test commands killing -- --ignored"]
fn hundreds_of_kills() {
    pack_is_killed("sqfs", MANY);
    pack_is_killed("erofs", MANY);
    unpack_is_killed(MANY);
}
