//! `packline delta` and `packline patch` rebuild NEW byte for byte, whatever wrote it; a wrong OLD leaves no output.

use packline_testkit::model::Node;
use packline_testkit::{Random, Sandbox, tools};
use serde_json::Value;

use crate::sandbox;

/// Two trees: the second has an additional first file, changed files, and one file less.
fn trees() -> Sandbox {
    let sandbox = sandbox();
    let mut random = Random::new(31);
    let mut nodes = vec![Node::dir("")];
    for number in 0..25 {
        nodes.push(Node::file(format!("b-prose{number:02}"), random.prose(300_000 / (number + 1) + number * 5000)));
    }
    nodes.push(Node::file("c-noise", random.noise(200_000)));
    sandbox.plant("old", &nodes);
    nodes.remove(9);
    nodes.insert(1, Node::file("a-first", random.prose(30_000)));
    nodes[7] = Node::file("b-prose05", random.prose(50_000));
    sandbox.plant("new", &nodes);
    sandbox
}

/// Writes a delta with several numbers of workers, rebuilds NEW with each, and returns the summary.
fn round_trip(sandbox: &Sandbox, old: &str, new: &str, numbers: &[&str]) -> Value {
    let mut first: Option<(Vec<u8>, Value)> = None;
    for workers in numbers {
        let ran = sandbox.good(&["delta", "-f", "--json", "-j", workers, old, new, "d.pld"]);
        let summary: Value = serde_json::from_str(&ran.text()).unwrap();
        assert_eq!(summary["delta_bytes"], sandbox.read("d.pld").len());
        sandbox.good(&["patch", "-f", "-q", "-j", workers, old, "d.pld", "back"]);
        assert!(sandbox.read("back") == sandbox.read(new), "{old}, {new}: {workers} workers");
        let (bytes, _) = first.get_or_insert((sandbox.read("d.pld"), summary));
        assert!(*bytes == sandbox.read("d.pld"), "{old}, {new}: {workers} workers");
    }
    first.unwrap().1
}

const WORKERS: [&str; 4] = ["0", "1", "2", "7"];

/// With one codec every number of workers, as the order of their work does not depend on it; with the others none and several.
fn numbers(codec: &str) -> &'static [&'static str] {
    if codec == "lz4" { &WORKERS } else { &["0", "7"] }
}

fn number(summary: &Value, path: &str) -> u64 {
    summary.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}: {summary}"))
}

#[test]
fn images_of_packline_and_tars() {
    let sandbox = trees();
    for codec in ["zstd", "gzip", "xz", "lz4", "none"] {
        for tree in ["old", "new"] {
            sandbox.good(&["pack", "-f", "-q", "-c", codec, "-b", "32K", tree, &format!("{tree}.sqfs")]);
        }
        let summary = round_trip(&sandbox, "old.sqfs", "new.sqfs", numbers(codec));
        let size = number(&summary, "/delta_bytes");
        assert!(size < 60_000, "{codec}: {summary}");
        assert_eq!(number(&summary, "/blocks/raw"), 0, "{codec}: {summary}");
        assert!(codec == "none" || number(&summary, "/blocks/kept") > 5, "{codec}: {summary}");
    }
    for tree in ["old", "new"] {
        sandbox.peer("tar", &["-cf", &format!("{tree}.tar"), tree]);
    }
    assert!(number(&round_trip(&sandbox, "old.tar", "new.tar", &WORKERS), "/delta_bytes") < 60_000);
    let mixed = round_trip(&sandbox, "old.tar", "new.sqfs", &WORKERS);
    assert!(number(&mixed, "/delta_bytes") < 100_000, "{mixed}");
}

#[test]
fn images_of_mksquashfs() {
    if !tools::need(&["mksquashfs"]) {
        return;
    }
    let sandbox = trees();
    for codec in ["gzip", "xz", "zstd", "lz4", "lzo"] {
        for tree in ["old", "new"] {
            let image = format!("{tree}.sqfs");
            let options = ["-comp", codec, "-b", "32768", "-noappend", "-quiet", "-no-progress", "-all-root"];
            sandbox.peer("mksquashfs", &[&[tree, &*image], &options[..]].concat());
        }
        let summary = round_trip(&sandbox, "old.sqfs", "new.sqfs", numbers(codec));
        let all = ["encoded", "kept", "raw"].map(|way| number(&summary, &format!("/blocks/{way}")));
        // Blocks that do not come out the same are in the delta as they are, or OLD has them.
        assert!(all[1] > 5 && number(&summary, "/delta_bytes") < 300_000, "{codec}: {summary}");
    }
}

