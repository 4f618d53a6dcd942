//! .lrz files both ways against Debian's lrzip: each reads what the other writes, whatever the back end and the level.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::time::{Duration, SystemTime};

use packline_testkit::{Ran, Random, Sandbox, tools};

use crate::{PACKLINE, sandbox};

/// Options that choose back ends, with levels that are not slow.
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

/// The status, and both streams.
fn ends(command: &mut Command) -> (i32, String) {
    let ran = Ran::of(command);
    (ran.status, ran.text() + &ran.stderr)
}

/// Text, noise, and both again: so that there are literals of each kind, and matches.
fn sample(length: usize) -> Vec<u8> {
    let text = (0usize..).flat_map(|at| format!("line {} of {}\n", at * 7 % 1000, at / 40).into_bytes());
    let mut bytes: Vec<u8> = text.take(length / 3).chain(Random::new(7).noise(length / 6)).collect();
    bytes.extend_from_within(..);
    bytes
}

/// Compresses a sample with each combination of options, decompresses it to `back`, and compares; `check` looks at the .lrz file.
fn every_way(
    compress: impl Fn(&Sandbox) -> Command,
    decompress: impl Fn(&Sandbox) -> Command,
    check: impl Fn(&Sandbox, &[&str]),
) {
    if !tools::need(&["lrzip"]) {
        return;
    }
    let sandbox = sandbox();
    let content = sample(150_000);
    sandbox.write("a", &content);
    for way in WAYS {
        Ran::good(compress(&sandbox).args(*way).arg("a"));
        Ran::good(decompress(&sandbox).args(["-f", "-q", "-o", "back", "a.lrz"]));
        assert!(sandbox.read("back") == content, "{way:?}");
        check(&sandbox, way);
    }
}

#[test]
fn lrzip_reads_what_we_write() {
    let (ours, theirs) = (
        |sandbox: &Sandbox| sandbox.command(&["lrzip", "-f", "-q"]),
        |sandbox: &Sandbox| sandbox.program("lrzip", &["-d"]),
    );
    every_way(ours, theirs, |sandbox, way| {
        let seen = sandbox.peer("lrzip", &["-i", "-vv", "a.lrz"]).text();
        assert!(seen.contains("MD5 Checksum"), "{way:?}");
        let seen = sandbox.good(&["lrzip", "-i", "-vv", "--json", "a.lrz"]).text();
        let block = format!("\"back_end\":\"{}\"", back_end(way));
        assert!(seen.contains(&block), "{way:?}: no block by {block}");
    });
}

/// The back end that these options choose.
fn back_end(way: &[&str]) -> &'static str {
    const NAMES: [(&str, &str); 5] = [("-n", "none"), ("-l", "lzo"), ("-g", "gzip"), ("-b", "bzip2"), ("-z", "zpaq")];
    NAMES.iter().find(|(option, _)| way.contains(option)).map_or("lzma", |(_, name)| name)
}

#[test]
fn we_read_what_lrzip_writes() {
    let (theirs, ours) = (
        |sandbox: &Sandbox| sandbox.program("lrzip", &["-f", "-q"]),
        |sandbox: &Sandbox| sandbox.command(&["lrunzip", "-c"]),
    );
    every_way(theirs, ours, |sandbox, _| drop(sandbox.good(&["lrzip", "-t", "-q", "a.lrz"])));
}

#[test]
fn round_trips_small_files_in_every_mode() {
    if !tools::need(&["lrzip"]) {
        return;
    }
    let sandbox = sandbox();
    for size in [0, 1, 5, 63, 64, 341, 5000] {
        let content = sample(12_000)[..size].to_vec();
        sandbox.write("a", &content);
        for way in [&["-n"][..], &[], &["-z"]] {
            Ran::good(sandbox.command(&["lrzip", "-f", "-q"]).args(way).arg("a"));
            let piped = Ran::good(sandbox.command(&["lrzip", "-q"]).args(way).stdin(sandbox.open("a")));
            assert!(piped.stdout == sandbox.read("a.lrz"), "{size} {way:?}: a pipe makes the same file");
            sandbox.peer("lrzip", &["-d", "-f", "-q", "-o", "back", "a.lrz"]);
            assert!(sandbox.read("back") == content, "{size} {way:?}");
            let ours = sandbox.good_on(&["lrzcat"], "a.lrz");
            assert!(ours.stdout == content, "{size} {way:?}");
        }
        // lrzip itself cannot read these: it does not write the size of the dictionary.
        let theirs = Ran::good(sandbox.program("lrzip", &["-q"]).stdin(sandbox.open("a")));
        sandbox.write("theirs.lrz", &theirs.stdout);
        let ours = sandbox.good(&["lrzcat", "theirs.lrz"]);
        assert!(ours.stdout == content, "{size} by lrzip's pipe");
    }
}

