//! Files read in an order that is not the image's, with too little memory for its fragment blocks: no block is decoded twice.

use std::path::Path;
use std::process::Command;

use packline::Resources;
use packline::requests::ImagePlace;
use packline_image::{DIFF_METADATA, DiffPlace, DiffRequest, diff};
use packline_testkit::model::Node;
use packline_testkit::snapshot::{self, Except, Snapshot};
use packline_testkit::{Ran, Sandbox};
use serde_json::Value;

use crate::PACKLINE;

/// Slightly more than the minimum memory that reading this image needs.
const LITTLE: &str = "19M";
const FILES: usize = 2000;

/// Creates an image whose contents are not in the order of its names, and an empty directory for temporary files.
fn with_image() -> Sandbox {
    let sandbox = with_source(5, (0..FILES).map(|at| text(at, 4096)));
    pack(&sandbox, &["-c", "gzip", "-b", "256K"]);
    sandbox
}

/// Creates a tar of files with these contents. The names have `digits` digits and are not in the order of the entries.
fn with_source(digits: usize, contents: impl ExactSizeIterator<Item = Vec<u8>>) -> Sandbox {
    let sandbox = Sandbox::in_memory(PACKLINE);
    let count = contents.len();
    let name = |at: usize| format!("f{:0digits$}", at * 777 % count);
    let nodes: Vec<Node> = contents.enumerate().map(|(at, bytes)| Node::file(name(at), bytes)).collect();
    sandbox.write_tar("source.tar", &nodes);
    sandbox.create_dir("tmp");
    sandbox
}

fn pack(sandbox: &Sandbox, options: &[&str]) {
    sandbox.good(&[&["pack", "source.tar", "image", "-f", "-q"], options].concat());
}

fn run(sandbox: &Sandbox, temporary: &Path, words: &[&str]) -> Ran {
    good(sandbox, sandbox.command(words).env("TMPDIR", temporary))
}

fn good(sandbox: &Sandbox, command: &mut Command) -> Ran {
    let ran = Ran::good(command);
    assert_eq!(sandbox.names_in("tmp").len(), 0, "nothing is left behind");
    ran
}

/// Unpacks to a tar: its bytes, and how many fragment blocks were decoded and how many were spilled.
fn unpack(sandbox: &Sandbox, temporary: &Path, options: &[&str]) -> (Vec<u8>, u64, u64) {
    let words = [&["unpack", "image", "out.tar", "-f", "--json", "--no-progress"], options].concat();
    let summary = json(&run(sandbox, temporary, &words));
    let count = |key| count(&summary, key);
    (sandbox.read("out.tar"), count("fragment_blocks_decoded"), count("fragment_blocks_put_away"))
}

/// Unpacks to a directory, compares that with the expected tree, and returns the summary.
fn unpack_files(sandbox: &Sandbox, expected: &Snapshot, command: &mut Command) -> Value {
    let summary = json(&good(sandbox, command.args(["image", "out", "--json", "--no-progress"])));
    snapshot::assert_same(&format!("{command:?}"), expected, &files(sandbox), Except::default());
    sandbox.remove("out");
    summary
}

/// The entries of `out`.
fn files(sandbox: &Sandbox) -> Snapshot {
    let mut files = sandbox.snapshot("out");
    files.remove(&b""[..]);
    files
}

/// Fragment blocks in the image.
fn fragments(sandbox: &Sandbox) -> u64 {
    ImagePlace::new(sandbox.at("image")).open_squashfs(1 << 20).unwrap().image.superblock().fragments.into()
}

/// Bytes that compress, and that no other file has.
fn text(seed: usize, length: usize) -> Vec<u8> {
    let word = |at: usize| format!("{:03x} ", (at * (seed + 7) + seed) & 0xfff).into_bytes();
    format!("{seed} ").into_bytes().into_iter().chain((0..length).flat_map(word)).take(length).collect()
}

