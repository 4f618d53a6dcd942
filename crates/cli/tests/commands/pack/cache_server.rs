//! With `--cache` and a server the image has the bytes of a run without it, and a faulty server costs a warning and a few seconds.

use std::collections::BTreeMap;
use std::time::Duration;

use packline_testkit::http_cache::{Fault, HttpCache};
use packline_testkit::model::Node;
use packline_testkit::{Ran, Random, Sandbox, Stopwatch};
use serde_json::Value;

use crate::killing::{kill, moments, run};
use crate::sandbox;

/// Files of several blocks, tails, and some that do not compress.
fn tree() -> Sandbox {
    let sandbox = sandbox();
    let mut random = Random::new(22);
    let mut nodes = vec![Node::dir("")];
    for file in 0..8 {
        nodes.push(Node::file(format!("prose{file}"), random.prose(100_000 + file * 7_000)));
        nodes.push(Node::file(format!("noise{file}"), random.noise(40_000)));
    }
    sandbox.plant("tree", &nodes);
    sandbox
}

const PACK: [&str; 6] = ["pack", "-f", "-b", "16K", "tree", "image"];

fn pack(sandbox: &Sandbox, options: &[&str]) -> Ran {
    sandbox.good(&[&PACK[..], options].concat())
}

/// The image without a cache.
fn expected(sandbox: &Sandbox, codec: &str) -> Vec<u8> {
    pack(sandbox, &["-c", codec]);
    sandbox.read("image")
}

fn warnings(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter(|line| line.contains("warning: ")).collect()
}

/// Returns whether answers took longer than compressing, which happens on a busy machine.
fn too_slow(ran: &Ran) -> bool {
    ran.stderr.contains("its answers take longer than compression")
}

#[test]
fn two_machines_share_a_server() {
    let sandbox = tree();
    'codecs: for codec in ["zstd:level=3", "xz:level=1", "lz4"] {
        let server = HttpCache::start().unwrap();
        let expected = expected(&sandbox, codec);
        for workers in ["0", "1", "2", "7"] {
            let prefix = format!("{}/{workers}", server.url());
            let mut all = 0;
            for (machine, round) in [("a", 0), ("b", 1), ("b", 2)] {
                let cache = format!("{machine}{workers}-{},{prefix}", codec.len());
                let ran = pack(&sandbox, &["-c", codec, "-j", workers, "--cache", &cache, "--json"]);
                assert!(sandbox.read("image") == expected, "{codec}, {workers} workers, {round}");
                if too_slow(&ran) {
                    continue 'codecs;
                }
                assert_eq!(warnings(&ran), [""; 0]);
                let report: Value = serde_json::from_str(&ran.text()).unwrap();
                let number = |pointer: &str| report["cache"].pointer(pointer).unwrap().as_u64().unwrap();
                let figures = ["/found", "/missed", "/added", "/server/found", "/server/added"].map(number);
                all = all.max(figures[1]);
                let right = [[0, all, all, 0, all], [all, 0, all, all, 0], [all, 0, 0, 0, 0]];
                assert_eq!(figures, right[round], "{codec}, {workers} workers, {round}");
            }
        }
    }
}

#[test]
fn output_is_independent_of_server_faults() {
    let sandbox = tree();
    let server = HttpCache::start().unwrap();
    let expected = expected(&sandbox, "gzip");
    pack(&sandbox, &["-c", "gzip", "--cache", &server.url()]);
    let entries = server.entries();
    let faults = [
        Fault::WrongBytes,
        Fault::OtherEntry,
        Fault::Page,
        Fault::Cut,
        Fault::CutAtOnce,
        Fault::Delay(Duration::from_secs(30)),
        Fault::Drip(Duration::from_millis(50)),
        Fault::Status(503),
        Fault::PutStatus(507),
        Fault::LongLength(1000),
        Fault::ShortLength(7),
        Fault::Endless,
        Fault::Nonsense,
    ];
    for fault in faults {
        for workers in ["0", "3"] {
            // Some blocks are to be added.
            server.set_entries(entries.clone().into_iter().step_by(2).collect());
            server.set_fault(fault);
            let watch = Stopwatch::start();
            let ran = pack(&sandbox, &["-c", "gzip", "-j", workers, "--cache", &server.url()]);
            let lines = warnings(&ran);
            let time = watch.elapsed();
            assert!(sandbox.read("image") == expected, "{fault:?}");
            assert!(lines.len() == 1 && lines[0].contains(&server.url()), "{fault:?}: {lines:?}");
            assert!(time < Duration::from_secs(20), "{fault:?}: {time:?}");
        }
    }
}