#[test]
fn output_is_independent_of_processors_and_memory() {
    let sandbox = sandbox();
    sandbox.write("a", sample(3_000_000));
    for way in [&["-l"][..], &["-b"], &["-L5"]] {
        let make = |options: &[&str]| {
            Ran::good(sandbox.command(&["lrzip", "-f", "-q"]).args(way).args(options).arg("a"));
            sandbox.read("a.lrz")
        };
        let expected = make(&["-p1"]);
        for options in [["-p2", "-m10"], ["-p7", "-m5"], ["-p16", "-m3"]] {
            assert!(make(&options) == expected, "{way:?} {options:?}");
        }
    }
}

/// The words except percentages, because lrzip rounds before it divides, and the method, which lrzip takes from the first block only.
fn words_of(info: &Ran) -> Vec<String> {
    let info = info.text();
    let lines = info.lines().filter(|line| !line.contains("Compression Method"));
    lines.flat_map(str::split_whitespace).filter(|word| !word.ends_with('%')).map(str::to_string).collect()
}

#[test]
fn info_prints_what_lrzip_prints() {
    if !tools::need(&["lrzip"]) {
        return;
    }
    let sandbox = sandbox();
    sandbox.write("a", sample(200_000));
    for (writer, way) in [("ours", "-l"), ("ours", "-n"), ("theirs", "-b"), ("theirs", "-z"), ("ours", "-g")] {
        match writer {
            "ours" => sandbox.good(&["lrzip", "-f", "-q", way, "a"]),
            _ => sandbox.peer("lrzip", &["-f", "-q", way, "a"]),
        };
        for options in ["-i", "-iv", "-ivv"] {
            let theirs = sandbox.peer("lrzip", &[options, "a.lrz"]);
            let ours = sandbox.good(&["lrzip", options, "a.lrz"]);
            assert_eq!(words_of(&ours), words_of(&theirs), "{writer} {way} {options}");
        }
    }
    let info = sandbox.good(&["lrzip", "-ivv", "--json", "a.lrz"]).text();
    let info: Vec<serde_json::Value> = info.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(info[0]["chunk"], 1);
    assert!(info.iter().any(|line| line["stream"] == 1 && line["back_end"] == "gzip"));
    assert_eq!(info.last().unwrap()["size"], fs::metadata(sandbox.at("a")).unwrap().len());
}

#[test]
fn opens_encrypted_files_of_both_programs() {
    if !tools::need(&["lrzip"]) {
        return;
    }
    let sandbox = sandbox();
    let content = sample(30_000);
    sandbox.write("a", &content);
    sandbox.good(&["lrzip", "-f", "-q", "-l", "--encrypt=secret", "a"]);
    sandbox.peer("lrzip", &["-d", "-f", "-q", "--encrypt=secret", "-o", "back", "a.lrz"]);
    assert!(sandbox.read("back") == content);
    // Read from standard input.
    sandbox.write("typed", b"secret\n");
    sandbox.good_on(&["lrunzip", "-f", "-q", "-o", "back", "a.lrz"], "typed");
    assert!(sandbox.read("back") == content);
    let (status, output) = ends(&mut sandbox.command(&["lrunzip", "-f", "--encrypt=wrong", "-o", "no", "a.lrz"]));
    assert!(status == 1 && output.contains("password") && !sandbox.at("no").exists(), "{output}");
    let (status, output) = ends(&mut sandbox.command(&["lrzip", "-i", "a.lrz"]));
    assert_eq!((status, output.as_str()), (0, "Encrypted lrzip archive. No further information available\n"));
    sandbox.peer("lrzip", &["-f", "-q", "--encrypt=other", "a"]);
    sandbox.good(&["lrunzip", "-f", "-q", "--encrypt=other", "-o", "back", "a.lrz"]);
    assert!(sandbox.read("back") == content);
    sandbox.write("typed", b"one\ntwo\n");
    let (status, output) = ends(sandbox.command(&["lrzip", "-f", "-e", "a"]).stdin(sandbox.open("typed")));
    assert!(status == 1 && output.contains("differ"), "{output}");
}

