//! .pln files through the program: there and back with every codec, in pipes, by ranges, damaged and cut off.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");

/// A directory, and the program in it.
struct Place {
    top: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { top: tempfile::tempdir().unwrap() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.at(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.top.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Runs it, with nothing or a file on standard input.
    fn run_on(&self, words: &[&str], input: Option<&Path>) -> Output {
        let stdin = input.map_or(Stdio::null(), |path| Stdio::from(File::open(path).unwrap()));
        Command::new(PACKLINE).args(words).current_dir(self.top.path()).stdin(stdin).output().unwrap()
    }

    fn run(&self, words: &[&str]) -> Output {
        self.run_on(words, None)
    }

    /// Runs it and expects success.
    fn good(&self, words: &[&str]) -> Output {
        good(words, self.run(words))
    }

    /// Runs it and expects a failure of this status; what it said.
    fn bad(&self, status: i32, words: &[&str]) -> String {
        let ran = self.run(words);
        assert_eq!(ran.status.code(), Some(status), "{words:?}: {ran:?}");
        String::from_utf8(ran.stderr).unwrap()
    }

    /// Runs `one | other`, in a pipe.
    fn piped(&self, input: &str, one: &[&str], other: &[&str]) -> Vec<u8> {
        let program = |words: &[&str]| {
            let mut command = Command::new(PACKLINE);
            command.args(words).current_dir(self.top.path());
            command
        };
        let stdin = Stdio::from(File::open(self.at(input)).unwrap());
        let mut first = program(one).stdin(stdin).stdout(Stdio::piped()).spawn().unwrap();
        let second = program(other).stdin(Stdio::from(first.stdout.take().unwrap())).output().unwrap();
        assert!(first.wait().unwrap().success(), "{one:?}");
        good(other, second).stdout
    }
}

fn good(words: &[&str], ran: Output) -> Output {
    assert!(ran.status.success(), "{words:?}: {ran:?}");
    ran
}

/// Records of all kinds: text, noise, zeros, and content that ends in zeros.
fn content() -> Vec<u8> {
    let words = (0u32..).flat_map(|number| format!("{} ", number.wrapping_mul(2_654_435_761) >> 22).into_bytes());
    let mut bytes: Vec<u8> = words.take(150_000).collect();
    let mut state = 1u64;
    bytes.extend((0..70_000).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    }));
    bytes.resize(400_000, 0);
    bytes.extend_from_slice(b"the end, but for zeros");
    bytes.resize(431_234, 0);
    bytes
}

/// Every codec there is, and what can be put together.
const CODINGS: &[&str] = &[
    "none",
    "slack",
    "zle",
    "huff0",
    "lz4",
    "lz4hc:level=3",
    "lzo:level=1",
    "gzip:level=1",
    "bzip2:level=1",
    "xz:level=0",
    "lzma:level=0",
    "zstd:level=1",
    "slack+lz4",
    "slack+zle",
    "slack+huff0",
    "slack+zstd:level=3",
    "slack+xz:level=0",
    "auto",
];

#[test]
fn every_coding_comes_back_the_same_with_any_number_of_threads() {
    let place = Place::new();
    let plain = content();
    place.write("x", &plain);
    for coding in CODINGS {
        let pack = |threads: &str, name: &str| {
            place.good(&["compress", "-C", coding, "--record-size", "64K", "-T", threads, "-q", "-o", name, "x"]);
            place.read(name)
        };
        let packed = pack("1", "1.pln");
        assert!(packed == pack("2", "2.pln") && packed == pack("7", "7.pln"), "{coding}: threads make a difference");
        assert!(*coding == "none" || packed.len() < plain.len(), "{coding}: {}", packed.len());
        place.good(&["decompress", "-T2", "-q", "1.pln", "-o", "back"]);
        assert!(place.read("back") == plain, "{coding}");
        assert!(place.good(&["decompress", "-T1", "-c", "7.pln"]).stdout == plain, "{coding}");
        for name in ["back", "1.pln", "2.pln", "7.pln"] {
            fs::remove_file(place.at(name)).unwrap();
        }
    }
}

