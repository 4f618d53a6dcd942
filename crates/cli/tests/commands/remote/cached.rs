//! Parts of files on servers that are kept between runs.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use packline_testkit::http_files::Served;
use packline_testkit::snapshot::{self, Except};
use packline_testkit::{Ran, Sandbox, mount};

use super::{IMAGES, Published, nodes};

/// The bytes of the first request of each run, which tells the version of the file.
const FIRST: u64 = 8 << 10;

#[test]
fn a_cache_keeps_what_was_read_for_later_runs() {
    let published = Published::new(12, &IMAGES);
    let sandbox = &published.sandbox;
    for name in IMAGES {
        // Without workers, which may read in another order.
        for command in [
            "list -l @",
            "cat -j 0 @ etc/conf3 usr/lib/lib7.so",
            "info --json @",
            "du --json @",
            "verify -q -j 0 @",
            "diff -j 0 @ tree",
            "unpack -q -f -j 0 @ all",
            "pack -q -f -j 0 @ new.sqfs",
        ] {
            let (expected, ..) = published.requested(name, command);
            let cached = format!("{command} --cache cache");
            let first = published.requested(name, &cached);
            let again = published.requested(name, &cached);
            assert!(first.0 == expected && again.0 == expected, "{name}: {command}");
            assert!(again.1.len() == 1 && again.2 == FIRST, "{name}: {command}: {:?}, {} bytes", again.1, again.2);
        }
        snapshot::assert_same(name, &sandbox.snapshot("tree"), &sandbox.snapshot("all"), Except::default());
        sandbox.remove("all");
        // Without the cache, everything is requested.
        assert!(published.requested(name, "verify -q @ --no-cache").2 > 1_000_000);
        // Two processes fill one cache.
        sandbox.remove("cache");
        let url = published.url(name);
        let running = ["one", "two"].map(|to| {
            sandbox.command(&["unpack", "-q", &url, to, "--cache", "cache"]).stdin(Stdio::null()).spawn().unwrap()
        });
        for (to, mut process) in ["one", "two"].into_iter().zip(running) {
            assert!(process.wait().unwrap().success());
            snapshot::assert_same(to, &sandbox.snapshot("tree"), &sandbox.snapshot(to), Except::default());
            sandbox.remove(to);
        }
        let verify = || published.requested(name, "verify -q -j 0 @ --cache cache").2;
        assert!(verify() < 1_000_000);
        assert_eq!(verify(), FIRST);
    }
}