#[test]
fn a_killed_pack_leaves_no_part_of_an_entry() {
    let sandbox = tree();
    let server = HttpCache::start().unwrap();
    let expected = expected(&sandbox, "gzip");
    let url = server.url();
    let words = [&PACK[..], &["-c", "gzip", "-q", "--cache", &url]].concat();
    let time = run(&mut sandbox.command(&words));
    for (round, moment) in moments(4, 20, time).enumerate() {
        if round % 3 == 0 {
            server.set_entries(BTreeMap::new());
        }
        kill(sandbox.command(&words), moment);
    }
    let ran = pack(&sandbox, &["-c", "gzip", "--cache", &url]);
    assert!(sandbox.read("image") == expected && !ran.stderr.contains("damaged"), "{ran:?}");
}

#[test]
fn all_packing_drop_ins_accept_server() {
    let sandbox = tree();
    let server = HttpCache::start().unwrap();
    let url = format!("http://me:secret@{}", server.address());
    for (words, option) in [
        (&["mksquashfs", "tree", "image", "-noappend", "-mkfs-time", "0"][..], "-cache"),
        (&["gensquashfs", "-f", "-D", "tree", "-c", "zstd", "image"], "--cache"),
    ] {
        sandbox.good(words);
        let expected = sandbox.read("image");
        for round in 0..2 {
            let mut command = sandbox.command(&[&words[..1], &[option, &url][..round], &words[1..]].concat());
            let ran = match round {
                0 => Ran::good(command.env("PACKLINE_CACHE", format!("local,{url}"))),
                _ => sandbox.good(&[&words[..1], &[option, &url], &words[1..]].concat()),
            };
            let text = format!("{}{}", ran.text(), ran.stderr);
            assert!(sandbox.read("image") == expected && text.contains("on the server"), "{words:?}: {text}");
            assert!(!text.contains("secret"), "{text}");
        }
    }
}

#[test]
fn cache_command_handles_servers() {
    let sandbox = tree();
    let server = HttpCache::start().unwrap();
    let url = server.url();
    let both = format!("cache,{url}");
    pack(&sandbox, &["--cache", &both]);
    assert_eq!(sandbox.good(&["cache", "info", "--cache", &url]).text(), format!("{url}: answers\n"));
    let text = sandbox.good(&["cache", "info", "--cache", &both]).text();
    assert!(text.starts_with("cache: ") && text.ends_with(&format!("\n{url}: answers\n")), "{text}");
    assert!(sandbox.good(&["cache", "clear", "--cache", &both]).text().contains("removed"));
    let line = sandbox.bad(2, &["cache", "clear", "--cache", &url]);
    assert!(line.contains("a server manages its own entries"), "{line}");
    server.set_fault(Fault::Status(403));
    let line = sandbox.bad(1, &["cache", "info", "--cache", &url]);
    assert!(line.contains(&url) && line.contains("403 Forbidden"), "{line}");
    for (place, words) in [
        ("s3://me:secret@bucket/x", "bazel-remote serves a bucket of S3"),
        ("dir,ftp://me:secret@host", "expected http://"),
        ("http://me:secret@host:port", "is not a valid address"),
    ] {
        let line = sandbox.bad(2, &["pack", "tree", "new", "--cache", place]);
        assert!(line.contains("--cache: ") && line.contains(words) && !line.contains("secret"), "{line}");
        let ran = Ran::of(sandbox.command(&["pack", "tree", "new"]).env("PACKLINE_CACHE", place));
        assert!(
            ran.status == 2 && ran.stderr.contains("PACKLINE_CACHE: ") && !ran.stderr.contains("secret"),
            "{ran:?}"
        );
    }
    assert!(!sandbox.at("new").exists());
}