#[test]
fn levels_are_codings_and_a_list_of_codings_takes_the_best() {
    let place = Place::new();
    place.write("x", &content());
    let size = |words: &[&str]| {
        place.good(&[&["compress", "-qf", "x"], words].concat());
        place.read("x.pln").len()
    };
    assert_eq!(size(&["-7"]), size(&["-C", "slack+zstd:level=7"]));
    assert_eq!(size(&["--level=3"]), size(&[]));
    assert!(size(&["-12"]) < size(&["-1"]));
    let small = ["--record-size", "16K"];
    let each = ["slack", "slack+huff0", "bzip2"].map(|coding| size(&[&small[..], &["-C", coding]].concat()));
    let all = size(&[&small[..], &["-C", "slack", "-C", "slack+huff0", "-C", "bzip2"]].concat());
    assert!(each.iter().all(|one| all < *one), "{all} of {each:?}");
    assert!(size(&["--record-size", "4K"]) > size(&["--record-size", "16M"]));
}

#[test]
fn streams_and_files_make_the_same_bytes() {
    let place = Place::new();
    let plain = content();
    place.write("x", &plain);
    place.good(&["compress", "-q", "x"]);
    let packed = place.read("x.pln");
    assert!(place.good(&["compress", "-c", "x"]).stdout == packed);
    assert!(good(&[], place.run_on(&["compress"], Some(&place.at("x")))).stdout == packed);
    assert!(place.piped("x", &["compress", "-"], &["decompress"]) == plain);
    assert!(place.piped("x", &["compress", "-T7"], &["compress", "-dcT1"]) == plain);
    assert!(place.piped("x.pln", &["decompress", "-"], &["compress", "-c", "-"]) == packed);
    good(&[], place.run_on(&["decompress", "-q", "-o", "back"], Some(&place.at("x.pln"))));
    assert!(place.read("back") == plain);
    place.write("empty", b"");
    assert!(place.piped("empty", &["compress"], &["decompress"]).is_empty());
}

#[test]
fn ranges_are_those_of_the_content() {
    let place = Place::new();
    let plain = content();
    place.write("x", &plain);
    place.good(&["compress", "-q", "--record-size", "32K", "x"]);
    let end = plain.len();
    for (range, expected) in [
        ("0..1", 0..1),
        ("..100", 0..100),
        ("32767..32769", 32_767..32_769),
        ("100000..300000", 100_000..300_000),
        ("64K..128K", 65_536..131_072),
        ("431000..", 431_000..end),
        ("..", 0..end),
        ("7..7", 7..7),
    ] {
        let printed = place.good(&["cat", "--range", range, "x.pln"]).stdout;
        assert!(printed == plain[expected.clone()], "{range}: {} bytes", printed.len());
        let words = ["cat", "--range", range, "-j", "1", "-"];
        let streamed = good(&words, place.run_on(&words, Some(&place.at("x.pln")))).stdout;
        assert!(streamed == plain[expected], "{range} of a stream: {} bytes", streamed.len());
    }
    assert!(place.good(&["cat", "x.pln"]).stdout == plain);
    let beyond = place.bad(1, &["cat", "--range", "431000..500000", "x.pln"]);
    assert!(beyond.contains("431234"), "{beyond}");
    for wrong in ["5", "a..b", "-1..5", "9..3"] {
        place.bad(2, &["cat", &format!("--range={wrong}"), "x.pln"]);
    }
}

#[test]
fn a_file_that_is_cut_off_is_read_up_to_there() {
    let place = Place::new();
    let plain = content();
    place.write("x", &plain);
    place.good(&["compress", "-q", "-C", "lz4", "--record-size", "16K", "x"]);
    let packed = place.read("x.pln");
    for cut in [packed.len() - 1, packed.len() / 2, 300] {
        place.write("cut.pln", &packed[..cut]);
        let ran = place.run(&["decompress", "-c", "cut.pln"]);
        let (got, said) = (ran.stdout, String::from_utf8(ran.stderr).unwrap());
        assert_eq!(ran.status.code(), Some(1));
        assert!(said.contains(&format!("cut off at byte {cut}")), "{said}");
        // Whole records, and all content if only the end of the file is missing.
        assert!(plain.starts_with(&got) && (got.len() % (16 << 10) == 0 || got == plain), "{cut}: {}", got.len());
        assert_eq!(got.is_empty(), cut == 300);
        assert!(place.bad(1, &["decompress", "cut.pln"]).contains("cut off"));
        assert!(!place.names().contains(&"cut".to_string()));
        place.bad(1, &["decompress", "--keep-broken", "cut.pln"]);
        assert!(place.read("cut") == got, "{cut}");
        fs::remove_file(place.at("cut")).unwrap();
    }
}

