//! Files read in an order that is not the image's, in memory that does not hold its fragment blocks: none is decoded twice.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use packline::{Compared, DiffOrder, DiffPlace, DiffRequest, ImagePlace, Resources, diff};
use packline_testkit::model::Node;
use packline_testkit::packer::Packer;
use packline_testkit::tar;
use serde_json::Value;

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");
/// Little more than what reading this image takes at all.
const LITTLE: &str = "17M";
const FILES: usize = 2000;

/// A place with an image whose order has nothing to do with the names', and an empty directory for what is temporary.
struct Place {
    top: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let top = tempfile::tempdir().unwrap();
        let name = |at: usize| format!("f{:04}", at * 777 % FILES);
        let nodes: Vec<Node> = (0..FILES).map(|at| Node::file(name(at), text(at))).collect();
        fs::write(top.path().join("source.tar"), tar::to_bytes(&nodes)).unwrap();
        fs::create_dir(top.path().join("tmp")).unwrap();
        let place = Place { top };
        Packer::new(PACKLINE).pack(&place.at("source.tar"), &place.at("image"), &["-c", "gzip", "-b", "256K", "-q"]);
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    fn run(&self, temporary: &Path, words: &[&str]) -> Output {
        let mut command = Command::new(PACKLINE);
        let output = command.args(words).current_dir(self.top.path()).env("TMPDIR", temporary).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(fs::read_dir(self.at("tmp")).unwrap().count(), 0, "nothing is left behind");
        output
    }

    /// Unpacks to a tar; its bytes, and how often fragment blocks were decoded and put away.
    fn unpack(&self, temporary: &Path, options: &[&str]) -> (Vec<u8>, u64, u64) {
        let words = [&["unpack", "image", "out.tar", "-f", "--json", "--no-progress"], options].concat();
        let said: Value = serde_json::from_slice(&self.run(temporary, &words).stdout).unwrap();
        let count = |key: &str| said[key].as_u64().unwrap();
        let bytes = fs::read(self.at("out.tar")).unwrap();
        (bytes, count("fragment_blocks_decoded"), count("fragment_blocks_put_away"))
    }

    /// Fragment blocks in the image.
    fn fragments(&self) -> u64 {
        ImagePlace::new(self.at("image")).open(1 << 20).unwrap().image.superblock().fragments.into()
    }
}

/// 4 KB that compress, and that no other file has.
fn text(seed: usize) -> Vec<u8> {
    (0..1024).flat_map(|at| format!("{:03x} ", (at * (seed + 7) + seed) & 0xfff).into_bytes()).take(4096).collect()
}

#[test]
fn little_memory_decodes_each_block_once() {
    let place = Place::new();
    let fragments = place.fragments();
    assert!(fragments > 25, "{fragments}");
    let (expected, decoded, put_away) = place.unpack(&place.at("tmp"), &[]);
    assert_eq!((decoded, put_away), (fragments, 0), "all fits");
    for jobs in ["0", "1", "3"] {
        let (bytes, decoded, put_away) = place.unpack(&place.at("tmp"), &["--mem", LITTLE, "-j", jobs]);
        assert!(bytes == expected, "{jobs} jobs");
        assert_eq!(decoded, fragments, "{jobs} jobs");
        assert!((1..=fragments).contains(&put_away), "{jobs} jobs: {put_away}");
        // Nowhere to put anything: nothing is lost but time.
        let (bytes, decoded, put_away) = place.unpack(Path::new("/dev/null/no"), &["--mem", LITTLE, "-j", jobs]);
        assert!(bytes == expected, "{jobs} jobs");
        assert!(decoded > 2 * fragments && put_away == 0, "{jobs} jobs: {decoded}, {put_away}");
    }
}

#[test]
fn every_command_that_reads_takes_little_memory() {
    let place = Place::new();
    let names: Vec<String> = (0..FILES).step_by(7).map(|at| format!("f{at:04}")).collect();
    let mut cat = vec!["cat", "image"];
    cat.extend(names.iter().map(String::as_str));
    for words in [&["sqfs2tar", "image"][..], &cat, &["verify", "image", "-q"]] {
        let with = |options: &[&str]| place.run(&place.at("tmp"), &[words, options].concat()).stdout;
        assert!(with(&["--mem", LITTLE]) == with(&[]), "{}", words[0]);
    }
}

#[test]
fn a_comparison_decodes_each_block_once_too() {
    let place = Place::new();
    Packer::new(PACKLINE).pack(&place.at("source.tar"), &place.at("other"), &["-c", "zstd", "-b", "128K", "-q"]);
    let compare = |memory, scratch| {
        let side = |name| DiffPlace::Image(ImagePlace::new(place.at(name)));
        let resources = Resources { workers: 2, memory, scratch, ..Resources::default() };
        let (compared, order) = (Compared::tree(), DiffOrder::Names);
        let (old, new) = (side("image"), side("other"));
        let summary = diff(&DiffRequest { old, new, compared, order, extract: None, resources }, &mut |_| Ok(true));
        let summary = summary.unwrap();
        assert_eq!((summary.differences, summary.compared_bytes), (0, 4096 * FILES as u64));
        summary.fragments
    };
    let all = compare(None, None);
    assert_eq!(all.map(|side| side.put_away), [0, 0]);
    let little = Some(42 << 20);
    let again = compare(little, None);
    let once = compare(little, Some(place.at("tmp")));
    for ((all, again), once) in all.iter().zip(again).zip(once) {
        assert!(again.decoded > all.decoded && once.put_away > 0, "{all:?} {again:?} {once:?}");
        assert_eq!(once.decoded, all.decoded);
    }
}