fn json(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn count(summary: &Value, key: &str) -> u64 {
    summary[key].as_u64().unwrap()
}

#[test]
fn little_memory_decodes_each_block_once() {
    let sandbox = with_image();
    let fragments = fragments(&sandbox);
    assert!(fragments > 25, "{fragments}");
    let (expected, decoded, spilled) = unpack(&sandbox, &sandbox.at("tmp"), &[]);
    assert_eq!((decoded, spilled), (fragments, 0), "all fits");
    for jobs in ["0", "1", "3"] {
        let (bytes, decoded, spilled) = unpack(&sandbox, &sandbox.at("tmp"), &["--mem", LITTLE, "-j", jobs]);
        assert!(bytes == expected, "{jobs} jobs");
        assert_eq!(decoded, fragments, "{jobs} jobs");
        assert!((1..=fragments).contains(&spilled), "{jobs} jobs: {spilled}");
        // Without a spill file blocks are decoded again.
        let (bytes, decoded, spilled) = unpack(&sandbox, Path::new("/dev/null/no"), &["--mem", LITTLE, "-j", jobs]);
        assert!(bytes == expected, "{jobs} jobs");
        assert!(decoded > 2 * fragments && spilled == 0, "{jobs} jobs: {decoded}, {spilled}");
    }
}

#[test]
fn every_command_that_reads_takes_little_memory() {
    let sandbox = with_image();
    let names: Vec<String> = (0..FILES).step_by(7).map(|at| format!("f{at:05}")).collect();
    let mut cat = vec!["cat", "image"];
    cat.extend(names.iter().map(String::as_str));
    for words in [&["sqfs2tar", "image"][..], &cat, &["verify", "image", "-q"]] {
        let with = |options: &[&str]| run(&sandbox, &sandbox.at("tmp"), &[words, options].concat()).stdout;
        assert!(with(&["--mem", LITTLE]) == with(&[]), "{}", words[0]);
    }
}

#[test]
fn a_comparison_decodes_each_block_once_too() {
    let sandbox = with_image();
    sandbox.good(&["pack", "source.tar", "other", "-c", "zstd", "-b", "128K", "-q"]);
    let compare = |memory, scratch| {
        let side = |name| DiffPlace::Image(ImagePlace::new(sandbox.at(name)).open(DIFF_METADATA).unwrap());
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
    let once = compare(little, Some(sandbox.at("tmp")));
    for ((all, again), once) in all.iter().zip(again).zip(once) {
        assert!(again.decoded > all.decoded && once.spilled > 0, "{all:?} {again:?} {once:?}");
        assert_eq!(once.decoded, all.decoded);
    }
}

/// 8000 small files with long names need several windows if memory is short.
const SMALL_FILES: usize = 8000;
const LONG_NAME: usize = 240;

fn small_files() -> (Sandbox, Snapshot) {
    let sandbox = with_source(LONG_NAME, (0..SMALL_FILES).map(|at| text(at, 300)));
    pack(&sandbox, &["-c", "gzip", "-b", "64K"]);
    run(&sandbox, &sandbox.at("tmp"), &["unpack", "image", "out", "-q"]);
    let expected = files(&sandbox);
    assert_eq!(expected.len(), SMALL_FILES);
    sandbox.remove("out");
    (sandbox, expected)
}

#[test]
fn files_of_several_windows_decode_each_block_once() {
    let (sandbox, expected) = small_files();
    let tmp = sandbox.at("tmp");
    let fragments = fragments(&sandbox);
    let unpack = |temporary: &Path, options: &[&str]| {
        let mut command = sandbox.command(&[&["unpack"], options].concat());
        let summary = unpack_files(&sandbox, &expected, command.env("TMPDIR", temporary));
        ["fragment_blocks_decoded", "fragment_blocks_put_away", "read_bytes"].map(|key| count(&summary, key))
    };
    let [decoded, spilled, all] = unpack(&tmp, &[]);
    assert_eq!((decoded, spilled), (fragments, 0), "all fits");
    for jobs in ["0", "1", "3"] {
        let little = ["--mem", "17M", "-j", jobs];
        let [decoded, spilled, read] = unpack(&tmp, &little);
        assert_eq!((decoded, read), (fragments, all), "{jobs} jobs");
        assert!((1..=fragments).contains(&spilled), "{jobs} jobs: {spilled}");
        // Without a spill file blocks are decoded again.
        let [decoded, spilled, read] = unpack(Path::new("/dev/null/no"), &little);
        assert!(decoded > fragments && spilled == 0 && read > all, "{jobs} jobs: {decoded}, {spilled}");
    }
    // Uncompressed blocks are read from the image again.
    pack(&sandbox, &["-c", "none", "-b", "64K"]);
    let [_, spilled, read] = unpack(&tmp, &["--mem", "17M", "-j", "2"]);
    assert_eq!((spilled, read), (0, SMALL_FILES as u64 * 300));
}

#[test]
fn full_spill_file_only_costs_time() {
    let (sandbox, expected) = small_files();
    // No file may be larger than 1 MiB.
    let words = ["-c", "ulimit -f 2048; exec \"$@\"", "sh", PACKLINE, "unpack", "--mem", "17M", "-j", "2"];
    let mut limited = sandbox.program("sh", &words);
    let summary = unpack_files(&sandbox, &expected, limited.env("TMPDIR", sandbox.at("tmp")));
    let keys = ["fragment_blocks_decoded", "fragment_blocks_put_away"];
    let [decoded, spilled] = keys.map(|key| count(&summary, key));
    assert!(decoded > fragments(&sandbox) && (1..=17).contains(&spilled), "{decoded}, {spilled}");
}
