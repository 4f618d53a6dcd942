//! Files read in an order that is not the image's, in memory that does not hold its fragment blocks: none is decoded twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use packline::Resources;
use packline_image::{DiffPlace, DiffRequest, ImagePlace, diff};
use packline_testkit::model::Node;
use packline_testkit::packer::Packer;
use packline_testkit::snapshot::{self, Except, Snapshot};
use packline_testkit::tar;
use serde_json::Value;

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");
/// Little more than what reading this image takes at all.
const LITTLE: &str = "19M";
const FILES: usize = 2000;

/// A place with an image whose order has nothing to do with the names', and an empty directory for what is temporary.
struct Place {
    top: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place::with_source(5, (0..FILES).map(|at| text(at, 4096)));
        place.pack(&["-c", "gzip", "-b", "256K"]);
        place
    }

    /// With a tar of so many files in an order that is not that of their names, which have so many bytes.
    fn with_source(length: usize, contents: impl ExactSizeIterator<Item = Vec<u8>>) -> Place {
        let top = tempfile::tempdir_in("/dev/shm").unwrap();
        let count = contents.len();
        let name = |at: usize| format!("f{:0length$}", at * 777 % count);
        let nodes: Vec<Node> = contents.enumerate().map(|(at, bytes)| Node::file(name(at), bytes)).collect();
        fs::write(top.path().join("source.tar"), tar::to_bytes(&nodes)).unwrap();
        fs::create_dir(top.path().join("tmp")).unwrap();
        Place { top }
    }

    fn pack(&self, options: &[&str]) {
        let options = [&["-f", "-q"], options].concat();
        Packer::new(PACKLINE).pack(&self.at("source.tar"), &self.at("image"), &options);
    }

    fn at(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    fn run(&self, temporary: &Path, words: &[&str]) -> Output {
        let mut command = Command::new(PACKLINE);
        self.output(command.args(words).env("TMPDIR", temporary))
    }

    fn output(&self, command: &mut Command) -> Output {
        let output = command.current_dir(self.top.path()).output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(fs::read_dir(self.at("tmp")).unwrap().count(), 0, "nothing is left behind");
        output
    }

    /// Unpacks to a tar; its bytes, and how often fragment blocks were decoded and put away.
    fn unpack(&self, temporary: &Path, options: &[&str]) -> (Vec<u8>, u64, u64) {
        let words = [&["unpack", "image", "out.tar", "-f", "--json", "--no-progress"], options].concat();
        let said = said(&self.run(temporary, &words));
        let bytes = fs::read(self.at("out.tar")).unwrap();
        (bytes, count(&said, "fragment_blocks_decoded"), count(&said, "fragment_blocks_put_away"))
    }

    /// Unpacks to a directory, compares that with the tar, and gives back what was said.
    fn unpack_files(&self, expected: &Snapshot, command: &mut Command) -> Value {
        let said = said(&self.output(command.args(["image", "out", "--json", "--no-progress"])));
        snapshot::assert_same(&format!("{command:?}"), expected, &self.files(), Except::default());
        fs::remove_dir_all(self.at("out")).unwrap();
        said
    }

    /// What was unpacked.
    fn files(&self) -> Snapshot {
        let mut files = snapshot::of_directory(&self.at("out")).unwrap();
        files.remove(&b""[..]);
        files
    }

    /// Fragment blocks in the image.
    fn fragments(&self) -> u64 {
        ImagePlace::new(self.at("image")).open(1 << 20).unwrap().image.superblock().fragments.into()
    }
}

/// Bytes that compress, and that no other file has.
fn text(seed: usize, length: usize) -> Vec<u8> {
    let word = |at: usize| format!("{:03x} ", (at * (seed + 7) + seed) & 0xfff).into_bytes();
    format!("{seed} ").into_bytes().into_iter().chain((0..length).flat_map(word)).take(length).collect()
}