#[test]
fn output_is_independent_of_memory_and_temporary_files() {
    let sandbox = trees();
    for tree in ["old", "new"] {
        sandbox.good(&["pack", "-q", "-c", "xz", tree, &format!("{tree}.sqfs")]);
    }
    sandbox.good(&["delta", "-q", "old.sqfs", "new.sqfs", "d.pld"]);
    sandbox.good(&["delta", "-q", "--mem", "300M", "old.sqfs", "new.sqfs", "small.pld"]);
    assert!(sandbox.read("d.pld") == sandbox.read("small.pld"));
    sandbox.good(&["patch", "-q", "--mem", "100M", "old.sqfs", "d.pld", "back"]);
    assert!(sandbox.read("back") == sandbox.read("new.sqfs"));
    let refused = sandbox.bad(1, &["patch", "-f", "--mem", "10M", "old.sqfs", "d.pld", "back"]);
    assert!(refused.contains(" of memory is too little for ") && refused.contains("--mem"), "{refused}");
    assert!(sandbox.read("back") == sandbox.read("new.sqfs"), "the existing file is unchanged");
}

#[test]
fn wrong_old_file_is_one_line_error_without_output() {
    let sandbox = sandbox();
    let mut random = Random::new(5);
    sandbox.write("old", random.noise(70_000));
    sandbox.write("new", random.noise(80_000));
    sandbox.good(&["delta", "-q", "old", "new", "d.pld"]);
    let mut other = sandbox.read("old");
    other[50_000] ^= 1;
    sandbox.write("other", other);
    sandbox.write("shorter", random.noise(69_999));
    let names = sandbox.names();
    for old in ["other", "shorter", "new"] {
        let refused = sandbox.bad(1, &["patch", old, "d.pld", "back"]);
        assert!(
            refused.starts_with(&format!("packline: {old}: is not the file that the delta was made for: ")),
            "{refused}"
        );
        assert_eq!(refused.trim_end().lines().count(), 1, "{refused}");
    }
    let mut damaged = sandbox.read("d.pld");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    sandbox.write("damaged.pld", damaged);
    let refused = sandbox.bad(1, &["patch", "old", "damaged.pld", "back"]);
    assert!(refused.starts_with("packline: damaged.pld: at byte "), "{refused}");
    sandbox.remove("damaged.pld");
    assert_eq!(sandbox.names(), names);
    let own = sandbox.bad(1, &["patch", "-f", "old", "d.pld", "old"]);
    assert!(own.contains("is the input itself"), "{own}");
}

#[test]
fn streams() {
    let sandbox = sandbox();
    sandbox.write("old", Random::new(6).prose(50_000));
    sandbox.write("new", Random::new(7).prose(60_000));
    sandbox.good(&["delta", "-q", "old", "new", "d.pld"]);
    let delta = sandbox.good(&["delta", "-q", "old", "new", "-"]);
    assert!(delta.stdout == sandbox.read("d.pld"));
    let new = sandbox.good(&["patch", "-q", "old", "d.pld", "-"]);
    assert!(new.stdout == sandbox.read("new"));
    let new = sandbox.good_on(&["patch", "-q", "old", "-", "-"], "d.pld");
    assert!(new.stdout == sandbox.read("new"));
    let ran = sandbox.shell("cat d.pld | $P patch -q old - x");
    assert!(ran.status == 0 && sandbox.read("x") == sandbox.read("new"), "{ran:?}");
    let ran = sandbox.shell("head -c 100 d.pld | $P patch -q old - y");
    assert!(ran.status == 1 && ran.stderr.contains("standard input: ") && !sandbox.at("y").exists(), "{ran:?}");
    for words in [["delta", "-", "new", "x"], ["delta", "old", "-", "x"], ["patch", "-", "d.pld", "x"]] {
        let refused = sandbox.bad(2, &words);
        assert!(
            refused.contains("cannot be standard input, because it is read at any offset; name a file"),
            "{refused}"
        );
    }
}
