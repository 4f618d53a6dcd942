//! With `--cache` the image has the bytes of a run without it, whatever the state of the cache.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use packline_testkit::model::Node;
use packline_testkit::mount::{self, Mounted};
use packline_testkit::{Random, Sandbox, tools};
use serde_json::Value;

use crate::killing::{kill, moments, run};
use crate::sandbox;

/// Files of several blocks, tails, and some that do not compress.
fn tree() -> Sandbox {
    let sandbox = sandbox();
    let mut random = Random::new(21);
    let mut nodes = vec![Node::dir("")];
    for file in 0..8 {
        nodes.push(Node::file(format!("prose{file}"), random.prose(100_000 + file * 7_000)));
        nodes.push(Node::file(format!("noise{file}"), random.noise(40_000)));
    }
    sandbox.plant("tree", &nodes);
    sandbox
}

/// Codecs with options that change the layout.
const WAYS: [(&str, &[&str]); 12] = [
    ("zstd:level=3", &[]),
    ("gzip:level=4", &[]),
    ("xz:level=1", &[]),
    ("lzma:level=1", &[]),
    ("lz4", &[]),
    ("lzo:level=5", &[]),
    ("zstd:level=3", &["--format", "erofs"]),
    ("zstd:level=3", &["--format", "erofs", "--kernel", "6.15"]),
    ("gzip:level=4", &["--format", "erofs"]),
    ("gzip:level=4", &["--format", "erofs", "--kernel", "6.15"]),
    ("lzma:level=1", &["--format", "erofs", "--kernel", "6.15"]),
    ("lz4", &["--format", "erofs", "--kernel", "6.1"]),
];

fn pack(sandbox: &Sandbox, codec: &str, options: &[&str]) -> Value {
    let first = ["pack", "-f", "--json", "-b", "16K", "-c", codec, "tree", "image"];
    let ran = sandbox.good(&[&first[..], options].concat());
    serde_json::from_str(&ran.text()).unwrap()
}

/// The files of entries below `cache`.
fn entries(sandbox: &Sandbox, cache: &str) -> Vec<PathBuf> {
    let below = |path: PathBuf| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let directories = below(sandbox.at(cache).join("v1")).filter(|path| path.is_dir() && !path.ends_with("new"));
    let mut files: Vec<PathBuf> = directories.flat_map(below).collect();
    files.sort();
    files
}

#[test]
fn the_image_is_the_same_with_any_state_of_the_cache() {
    let sandbox = tree();
    for (codec, way) in WAYS {
        pack(&sandbox, codec, way);
        let expected = sandbox.read("image");
        // Work with a cache does not depend on the codec, so only one codec is tested with every number of workers.
        let numbers = if codec == "lz4" { &["0", "1", "2", "7"][..] } else { &["0", "7"] };
        for workers in numbers {
            let cache = format!("cache-{workers}");
            let with = |blocks: &str| {
                let report = pack(&sandbox, codec, &[&["-j", workers, "--cache", &cache], way].concat());
                assert!(sandbox.read("image") == expected, "{codec} {way:?}, {workers} workers, {blocks}");
                let number = |name: &str| report["cache"][name].as_u64().unwrap();
                (number("found"), number("missed"), number("damaged"), number("added"))
            };
            let (found, all, damaged, added) = with("none");
            assert!(
                found == 0 && damaged == 0 && added == all && all > if way.is_empty() { 60 } else { 15 },
                "{codec}: {all}"
            );
            assert_eq!(with("all"), (all, 0, 0, 0));
            let files = entries(&sandbox, &cache);
            files.iter().step_by(2).for_each(|path| fs::remove_file(path).unwrap());
            let gone = files.len().div_ceil(2) as u64;
            let (found, missed, ..) = with("half");
            assert!(found + missed == all && missed >= gone, "{codec}: {missed} of {gone}");
            for (number, path) in files.iter().enumerate() {
                let mut bytes = fs::read(path).unwrap();
                let at = number * 31 % bytes.len();
                bytes[at] ^= 1 << (number % 8);
                fs::write(path, bytes).unwrap();
            }
            let (found, _, damaged, _) = with("damaged");
            assert!(found == 0 || damaged >= files.len() as u64, "{codec}: {found} found, {damaged} damaged");
            assert_eq!(with("repaired"), (all, 0, 0, 0));
            sandbox.remove(&cache);
        }
    }
}