fn said(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn count(said: &Value, key: &str) -> u64 {
    said[key].as_u64().unwrap()
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
    let names: Vec<String> = (0..FILES).step_by(7).map(|at| format!("f{at:05}")).collect();
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
        let mut request = DiffRequest::new(side("image"), side("other"));
        request.resources = Resources::new(2).memory_limit(memory);
        request.resources.scratch = scratch;
        let summary = diff(&request, &mut |_| Ok(true));
        let summary = summary.unwrap();
        assert_eq!((summary.differences, summary.compared_bytes), (0, 4096 * FILES as u64));
        summary.fragments
    };
    let all = compare(None, None);
    assert_eq!(all.map(|side| side.spilled), [0, 0]);
    let little = Some(44 << 20);
    let again = compare(little, None);
    let once = compare(little, Some(place.at("tmp")));
    for ((all, again), once) in all.iter().zip(again).zip(once) {
        assert!(again.decoded > all.decoded && once.spilled > 0, "{all:?} {again:?} {once:?}");
        assert_eq!(once.decoded, all.decoded);
    }
}

/// So many small files with long names need several windows where memory is short.
const SMALL_FILES: usize = 8000;
const LONG_NAME: usize = 240;

fn small_files() -> (Place, Snapshot) {
    let place = Place::with_source(LONG_NAME, (0..SMALL_FILES).map(|at| text(at, 300)));
    place.pack(&["-c", "gzip", "-b", "64K"]);
    place.run(&place.at("tmp"), &["unpack", "image", "out", "-q"]);
    let expected = place.files();
    assert_eq!(expected.len(), SMALL_FILES);
    fs::remove_dir_all(place.at("out")).unwrap();
    (place, expected)
}

#[test]
fn files_of_several_windows_decode_each_block_once() {
    let (place, expected) = small_files();
    let (tmp, fragments) = (place.at("tmp"), place.fragments());
    let unpack = |temporary: &Path, options: &[&str]| {
        let mut command = Command::new(PACKLINE);
        let said = place.unpack_files(&expected, command.env("TMPDIR", temporary).args(["unpack"]).args(options));
        ["fragment_blocks_decoded", "fragment_blocks_put_away", "read_bytes"].map(|key| count(&said, key))
    };
    let [decoded, put_away, all] = unpack(&tmp, &[]);
    assert_eq!((decoded, put_away), (fragments, 0), "all fits");
    for jobs in ["0", "1", "3"] {
        let little = ["--mem", "17M", "-j", jobs];
        let [decoded, put_away, read] = unpack(&tmp, &little);
        assert_eq!((decoded, read), (fragments, all), "{jobs} jobs");
        assert!((1..=fragments).contains(&put_away), "{jobs} jobs: {put_away}");
        // Nowhere to put anything: nothing is lost but time.
        let [decoded, put_away, read] = unpack(Path::new("/dev/null/no"), &little);
        assert!(decoded > fragments && put_away == 0 && read > all, "{jobs} jobs: {decoded}, {put_away}");
    }
    // What stands in the image as it is is read there.
    place.pack(&["-c", "none", "-b", "64K"]);
    let [_, put_away, read] = unpack(&tmp, &["--mem", "17M", "-j", "2"]);
    assert_eq!((put_away, read), (0, SMALL_FILES as u64 * 300));
}

#[test]
fn a_full_scratch_file_only_costs_time() {
    let (place, expected) = small_files();
    let mut limited = Command::new("sh");
    // No file may be larger than 1 MiB.
    limited.args(["-c", "ulimit -f 2048; exec \"$@\"", "sh", PACKLINE, "unpack"]).env("TMPDIR", place.at("tmp"));
    let said = place.unpack_files(&expected, limited.args(["--mem", "17M", "-j", "2"]));
    let keys = ["fragment_blocks_decoded", "fragment_blocks_put_away"];
    let [decoded, put_away] = keys.map(|key| count(&said, key));
    assert!(decoded > place.fragments() && (1..=17).contains(&put_away), "{decoded}, {put_away}");
}
