//! Kill -9 at any moment of a pack or an unpack: nothing under a final name is half there, and the next run succeeds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::killing::{kill, moments, names_in, run};
use packline_testkit::model::Node;
use packline_testkit::snapshot::{self, Except, Kind, Snapshot};
use packline_testkit::{Random, plant};

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");
/// Kills of each command in the short form, and in the long one.
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

/// A place with the source planted, and an image of it that was packed in peace.
struct Place {
    top: tempfile::TempDir,
    expected: Snapshot,
}

impl Place {
    fn new() -> Place {
        let top = tempfile::tempdir().unwrap();
        let nodes = tree();
        fs::create_dir(top.path().join("source")).unwrap();
        plant::plant(&nodes, &top.path().join("source")).unwrap();
        let place = Place { expected: snapshot::of_directory(&top.path().join("source")).unwrap(), top };
        run(&mut place.pack("whole.sqfs"));
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    fn pack(&self, image: &str) -> Command {
        command(&["pack", "-f", "-q", "-c", "lz4"], &[&self.at("source"), &self.at(image)])
    }

    fn unpack(&self, destination: &str) -> Command {
        command(&["unpack", "-f", "-q"], &[&self.at("whole.sqfs"), &self.at(destination)])
    }
}

fn command(words: &[&str], paths: &[&Path]) -> Command {
    let mut command = crate::killing::command(PACKLINE);
    command.args(words).args(paths);
    command
}

fn pack_is_killed(count: u64) {
    let place = Place::new();
    let whole = fs::read(place.at("whole.sqfs")).unwrap();
    let image = place.at("image.sqfs");
    let time = run(&mut place.pack("image.sqfs"));
    for (round, moment) in moments(1, count, time).enumerate() {
        // By turns there is nothing before, and something that must stay until the new image is whole.
        let before = (round % 2 == 1).then_some(b"what was there".to_vec());
        let _ = fs::remove_file(&image);
        before.iter().for_each(|bytes| fs::write(&image, bytes).unwrap());
        kill(place.pack("image.sqfs"), moment);
        let after = fs::read(&image).ok();
        assert!(after == before || after.as_ref() == Some(&whole), "killed after {moment:?}: half an image");
    }
    run(&mut place.pack("image.sqfs"));
    assert!(fs::read(&image).unwrap() == whole, "the run after the kills made another image");
    assert_eq!(names_in(place.top.path()), ["image.sqfs", "source", "whole.sqfs"]);
}

/// Every file under a name of the source has the source's content.
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
    let place = Place::new();
    let destination = place.at("destination");
    let time = run(&mut place.unpack("destination"));
    for (round, moment) in moments(2, count, time).enumerate() {
        // By turns into nothing, and into what the run before left.
        if round % 2 == 0 {
            let _ = fs::remove_dir_all(&destination);
        }
        kill(place.unpack("destination"), moment);
        assert_nothing_is_half_there(&place.expected, &destination, moment);
    }
    run(&mut place.unpack("destination"));
    let found = snapshot::of_directory(&destination).unwrap();
    snapshot::assert_same("the run after the kills", &place.expected, &found, Except::default());
}

#[test]
fn a_killed_pack_leaves_all_or_nothing() {
    pack_is_killed(FEW);
}

#[test]
fn a_killed_unpack_leaves_whole_files() {
    unpack_is_killed(FEW);
}

#[test]
#[ignore = "long: cargo test -p packline-cli --test commands killed -- --ignored"]
fn two_hundred_kills() {
    pack_is_killed(MANY);
    unpack_is_killed(MANY);
}