#[test]
fn the_image_is_the_same_while_another_process_writes() {
    let sandbox = tree();
    for codec in ["zstd:level=3", "lz4"] {
        pack(&sandbox, codec, &[]);
        let expected = sandbox.read("image");
        let packed = AtomicBool::new(false);
        thread::scope(|scope| {
            let write = || {
                let other = ["pack", "-fq", "-b", "16K", "-c", codec, "tree", "other", "--cache", "cache"];
                while !packed.load(Ordering::Relaxed) {
                    sandbox.good(&other);
                    sandbox.good(&["cache", "clear", "--cache", "cache"]);
                }
                assert!(sandbox.read("other") == expected);
            };
            let writer = thread::Builder::new().spawn_scoped(scope, write).unwrap();
            let same = ["0", "1", "2", "7"].into_iter().cycle().take(12).all(|workers| {
                pack(&sandbox, codec, &["-j", workers, "--cache", "cache"]);
                sandbox.read("image") == expected
            });
            packed.store(true, Ordering::Relaxed);
            writer.join().unwrap();
            assert!(same, "{codec}");
        });
    }
}

#[test]
fn compresses_only_changed_blocks() {
    let sandbox = tree();
    pack(&sandbox, "zstd", &["--cache", "cache"]);
    sandbox.write("tree/prose3", Random::new(99).prose(16 << 10));
    let report = pack(&sandbox, "zstd", &["--cache", "cache"]);
    // The file's block, and the fragment blocks from its tail end on.
    let missed = report["cache"]["missed"].as_u64().unwrap();
    assert!((1..30).contains(&missed), "{report}");
    let cached = sandbox.read("image");
    pack(&sandbox, "zstd", &[]);
    assert!(sandbox.read("image") == cached);
    for other in [&["-c", "zstd:level=2"][..], &["-b", "32K"]] {
        sandbox.good(&[&["pack", "-fq", "tree", "image", "--cache", "cache"], other].concat());
        let cached = sandbox.read("image");
        sandbox.good(&[&["pack", "-fq", "tree", "image"], other].concat());
        assert!(sandbox.read("image") == cached, "{other:?}");
    }
}

#[test]
fn all_packing_commands_have_cache_option() {
    let sandbox = tree();
    let tar = "tree.tar";
    sandbox.peer("tar", &["-cf", tar, "tree"]);
    let commands: [(&[&str], &str, Option<&str>); 5] = [
        (&["pack", "-f", "tree", "image"], "--cache", None),
        (&["mksquashfs", "tree", "image", "-noappend", "-mkfs-time", "0"], "-cache", None),
        (&["sqfstar", "-force", "-mkfs-time", "0", "-root-time", "0", "image"], "-cache", Some(tar)),
        (&["tar2sqfs", "-f", "-c", "gzip", "image"], "--cache", Some(tar)),
        (&["gensquashfs", "-f", "-D", "tree", "-c", "zstd", "image"], "--cache", None),
    ];
    for (words, option, input) in commands {
        let pack = |options: &[&str], environment: Option<&str>| {
            let mut command = sandbox.command(&[&words[..1], options, &words[1..]].concat());
            if let Some(input) = input {
                command.stdin(fs::File::open(sandbox.at(input)).unwrap());
            }
            if let Some(cache) = environment {
                command.env("PACKLINE_CACHE", cache);
            }
            let ran = packline_testkit::Ran::good(&mut command);
            (sandbox.read("image"), format!("{}{}", ran.text(), ran.stderr))
        };
        let (expected, text) = pack(&[], None);
        assert!(!text.contains("cache: "), "{text}");
        for (options, environment) in [(&[option, "cache"][..], None), (&[], Some("cache"))] {
            let (image, text) = pack(options, environment);
            assert!(image == expected && text.contains("cache: "), "{words:?}: {text}");
            assert!(environment.is_none() || text.contains(" 0 added"), "{words:?}: {text}");
        }
        let none = option.replace("cache", "no-cache");
        let (image, text) = pack(&[&none], Some("cache"));
        assert!(image == expected && !text.contains("cache: "), "{words:?}: {text}");
        sandbox.remove("cache");
    }
    assert!(
        sandbox
            .bad(2, &["pack", "tree", "x.lrz", "--cache", "cache"])
            .contains("--cache: has no effect on a .lrz file, whose blocks rarely repeat")
    );
}

#[test]
fn concurrent_packs_share_cache() {
    let sandbox = tree();
    pack(&sandbox, "gzip", &[]);
    let expected = sandbox.read("image");
    for _ in 0..3 {
        thread::scope(|scope| {
            for number in 0..4 {
                let sandbox = &sandbox;
                let run = move || {
                    let image = format!("image{number}");
                    let words = ["pack", "-fq", "-b", "16K", "-c", "gzip", "tree", &image, "--cache", "cache"];
                    sandbox.good(&[&words[..], &["--cache-size", "1M"]].concat());
                };
                thread::Builder::new().spawn_scoped(scope, run).unwrap();
            }
        });
        assert!((0..4).all(|number| sandbox.read(format!("image{number}")) == expected));
    }
}