/// The files of a cache.
fn entries(sandbox: &Sandbox) -> Vec<PathBuf> {
    let below = sandbox.names_in("cache/v1").into_iter().map(|name| sandbox.at("cache/v1").join(name));
    let files = below.filter(|path| path.is_dir()).flat_map(|path| fs::read_dir(path).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn a_cache_trusts_neither_damage_nor_an_old_version() {
    let published = Published::new(3, &IMAGES[..1]);
    let sandbox = &published.sandbox;
    let secret = format!("http://me:hidden1@{}/dir/root.sqfs?X-Amz-Signature=hidden2", published.server.address());
    published.server.set_authorization("Basic bWU6aGlkZGVuMQ==");
    let verify = || sandbox.good(&["verify", "-q", "-j", "0", &secret, "--cache", "cache"]);
    verify();
    let files = entries(sandbox);
    assert!(files.len() >= 4, "{files:?}");
    for path in &files {
        let bytes = fs::read(path).unwrap();
        for word in ["hidden1", "hidden2", "aGlkZGVu", "127.0.0.1"] {
            assert!(!bytes.windows(word.len()).any(|found| found == word.as_bytes()), "{word}");
        }
    }
    // Each kind of damage is found, and what is missing is requested again.
    let changes: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.clear(),
        |bytes| bytes.push(0),
        |bytes| *bytes.last_mut().unwrap() ^= 1,
    ];
    for change in changes {
        for path in entries(sandbox) {
            let mut bytes = fs::read(&path).unwrap();
            change(&mut bytes);
            fs::write(&path, bytes).unwrap();
        }
        for moved in [100_000..u64::MAX, FIRST..FIRST + 1] {
            published.server.take_seen();
            verify();
            let (_, bytes) = published.server.take_seen();
            assert!(moved.contains(&bytes), "{bytes} bytes");
        }
    }
    // Another image of the same size has another validator.
    sandbox.remove("tree");
    sandbox.plant("tree", &nodes(4));
    sandbox.good(&["pack", "-q", "-f", "tree", "root.sqfs"]);
    let other =
        Served { bytes: Arc::new(sandbox.read("root.sqfs")), etag: Some("\"new\"".to_string()), modified: None };
    published.server.serve_as("/dir/root.sqfs", other);
    for _ in 0..2 {
        sandbox.good(&["diff", &secret, "root.sqfs", "--cache", "cache"]);
    }
    assert!(sandbox.good(&["cache", "info", "--cache", "cache"]).text().contains("of 5.0 GiB"));
    sandbox.good(&["cache", "trim", "--cache", "cache", "--cache-size", "1M"]);
    let bytes: u64 = entries(sandbox).iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!(bytes <= 1 << 20, "{bytes}");
}

#[test]
fn a_cache_is_for_servers_only() {
    let published = Published::new(2, &IMAGES[..1]);
    let sandbox = &published.sandbox;
    let url = published.url("root.sqfs");
    for words in [
        "list root.sqfs --cache cache",
        "cat root.sqfs etc/conf1 --no-cache",
        "info root.sqfs --cache cache",
        "du root.sqfs --cache-size 1G",
        "diff root.sqfs tree --cache cache",
        "verify root.sqfs --cache cache",
        "unpack root.sqfs out --cache cache",
    ] {
        let line = sandbox.bad(2, &words.split(' ').collect::<Vec<_>>());
        assert!(line.contains("works only with a file on a server or an image in a registry"), "{line}");
    }
    let line = sandbox.bad(2, &["list", &url, "--cache", "http://127.0.0.1:1"]);
    assert!(line.contains("--cache: a server keeps only compressed blocks (expected a directory)"), "{line}");
    sandbox.write("full/file", "x");
    assert!(sandbox.refused(&["list", &url, "--cache", "full"]).contains("full"));
    // The variable is ignored where it cannot be used.
    let run = |words: &[&str], place: &str| Ran::good(sandbox.command(words).env("PACKLINE_CACHE", place)).text();
    assert_eq!(run(&["list", "root.sqfs", "etc/conf1"], "full"), "etc/conf1\n");
    assert_eq!(run(&["list", &url, "etc/conf1"], "http://127.0.0.1:1"), "etc/conf1\n");
    assert_eq!(run(&["list", &url, "etc/conf1"], &sandbox.arg("cache")), "etc/conf1\n");
    published.server.take_seen();
    assert_eq!(run(&["list", &url, "etc/conf1"], &sandbox.arg("cache")), "etc/conf1\n");
    assert_eq!(published.server.take_seen().1, FIRST);
}

#[test]
fn a_mount_fills_the_cache() {
    if !mount::fuse_available() {
        return;
    }
    let published = Published::new(6, &IMAGES[..1]);
    let on = published.sandbox.create_dir("on");
    for moved in [1_000_000..u64::MAX, 0..300_000] {
        published.server.take_seen();
        published.sandbox.good(&["mount", &published.url("root.sqfs"), "on", "--cache", "cache"]);
        let read = snapshot::of_directory(&on).unwrap();
        snapshot::assert_same("mount", &published.sandbox.snapshot("tree"), &read, Except::default());
        published.sandbox.good(&["umount", "on"]);
        let (_, bytes) = published.server.take_seen();
        assert!(moved.contains(&bytes), "{bytes} bytes");
    }
}