#[test]
fn names_attributes_and_sources_follow_the_options() {
    let sandbox = sandbox();
    let content = sample(20_000);
    let path = sandbox.write("a", &content);
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_234_567_890);
    File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let run = |words: &[&str]| ends(&mut sandbox.command(words));
    assert_eq!(run(&["lrzip", "-D", "a"]).0, 0);
    let about = fs::metadata(sandbox.at("a.lrz")).unwrap();
    assert!(!path.exists() && about.mode() & 0o777 == 0o640 && about.modified().unwrap() == time);
    assert_eq!(run(&["lrzip", "-d", "a.lrz"]).0, 0);
    let about = fs::metadata(&path).unwrap();
    assert!(about.mode() & 0o777 == 0o640 && about.modified().unwrap() == time);
    // An existing file is replaced only with -f.
    let (status, output) = run(&["lrzip", "a"]);
    assert!(status == 1 && output.contains("a.lrz"), "{output}");
    assert_eq!(run(&["lrzip", "-f", "-H", "a"]).0, 0);
    let (status, output) = run(&["lrzip", "-f", "a", "a.lrz"]);
    assert!(status == 0 && output.contains("a.lrz: already has the suffix .lrz, skipped"), "{output}");
    sandbox.create_dir("sub");
    assert_eq!(run(&["lrzip", "-O", "sub", "-S", ".z", "a"]).0, 0);
    assert_eq!(run(&["lrzip", "-d", "-S", ".z", "sub/a.z"]).0, 0);
    assert!(sandbox.read("sub/a") == content);
    assert_eq!(run(&["lrzip", "-r", "sub"]).0, 0);
    assert!(sandbox.at("sub/a.lrz").exists() && sandbox.at("sub/a.z.lrz").exists());
    let (status, output) = run(&["lrzip", "sub"]);
    assert!(status == 1 && output.contains("lrztar"), "{output}");
    let (status, output) = run(&["lrzip", "-d", "sub/a.z"]);
    assert!(status == 1 && output.contains(".lrz"), "{output}");
    for words in [
        &["lrzip", "-Y", "a"][..],
        &["lrzip", "-b", "-g", "a"],
        &["lrzip", "-L", "0", "a"],
        &["lrzip", "-o", "x", "a", "a"],
    ] {
        assert_eq!(run(words).0, 2, "{words:?}");
    }
    assert_eq!(run(&["lrzip", "nothing"]).0, 1);
}

#[test]
fn damage_is_found_and_kept_only_if_asked() {
    let sandbox = sandbox();
    sandbox.write("a", sample(60_000));
    sandbox.good(&["lrzip", "-q", "-n", "a"]);
    let mut bytes = sandbox.read("a.lrz");
    let middle = bytes.len() * 3 / 4;
    bytes[middle] ^= 1;
    sandbox.write("bad.lrz", &bytes);
    for words in [&["lrzip", "-t", "bad.lrz"][..], &["lrunzip", "bad.lrz"]] {
        let (status, output) = ends(&mut sandbox.command(words));
        assert!(status == 1 && output.contains("bad.lrz"), "{words:?}: {output}");
    }
    assert!(!sandbox.at("bad").exists());
    assert_eq!(ends(&mut sandbox.command(&["lrunzip", "-K", "bad.lrz"])).0, 1);
    assert!(sandbox.at("bad").exists(), "kept");
    assert_eq!(ends(&mut sandbox.command(&["lrzip", "-t", "a.lrz"])).0, 0);
}

#[test]
fn a_configuration_file_sets_defaults() {
    let sandbox = sandbox();
    sandbox.write("a", sample(20_000));
    sandbox.write("lrzip.conf", b"# mine\nCOMPRESSIONMETHOD = gzip\nSHOWHASH = YES\n");
    let mut with = sandbox.command(&["lrzip", "-f", "a"]);
    assert!(Ran::good(with.env_remove("LRZIP")).text().contains("MD5: "));
    let seen = sandbox.good(&["lrzip", "-i", "a.lrz"]).text();
    assert!(seen.contains("rzip + gzip"));
    // The command line overrides the file.
    Ran::good(sandbox.command(&["lrzip", "-f", "-b", "a"]).env_remove("LRZIP"));
    let seen = sandbox.good(&["lrzip", "-i", "a.lrz"]).text();
    assert!(seen.contains("rzip + bzip2"));
    sandbox.write("lrzip.conf", b"COLOUR = red\n");
    let (status, output) = ends(sandbox.command(&["lrzip", "-f", "a"]).env_remove("LRZIP"));
    assert!(status == 1 && output.contains("lrzip.conf: line 1"), "{output}");
    sandbox.good(&["lrzip", "-f", "a"]);
    // A pipe is not waited for.
    sandbox.remove("lrzip.conf");
    sandbox.peer("mkfifo", &["lrzip.conf"]);
    let (status, output) = ends(sandbox.command(&["lrzip", "-f", "a"]).env_remove("LRZIP"));
    assert!(status == 1 && output.contains("lrzip.conf: cannot read: not a regular file"), "{output}");
    sandbox.remove("lrzip.conf");
    std::os::unix::fs::symlink("/dev/null", sandbox.at("lrzip.conf")).unwrap();
    Ran::good(sandbox.command(&["lrzip", "-f", "a"]).env_remove("LRZIP"));
}

#[test]
fn ignores_a_configuration_file_of_another_user() {
    if !tools::root() || !tools::need(&["setpriv"]) {
        return;
    }
    let sandbox = sandbox();
    sandbox.write("a", sample(20_000));
    sandbox.write("home/.lrzip/lrzip.conf", "COLOUR = red\n");
    for (path, mode) in [("", 0o777), ("home", 0o700)] {
        fs::set_permissions(sandbox.at(path), PermissionsExt::from_mode(mode)).unwrap();
    }
    // A copy of the binary that another user can run: the build directory may be closed to them.
    fs::copy(PACKLINE, sandbox.at("packline")).unwrap();
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "--", "./packline", "lrzip", "a"];
    let mut command = sandbox.program("setpriv", &user);
    Ran::good(command.env_remove("LRZIP").env("HOME", sandbox.at("home")));
}