#[test]
fn a_flipped_bit_is_found_and_named() {
    let place = Place::new();
    place.write("x", &content());
    place.good(&["compress", "-q", "--record-size", "64K", "x"]);
    let packed = place.read("x.pln");
    for (at, bit) in [(5, 3), (40, 0), (1000, 7), (packed.len() / 2, 2), (packed.len() - 9, 5)] {
        let mut bad = packed.clone();
        bad[at] ^= 1 << bit;
        place.write("bad.pln", &bad);
        let said = place.bad(1, &["compress", "-t", "bad.pln"]);
        assert!(said.starts_with("packline: bad.pln: ") && said.contains("byte"), "{at}: {said}");
    }
    let mut bad = packed.clone();
    bad[packed.len() / 2] ^= 1;
    place.write("bad.pln", &bad);
    let ran = place.run(&["verify", "bad.pln"]);
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.code() == Some(1) && text.contains("bad.pln: record ") && text.contains(", at byte "), "{text}");
    let ran = place.run(&["verify", "--json", "bad.pln"]);
    let lines: Vec<serde_json::Value> =
        String::from_utf8(ran.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["part"].as_str().unwrap().starts_with("record "), "{lines:?}");
    assert!(lines[0]["offset"].as_u64().unwrap() <= packed.len() as u64 / 2, "{lines:?}");
    assert!(lines.last().unwrap()["faults"].as_u64().unwrap() > 0, "{lines:?}");
}

#[test]
fn what_is_no_pln_file_is_refused_and_leaves_nothing() {
    let place = Place::new();
    place.write("rubbish.pln", b"this is no such file, whatever its name says");
    place.write("short.pln", b"\x8bPL");
    place.write("empty.pln", b"");
    for name in ["rubbish.pln", "short.pln", "empty.pln"] {
        for words in [&["decompress", name][..], &["compress", "-d", name], &["decompress", "-t", name]] {
            let said = place.bad(1, words);
            assert!(said.starts_with(&format!("packline: {name}: ")), "{said}");
        }
    }
    assert!(place.bad(1, &["decompress", "missing.pln"]).contains("missing.pln: cannot open"));
    assert!(place.bad(1, &["compress", "."]).contains("directory"));
    place.write("x", b"content");
    assert!(place.bad(1, &["decompress", "x"]).contains("does not end in '.pln'"));
    assert_eq!(place.names(), ["empty.pln", "rubbish.pln", "short.pln", "x"]);
}

#[test]
fn files_are_kept_replaced_and_removed_as_asked() {
    let place = Place::new();
    place.write("x", b"content");
    place.good(&["compress", "-k", "x"]);
    let said = place.bad(1, &["compress", "-9", "x"]);
    assert!(said.contains("x.pln: exists already (expected --force"), "{said}");
    place.good(&["compress", "--rm", "-f", "x"]);
    assert_eq!(place.names(), ["x.pln"]);
    let said = String::from_utf8(place.good(&["compress", "x.pln"]).stderr).unwrap();
    assert!(said.contains("already has the suffix"), "{said}");
    place.good(&["decompress", "--rm", "-k", "x.pln"]);
    assert_eq!(place.names(), ["x", "x.pln"]);
    assert!(place.bad(1, &["decompress", "x.pln"]).contains("exists already"));
    place.write("y", b"more");
    let said = place.bad(1, &["compress", "--rm", "x", "missing", "y"]);
    assert!(said.contains("x.pln: exists already") && said.contains("missing: cannot open"), "{said}");
    assert_eq!(place.names(), ["x", "x.pln", "y.pln"]);
    place.good(&["decompress", "-f", "--rm", "x.pln", "y.pln"]);
    assert_eq!((place.read("x"), place.read("y")), (b"content".to_vec(), b"more".to_vec()));
    for words in [["compress", "-f", "-o", "x", "x"], ["compress", "-f", "-o", "./x", "x"]] {
        assert!(place.bad(1, &words).contains("is the input itself"));
    }
}

