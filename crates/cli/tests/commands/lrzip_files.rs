//! .lrz files both ways against Debian's lrzip: each reads what the other writes, whatever the back end and the level.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use packline_testkit::tools;

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");
/// Options that choose back ends, with a level that makes them work for it and is not slow in a test.
const WAYS: &[&[&str]] = &[
    &["-n"],
    &["-n", "-L1"],
    &["-l"],
    &["-l", "-L9"],
    &["-g", "-L1"],
    &["-g"],
    &["-b", "-L9"],
    &["-b", "-L1"],
    &["-L1"],
    &[],
    &["-L9"],
    &["-T", "--lzma", "-L4"],
    &["-z", "-L1"],
    &["-z"],
    &["-z", "-L9"],
    &["-U", "-l"],
    &["-w1", "-g", "-L9"],
];

/// A place for files, and the programs in it.
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

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        fs::write(self.at(name), bytes).unwrap();
        self.at(name)
    }

    /// Ours under one of its names.
    fn ours(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PACKLINE);
        command.args(words).current_dir(self.top.path()).env("LRZIP", "NOCONFIG");
        command
    }

    /// The program that is installed.
    fn theirs(&self, name: &str, words: &[&str]) -> Command {
        let mut command = Command::new(name);
        command.args(words).current_dir(self.top.path()).env("LRZIP", "NOCONFIG");
        command
    }
}

fn good(command: &mut Command) -> Output {
    tools::run(command).unwrap()
}

fn status(command: &mut Command) -> (Option<i32>, String) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

fn from(path: &Path) -> Stdio {
    Stdio::from(File::open(path).unwrap())
}

/// Text, noise, and both again: so that there are literals of each kind, and matches.
fn sample(length: usize) -> Vec<u8> {
    let mut state = 7u64;
    let noise = std::iter::from_fn(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some((state >> 56) as u8)
    });
    let text = (0usize..).flat_map(|at| format!("line {} of {}\n", at * 7 % 1000, at / 40).into_bytes());
    let mut bytes: Vec<u8> = text.take(length / 3).chain(noise.take(length / 6)).collect();
    bytes.extend_from_within(..);
    bytes
}

/// Compresses a sample in all ways by one, has it decompressed to `back` by another, and looks at both.
fn every_way(
    compress: impl Fn(&Place) -> Command,
    decompress: impl Fn(&Place) -> Command,
    look: impl Fn(&Place, &[&str]),
) {
    if !tools::need(&["lrzip"]) {
        return;
    }
    let place = Place::new();
    let content = sample(150_000);
    place.write("a", &content);
    for way in WAYS {
        good(compress(&place).args(*way).arg("a"));
        good(decompress(&place).args(["-f", "-q", "-o", "back", "a.lrz"]));
        assert!(fs::read(place.at("back")).unwrap() == content, "{way:?}");
        look(&place, way);
    }
}

#[test]
fn lrzip_reads_what_we_write() {
    let (ours, theirs) =
        (|place: &Place| place.ours(&["lrzip", "-f", "-q"]), |place: &Place| place.theirs("lrzip", &["-d"]));
    every_way(ours, theirs, |place, way| {
        let seen = good(&mut place.theirs("lrzip", &["-i", "-vv", "a.lrz"]));
        assert!(String::from_utf8_lossy(&seen.stdout).contains("MD5 Checksum"), "{way:?}");
        let seen = good(&mut place.ours(&["lrzip", "-i", "-vv", "--json", "a.lrz"]));
        let block = format!("\"back_end\":\"{}\"", back_end(way));
        assert!(String::from_utf8_lossy(&seen.stdout).contains(&block), "{way:?}: no block by {block}");
    });
}

/// What compresses blocks in that way.
fn back_end(way: &[&str]) -> &'static str {
    const NAMES: [(&str, &str); 5] = [("-n", "none"), ("-l", "lzo"), ("-g", "gzip"), ("-b", "bzip2"), ("-z", "zpaq")];
    NAMES.iter().find(|(option, _)| way.contains(option)).map_or("lzma", |(_, name)| name)
}

#[test]
fn we_read_what_lrzip_writes() {
    let (theirs, ours) =
        (|place: &Place| place.theirs("lrzip", &["-f", "-q"]), |place: &Place| place.ours(&["lrunzip", "-c"]));
    every_way(theirs, ours, |place, _| drop(good(&mut place.ours(&["lrzip", "-t", "-q", "a.lrz"]))));
}