fn packs_are_killed(count: u64) {
    let sandbox = tree();
    pack(&sandbox, "gzip", &[]);
    let expected = sandbox.read("image");
    let words = ["pack", "-fq", "-b", "16K", "-c", "gzip", "tree", "image", "--cache", "cache"];
    let time = run(&mut sandbox.command(&words));
    for (round, moment) in moments(3, count, time).enumerate() {
        if round % 4 == 0 {
            sandbox.good(&["cache", "clear", "--cache", "cache"]);
        }
        kill(sandbox.command(&words), moment);
    }
    let ran = sandbox.good(&["cache", "verify", "--cache", "cache"]);
    assert!(ran.text().contains(" 0 damaged"), "{ran:?}");
    pack(&sandbox, "gzip", &["--cache", "cache"]);
    assert!(sandbox.read("image") == expected);
}

#[test]
fn a_killed_pack_damages_no_entry() {
    packs_are_killed(20);
}

#[test]
#[ignore = "long: cargo test -p packline-cli --test commands pack::cache -- --ignored"]
fn a_killed_pack_damages_no_entry_200_times() {
    packs_are_killed(200);
}

#[test]
fn a_cache_that_cannot_be_written_is_a_warning() {
    if !mount::allowed() {
        return;
    }
    let sandbox = tree();
    pack(&sandbox, "lz4", &[]);
    let expected = sandbox.read("image");
    let full = Mounted::memory(512 << 10).unwrap();
    let full = full.path().join("cache");
    let words = ["pack", "-f", "-b", "16K", "-c", "lz4", "tree", "image", "--cache"];
    for round in 0..2 {
        let ran = sandbox.good(&[&words[..], &[full.to_str().unwrap()]].concat());
        let line = ran.stderr.lines().find(|line| line.contains("the cache was not used after that")).unwrap();
        assert!(line.contains("v1/") && sandbox.read("image") == expected, "{round}: {line}");
    }
    let ran = sandbox.good(&[&words[..], &["/proc/cache"]].concat());
    assert!(ran.stderr.contains("/proc/cache") && ran.stderr.contains("this run does not use the cache"), "{ran:?}");
    assert!(sandbox.read("image") == expected);
}

/// Entries are used where none can be added.
#[test]
fn reads_read_only_cache() {
    if !tools::root() || !tools::need(&["setpriv"]) {
        return;
    }
    let sandbox = tree();
    pack(&sandbox, "lz4", &["--cache", "cache"]);
    let expected = sandbox.read("image");
    let readable = |path: PathBuf| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut all = vec![sandbox.at("cache")];
    while let Some(path) = all.pop() {
        if path.is_dir() {
            all.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        readable(path);
    }
    fs::set_permissions(sandbox.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let pack = ["pack", "-f", "-b", "16K", "-c", "lz4", "tree", "image", "--cache", "cache"];
    fs::remove_file(sandbox.at("image")).unwrap();
    let words = [&["--reuid=12345", "--regid=12345", "--clear-groups", crate::PACKLINE], &pack[..]].concat();
    let ran = packline_testkit::Ran::good(&mut sandbox.program("setpriv", &words));
    assert!(ran.stderr.contains(" 0 added") && sandbox.read("image") == expected, "{ran:?}");
}

#[test]
fn cache_command_manages_cache() {
    let sandbox = tree();
    let report = pack(&sandbox, "lz4", &["--cache", "cache"]);
    let added = report["cache"]["added"].as_u64().unwrap();
    let json = |words: &[&str]| -> Value {
        let words = [&["cache"], words, &["--cache", "cache", "--json"]].concat();
        serde_json::from_str(&sandbox.good(&words).text()).unwrap()
    };
    let info = json(&["info"]);
    assert_eq!((&info["entries"], &info["bytes"]), (&report["cache"]["added"], &report["cache"]["added_bytes"]));
    let text = sandbox.good(&["cache", "info", "--cache", "cache"]).text();
    assert!(text.starts_with(&format!("cache: {added} entries, ")) && text.contains("UTC"), "{text}");
    assert_eq!(json(&["trim"])["removed"], 0);
    fs::write(&entries(&sandbox, "cache")[0], "damage").unwrap();
    assert_eq!(json(&["verify"])["damaged"], 1);
    assert!(json(&["trim", "--cache-size", "1M"])["removed"].as_u64().is_some());
    json(&["clear"]);
    assert_eq!(json(&["info"])["entries"], 0);
    for words in [&["cache", "info", "--cache", "tree"][..], &["cache", "clear", "--cache", "nothing"]] {
        let line = sandbox.bad(1, words);
        assert!(line.contains(words[3]), "{line}");
    }
    assert!(sandbox.bad(1, &["pack", "tree", "new", "--cache", "tree"]).contains("not a block cache"));
    assert!(sandbox.bad(2, &["cache", "clear", "--cache", "cache", "--cache-size", "1M"]).contains("--cache-size"));
    assert!(sandbox.bad(2, &["cache", "info"]).contains("PACKLINE_CACHE"));
    assert!(!sandbox.at("new").exists() && !sandbox.at("tree/v1").exists());
}