#[test]
fn permissions_and_time_go_with_a_file() {
    let place = Place::new();
    place.write("x", b"content");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_007);
    fs::set_permissions(place.at("x"), fs::Permissions::from_mode(0o640)).unwrap();
    File::options().write(true).open(place.at("x")).unwrap().set_modified(time).unwrap();
    place.good(&["compress", "--rm", "x"]);
    place.good(&["decompress", "--rm", "x.pln"]);
    let about = fs::metadata(place.at("x")).unwrap();
    assert_eq!((about.mode() & 0o7777, about.mtime()), (0o640, 1_000_000_007));
}

#[test]
fn what_is_said_is_true() {
    let place = Place::new();
    let plain = content();
    place.write("x", &plain);
    let words = ["compress", "--json", "-C", "slack+lz4", "--record-size", "128K", "-T2", "--mem", "200M", "x"];
    let made: serde_json::Value = serde_json::from_slice(&place.good(&words).stdout).unwrap();
    let size = place.read("x.pln").len();
    assert_eq!(
        (&made["file"], &made["output"], &made["codings"][0]),
        (&"x".into(), &"x.pln".into(), &"slack+lz4".into())
    );
    assert_eq!((&made["logical_bytes"], &made["physical_bytes"]), (&plain.len().into(), &size.into()));
    assert_eq!((&made["records"], &made["record_size"]), (&4.into(), &131_072.into()));
    let info: serde_json::Value = serde_json::from_slice(&place.good(&["info", "--json", "x.pln"]).stdout).unwrap();
    assert_eq!((&info["blake3"], &info["physical_bytes"]), (&made["blake3"], &made["physical_bytes"]));
    let kinds = info["kinds"].as_array().unwrap();
    assert_eq!(kinds.iter().map(|kind| kind["records"].as_u64().unwrap()).sum::<u64>(), 4);
    assert!(kinds.iter().any(|kind| kind["coding"] == "slack+lz4"), "{info}");
    let text = String::from_utf8(place.good(&["info", "x.pln"]).stdout).unwrap();
    assert!(text.contains(made["blake3"].as_str().unwrap()) && text.contains("slack+lz4"), "{text}");
    let sound: serde_json::Value = serde_json::from_slice(&place.good(&["verify", "--json", "x.pln"]).stdout).unwrap();
    assert_eq!((&sound["faults"], &sound["blake3"]), (&0.into(), &made["blake3"]));
    let tested = place.good(&["decompress", "-t", "--json", "x.pln"]).stdout;
    let tested: serde_json::Value = serde_json::from_slice(&tested).unwrap();
    assert_eq!((&tested["bytes"], &tested["output"]), (&plain.len().into(), &serde_json::Value::Null));
    assert_eq!(tested["blake3"], made["blake3"]);
}

#[test]
fn words_go_to_standard_error_and_only_where_they_are_wanted() {
    let place = Place::new();
    place.write("x", &content());
    let said = |words: &[&str]| String::from_utf8(place.good(words).stderr).unwrap();
    assert!(said(&["compress", "-f", "x"]).starts_with("x: "));
    assert!(said(&["compress", "-f", "-v", "--no-progress", "x"]).contains("BLAKE3"));
    assert_eq!(said(&["compress", "-fq", "x"]), "");
    assert_eq!(said(&["compress", "-c", "x"]), "");
    assert!(said(&["compress", "-c", "-v", "x"]).starts_with("x: "));
    assert!(said(&["decompress", "-f", "x.pln"]).contains(", x\n"));
    assert!(said(&["decompress", "-t", "x.pln"]).contains("sound"));
    assert_eq!(said(&["decompress", "-tq", "x.pln"]), "");
    place.good(&["verify", "-q", "x.pln"]);
}

#[test]
fn too_little_memory_is_refused_and_enough_makes_the_same() {
    let place = Place::new();
    place.write("x", &content());
    place.good(&["compress", "-q", "-o", "usual.pln", "x"]);
    place.good(&["compress", "-q", "--mem", "256M", "-o", "less.pln", "x"]);
    assert!(place.read("usual.pln") == place.read("less.pln"));
    for words in [&["compress", "--mem", "1M", "x"][..], &["decompress", "--mem", "1M", "-o", "y", "usual.pln"]] {
        let said = place.bad(1, words);
        assert!(said.contains("memory") && said.contains("--mem"), "{said}");
    }
    assert_eq!(place.names(), ["less.pln", "usual.pln", "x"]);
}