#[test]
fn small_files_come_back_by_every_way() {
    if !tools::need(&["lrzip"]) {
        return;
    }
    let place = Place::new();
    for size in [0, 1, 5, 63, 64, 341, 5000] {
        let content = sample(12_000)[..size].to_vec();
        place.write("a", &content);
        for way in [&["-n"][..], &[], &["-z"]] {
            good(place.ours(&["lrzip", "-f", "-q"]).args(way).arg("a"));
            let piped = good(place.ours(&["lrzip", "-q"]).args(way).stdin(from(&place.at("a"))));
            assert!(piped.stdout == fs::read(place.at("a.lrz")).unwrap(), "{size} {way:?}: a pipe makes the same file");
            good(&mut place.theirs("lrzip", &["-d", "-f", "-q", "-o", "back", "a.lrz"]));
            assert!(fs::read(place.at("back")).unwrap() == content, "{size} {way:?}");
            let ours = good(place.ours(&["lrzcat"]).stdin(from(&place.at("a.lrz"))));
            assert!(ours.stdout == content, "{size} {way:?}");
        }
        // lrzip itself cannot read these any more: it forgets to write the size of the dictionary.
        let theirs = good(place.theirs("lrzip", &["-q"]).stdin(from(&place.at("a"))));
        place.write("theirs.lrz", &theirs.stdout);
        let ours = good(&mut place.ours(&["lrzcat", "theirs.lrz"]));
        assert!(ours.stdout == content, "{size} by lrzip's pipe");
    }
}

#[test]
fn neither_processors_nor_memory_change_a_byte() {
    let place = Place::new();
    place.write("a", &sample(3_000_000));
    for way in [&["-l"][..], &["-b"], &["-L5"]] {
        let make = |options: &[&str]| {
            good(place.ours(&["lrzip", "-f", "-q"]).args(way).args(options).arg("a"));
            fs::read(place.at("a.lrz")).unwrap()
        };
        let expected = make(&["-p1"]);
        for options in [["-p2", "-m10"], ["-p7", "-m5"], ["-p16", "-m3"]] {
            assert!(make(&options) == expected, "{way:?} {options:?}");
        }
    }
}

/// All but percentages, since lrzip rounds before it divides, and the method, for which it looks at the first block alone.
fn words_of(said: &[u8]) -> Vec<String> {
    let said = String::from_utf8_lossy(said);
    let lines = said.lines().filter(|line| !line.contains("Compression Method"));
    lines.flat_map(str::split_whitespace).filter(|word| !word.ends_with('%')).map(str::to_string).collect()
}

#[test]
fn info_says_what_lrzip_says() {
    if !tools::need(&["lrzip"]) {
        return;
    }
    let place = Place::new();
    place.write("a", &sample(200_000));
    for (writer, way) in [("ours", "-l"), ("ours", "-n"), ("theirs", "-b"), ("theirs", "-z"), ("ours", "-g")] {
        match writer {
            "ours" => good(&mut place.ours(&["lrzip", "-f", "-q", way, "a"])),
            _ => good(&mut place.theirs("lrzip", &["-f", "-q", way, "a"])),
        };
        for options in ["-i", "-iv", "-ivv"] {
            let theirs = good(&mut place.theirs("lrzip", &[options, "a.lrz"])).stdout;
            let ours = good(&mut place.ours(&["lrzip", options, "a.lrz"])).stdout;
            assert_eq!(words_of(&ours), words_of(&theirs), "{writer} {way} {options}");
        }
    }
    let said = good(&mut place.ours(&["lrzip", "-ivv", "--json", "a.lrz"])).stdout;
    let said: Vec<serde_json::Value> =
        String::from_utf8(said).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said[0]["chunk"], 1);
    assert!(said.iter().any(|line| line["stream"] == 1 && line["back_end"] == "gzip"));
    assert_eq!(said.last().unwrap()["size"], fs::metadata(place.at("a")).unwrap().len());
}

#[test]
fn passwords_open_files_of_both() {
    if !tools::need(&["lrzip"]) {
        return;
    }
    let place = Place::new();
    let content = sample(30_000);
    place.write("a", &content);
    good(&mut place.ours(&["lrzip", "-f", "-q", "-l", "--encrypt=secret", "a"]));
    good(&mut place.theirs("lrzip", &["-d", "-f", "-q", "--encrypt=secret", "-o", "back", "a.lrz"]));
    assert!(fs::read(place.at("back")).unwrap() == content);
    // Asked for on standard input.
    place.write("typed", b"secret\n");
    good(place.ours(&["lrunzip", "-f", "-q", "-o", "back", "a.lrz"]).stdin(from(&place.at("typed"))));
    assert!(fs::read(place.at("back")).unwrap() == content);
    let (code, said) = status(&mut place.ours(&["lrunzip", "-f", "--encrypt=wrong", "-o", "no", "a.lrz"]));
    assert!(code == Some(1) && said.contains("password") && !place.at("no").exists(), "{said}");
    let (code, said) = status(&mut place.ours(&["lrzip", "-i", "a.lrz"]));
    assert_eq!((code, said.as_str()), (Some(0), "Encrypted lrzip archive. No further information available\n"));
    good(&mut place.theirs("lrzip", &["-f", "-q", "--encrypt=other", "a"]));
    good(&mut place.ours(&["lrunzip", "-f", "-q", "--encrypt=other", "-o", "back", "a.lrz"]));
    assert!(fs::read(place.at("back")).unwrap() == content);
    place.write("typed", b"one\ntwo\n");
    let slip = place.ours(&["lrzip", "-f", "-e", "a"]).stdin(from(&place.at("typed"))).output().unwrap();
    assert!(slip.status.code() == Some(1) && String::from_utf8_lossy(&slip.stderr).contains("differ"));
}

#[test]
fn names_attributes_and_sources_follow_the_options() {
    let place = Place::new();
    let content = sample(20_000);
    let path = place.write("a", &content);
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_234_567_890);
    File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let run = |words: &[&str]| status(&mut place.ours(words));
    assert_eq!(run(&["lrzip", "-D", "a"]).0, Some(0));
    let about = fs::metadata(place.at("a.lrz")).unwrap();
    assert!(!path.exists() && about.mode() & 0o777 == 0o640 && about.modified().unwrap() == time);
    assert_eq!(run(&["lrzip", "-d", "a.lrz"]).0, Some(0));
    let about = fs::metadata(&path).unwrap();
    assert!(about.mode() & 0o777 == 0o640 && about.modified().unwrap() == time);
    // What is there is not replaced, unless that is asked for.
    let (code, said) = run(&["lrzip", "a"]);
    assert!(code == Some(1) && said.contains("a.lrz"), "{said}");
    assert_eq!(run(&["lrzip", "-f", "-H", "a"]).0, Some(0));
    fs::create_dir(place.at("sub")).unwrap();
    assert_eq!(run(&["lrzip", "-O", "sub", "-S", ".z", "a"]).0, Some(0));
    assert_eq!(run(&["lrzip", "-d", "-S", ".z", "sub/a.z"]).0, Some(0));
    assert!(fs::read(place.at("sub/a")).unwrap() == content);
    assert_eq!(run(&["lrzip", "-r", "sub"]).0, Some(0));
    assert!(place.at("sub/a.lrz").exists() && place.at("sub/a.z.lrz").exists());
    let (code, said) = run(&["lrzip", "sub"]);
    assert!(code == Some(1) && said.contains("lrztar"), "{said}");
    let (code, said) = run(&["lrzip", "-d", "sub/a.z"]);
    assert!(code == Some(1) && said.contains(".lrz"), "{said}");
    for words in [
        &["lrzip", "-Y", "a"][..],
        &["lrzip", "-b", "-g", "a"],
        &["lrzip", "-L", "0", "a"],
        &["lrzip", "-o", "x", "a", "a"],
    ] {
        assert_eq!(run(words).0, Some(2), "{words:?}");
    }
    assert_eq!(run(&["lrzip", "nothing"]).0, Some(1));
}

#[test]
fn damage_is_found_and_kept_only_if_asked() {
    let place = Place::new();
    place.write("a", &sample(60_000));
    good(&mut place.ours(&["lrzip", "-q", "-n", "a"]));
    let mut bytes = fs::read(place.at("a.lrz")).unwrap();
    let middle = bytes.len() * 3 / 4;
    bytes[middle] ^= 1;
    place.write("bad.lrz", &bytes);
    for words in [&["lrzip", "-t", "bad.lrz"][..], &["lrunzip", "bad.lrz"]] {
        let (code, said) = status(&mut place.ours(words));
        assert!(code == Some(1) && said.contains("bad.lrz"), "{words:?}: {said}");
    }
    assert!(!place.at("bad").exists());
    assert_eq!(status(&mut place.ours(&["lrunzip", "-K", "bad.lrz"])).0, Some(1));
    assert!(place.at("bad").exists(), "kept");
    assert_eq!(status(&mut place.ours(&["lrzip", "-t", "a.lrz"])).0, Some(0));
}

#[test]
fn a_configuration_file_sets_defaults() {
    let place = Place::new();
    place.write("a", &sample(20_000));
    place.write("lrzip.conf", b"# mine\nCOMPRESSIONMETHOD = gzip\nSHOWHASH = YES\n");
    let mut with = place.ours(&["lrzip", "-f", "a"]);
    let said = good(with.env_remove("LRZIP")).stdout;
    assert!(String::from_utf8_lossy(&said).contains("MD5: "));
    let seen = good(&mut place.ours(&["lrzip", "-i", "a.lrz"])).stdout;
    assert!(String::from_utf8_lossy(&seen).contains("rzip + gzip"));
    // The command line comes first.
    good(place.ours(&["lrzip", "-f", "-b", "a"]).env_remove("LRZIP"));
    let seen = good(&mut place.ours(&["lrzip", "-i", "a.lrz"])).stdout;
    assert!(String::from_utf8_lossy(&seen).contains("rzip + bzip2"));
    place.write("lrzip.conf", b"COLOUR = red\n");
    let (code, said) = status(place.ours(&["lrzip", "-f", "a"]).env_remove("LRZIP"));
    assert!(code == Some(1) && said.contains("lrzip.conf: line 1"), "{said}");
    good(&mut place.ours(&["lrzip", "-f", "a"]));
}
