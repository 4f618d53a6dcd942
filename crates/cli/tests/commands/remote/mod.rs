//! Images and other files on a server: the outputs are those of local files, little is moved, and no message shows a secret.

mod cached;
mod real;

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use packline_testkit::http_files::{Fault, HttpFiles, Seen, Served};
use packline_testkit::model::Node;
use packline_testkit::snapshot::{self, Except};
use packline_testkit::{Ran, Random, Sandbox, Stopwatch, mount};

use crate::sandbox;

/// Directories with files of several blocks, with small ones, and with noise that makes the image large.
fn nodes(large: usize) -> Vec<Node> {
    let mut random = Random::new(46);
    let mut nodes = vec![Node::dir(""), Node::dir("usr"), Node::dir("usr/lib"), Node::dir("etc")];
    for file in 0..large {
        nodes.push(Node::file(format!("usr/lib/lib{file}.so"), random.noise(300_000 + file * 1_000)));
        nodes.push(Node::file(format!("etc/conf{file}"), random.prose(400 + file * 10)));
    }
    for directory in 0..30 {
        nodes.push(Node::dir(format!("usr/lib/{directory}")));
        for file in 0..60 {
            nodes.push(Node::file(format!("usr/lib/{directory}/{file}"), random.prose(1 + file)));
        }
    }
    nodes
}

/// Files in a sandbox, and the same files on a server.
struct Published {
    sandbox: Sandbox,
    server: HttpFiles,
}

impl Published {
    fn new(large: usize, packed: &[&str]) -> Published {
        let sandbox = sandbox();
        sandbox.plant("tree", &nodes(large));
        let server = HttpFiles::start().unwrap();
        for name in packed {
            sandbox.good(&["pack", "-q", "tree", name]);
            server.serve(&format!("/dir/{name}"), sandbox.read(name));
        }
        Published { sandbox, server }
    }

    fn url(&self, name: &str) -> String {
        self.server.url(&format!("/dir/{name}"))
    }

    /// Runs a command with the address of a file for `@`. Returns its output, and what was requested.
    fn requested(&self, name: &str, command: &str) -> (Vec<u8>, Vec<Seen>, u64) {
        self.server.take_seen();
        let ran = self.sandbox.good(&words(command, &self.url(name)));
        let (seen, bytes) = self.server.take_seen();
        (ran.stdout, seen, bytes)
    }
}

fn words(command: &str, place: &str) -> Vec<String> {
    command.split(' ').map(|word| if word == "@" { place.to_string() } else { word.to_string() }).collect()
}

const IMAGES: [&str; 2] = ["root.sqfs", "root.erofs"];

#[test]
fn each_command_prints_what_it_prints_for_a_file() {
    let published = Published::new(24, &IMAGES);
    let sandbox = &published.sandbox;
    for name in IMAGES {
        for command in [
            "list -l @",
            "list --json @ etc",
            "cat @ etc/conf3 usr/lib/lib7.so",
            "cat --range 1000..5000 @ usr/lib/lib7.so",
            "info --json @",
            "verify --notes -q @",
            "diff @ tree",
        ] {
            let expected = sandbox.good(&words(command, name)).stdout;
            let found = published.requested(name, command).0;
            let named = |text: &[u8], name: &str| String::from_utf8_lossy(text).replace(name, "NAME");
            let is_same = found == expected || named(&found, &published.url(name)) == named(&expected, name);
            assert!(is_same, "{name}: {command}: {}", String::from_utf8_lossy(&found[..found.len().min(2000)]));
        }
        for workers in ["0", "1", "4"] {
            let url = published.url(name);
            sandbox.good(&["unpack", "-q", "-j", workers, &url, "out"]);
            snapshot::assert_same(name, &sandbox.snapshot("tree"), &sandbox.snapshot("out"), Except::default());
            sandbox.remove("out");
            sandbox.good(&["unpack", "-q", "-j", workers, name, "file.tar"]);
            sandbox.good(&["unpack", "-q", "-j", workers, &url, "url.tar"]);
            assert!(sandbox.read("file.tar") == sandbox.read("url.tar"), "{name}, {workers} workers");
            sandbox.good(&["pack", "-q", "-j", workers, name, "file.sqfs", "-c", "lz4"]);
            sandbox.good(&["pack", "-q", "-j", workers, &url, "url.sqfs", "-c", "lz4"]);
            assert!(sandbox.read("file.sqfs") == sandbox.read("url.sqfs"), "{name}, {workers} workers");
            ["file.tar", "url.tar", "file.sqfs", "url.sqfs"].iter().for_each(|name| sandbox.remove(name));
        }
    }
    sandbox.good(&["diff", &published.url("root.sqfs"), &published.url("root.erofs")]);
    sandbox.good(&["unpack", "-q", "--mem", "60M", &published.url("root.sqfs")]);
    snapshot::assert_same("root", &sandbox.snapshot("tree"), &sandbox.snapshot("root"), Except::default());
}

#[test]
fn other_containers_are_read_too() {
    let published = Published::new(3, &["root.lrz"]);
    let sandbox = &published.sandbox;
    let server = &published.server;
    sandbox.good(&["pack", "-q", "tree", "root.sqfs"]);
    for name in ["root.tar", "root.tar.zst"] {
        sandbox.good(&["unpack", "-q", "root.sqfs", name]);
    }
    sandbox.good(&["compress", "-q", "-k", "root.sqfs"]);
    let numbers = Random::new(5).noise(3_000_000);
    sandbox.write("numbers", &numbers);
    sandbox.good(&["compress", "-q", "numbers"]);
    for name in ["root.tar", "root.tar.zst", "root.sqfs.pln", "numbers.pln"] {
        server.serve(&format!("/dir/{name}"), sandbox.read(name));
    }
    for name in ["root.tar", "root.tar.zst", "root.lrz", "root.sqfs.pln"] {
        for command in ["list @", "cat @ etc/conf1", "verify -q @"] {
            let expected = sandbox.good(&words(command, name)).stdout;
            assert!(published.requested(name, command).0 == expected, "{name}: {command}");
        }
    }
    for (name, command) in [("root.tar", "pack -q @ new.sqfs"), ("root.tar.zst", "pack -q @ new.sqfs")] {
        sandbox.good(&words(command, name));
        let expected = sandbox.read("new.sqfs");
        sandbox.remove("new.sqfs");
        published.requested(name, command);
        assert!(sandbox.read("new.sqfs") == expected, "{name}");
        sandbox.remove("new.sqfs");
    }
    sandbox.good(&["unpack", "-q", &published.url("root.lrz"), "from-lrz"]);
    snapshot::assert_same("root.lrz", &sandbox.snapshot("tree"), &sandbox.snapshot("from-lrz"), Except::default());
    let (part, _, bytes) = published.requested("numbers.pln", "cat --range 2000000..2000100 @");
    assert!(part == numbers[2_000_000..2_000_100] && bytes < sandbox.read("numbers.pln").len() as u64);
}

#[test]
fn few_bytes_are_requested() {
    let published = Published::new(24, &IMAGES);
    for name in IMAGES {
        let size = published.sandbox.read(name).len() as u64;
        assert!(size > 7_000_000);
        let (_, list, list_bytes) = published.requested(name, "list -l @");
        let (_, cat, cat_bytes) = published.requested(name, "cat @ etc/conf3");
        let (_, unpack, unpack_bytes) = published.requested(name, "unpack -q @ some --subdir etc");
        let counts = BTreeMap::from([
            ("list", (list.len(), list_bytes)),
            ("cat", (cat.len(), cat_bytes)),
            ("unpack", (unpack.len(), unpack_bytes)),
        ]);
        println!("{name}, {size} bytes: {counts:?}");
        assert!(list.len() <= 20 && list_bytes < 300_000, "{name}: {counts:?}");
        assert!(cat.len() <= 20 && cat_bytes < 300_000, "{name}: {counts:?}");
        assert!(unpack.len() <= 30 && unpack_bytes < 600_000, "{name}: {counts:?}");
        published.sandbox.remove("some");
        // No byte is requested twice, and not many bytes at a time are.
        let (_, all, bytes) = published.requested(name, "unpack -q @ all");
        assert!(
            bytes <= size && all.len() as u64 <= 20 + size / 200_000,
            "{name}: {} requests, {bytes} bytes",
            all.len()
        );
        published.sandbox.remove("all");
    }
}

#[test]
fn eight_readers_share_a_mount() {
    if !mount::fuse_available() {
        return;
    }
    let published = Published::new(24, &IMAGES[..1]);
    let on = published.sandbox.create_dir("on");
    let ran = published.sandbox.good(&["mount", &published.url("root.sqfs"), "on"]);
    assert!(ran.stdout.is_empty() && ran.stderr.is_empty(), "{ran:?}");
    let expected = Arc::new(published.sandbox.snapshot("tree"));
    thread::scope(|scope| {
        for _ in 0..8 {
            let read =
                || snapshot::assert_same("mount", &expected, &snapshot::of_directory(&on).unwrap(), Except::default());
            thread::Builder::new().spawn_scoped(scope, read).unwrap();
        }
    });
    published.sandbox.good(&["umount", "on"]);
    let (seen, bytes) = published.server.take_seen();
    assert!(bytes < 2 * published.sandbox.read("root.sqfs").len() as u64, "{} requests, {bytes} bytes", seen.len());
}

#[test]
fn no_message_shows_a_secret() {
    let published = Published::new(3, &[]);
    let sandbox = &published.sandbox;
    let server = &published.server;
    sandbox.create_dir("on");
    sandbox.good(&["pack", "-q", "tree", "root.sqfs"]);
    let image = sandbox.read("root.sqfs");
    server.serve("/root.sqfs", image.clone());
    server.serve("/text", *b"what is this, and who would pack it?");
    let url = |path: &str| format!("http://me:hidden1@{}{path}?X-Amz-Signature=hidden2/a", server.address());
    let mut damaged = image.clone();
    damaged[200..100_000].fill(7);
    server.serve("/damaged.sqfs", damaged);
    for command in
        ["list @", "cat @ x", "info @", "verify @", "unpack @ out", "diff @ tree", "pack @ new.sqfs", "mount @ on"]
    {
        for path in ["/missing.sqfs", "/text", "/damaged.sqfs"] {
            if command.starts_with("mount") && path == "/damaged.sqfs" {
                continue;
            }
            let ran = sandbox.run(&words(command, &url(path)));
            let shown = format!("{}{}", ran.text(), ran.stderr);
            assert!(!shown.contains("hidden"), "{command}: {shown}");
            assert!(!shown.contains("panicked"), "{command}: {shown}");
        }
        assert!(
            sandbox
                .run(&words(command, &url("/missing.sqfs")))
                .stderr
                .contains("/missing.sqfs: cannot open: the server answers 404")
        );
    }
    // The name of a new directory has no query either.
    sandbox.good(&["unpack", "-q", &url("/root.sqfs")]);
    snapshot::assert_same("root", &sandbox.snapshot("tree"), &sandbox.snapshot("root"), Except::default());
}

#[test]
fn passwords_come_from_netrc_and_proxies_from_the_environment() {
    let published = Published::new(24, &IMAGES[..1]);
    let sandbox = &published.sandbox;
    let server = &published.server;
    server.set_authorization("Basic bWU6c2VjcmV0");
    let url = published.url("root.sqfs");
    assert!(sandbox.bad(1, &["list", &url]).contains("401"));
    sandbox.write(".netrc", "machine 127.0.0.1 login me password secret\n");
    let run = |variables: &[(&str, &str)]| {
        let mut command = sandbox.command(&["list", &url, "etc/conf1"]);
        command.envs(variables.iter().copied()).stdin(Stdio::null());
        Ran::of(&mut command)
    };
    let netrc = sandbox.arg(".netrc");
    let home = sandbox.path().to_str().unwrap();
    assert_eq!(run(&[("NETRC", &netrc)]).text(), "etc/conf1\n");
    assert_eq!(run(&[("HOME", home), ("NETRC", "")]).text(), "etc/conf1\n");
    let refused = [("NETRC", &*netrc), ("http_proxy", "http://127.0.0.1:1")];
    assert!(run(&refused).stderr.contains("the connection to the server failed"));
    assert_eq!(run(&[refused[0], refused[1], ("no_proxy", "127.0.0.1")]).text(), "etc/conf1\n");
}

#[test]
fn a_faulty_server_is_an_error_and_leaves_nothing() {
    let published = Published::new(24, &IMAGES[..1]);
    let sandbox = &published.sandbox;
    let server = &published.server;
    let url = published.url("root.sqfs");
    let other =
        Served { bytes: Arc::new(sandbox.read("root.sqfs")), etag: Some("\"new\"".to_string()), modified: None };
    server.change_after(6, "/dir/root.sqfs", other);
    let error = sandbox.bad(1, &["unpack", "-q", &url, "out"]);
    assert!(error.contains("the file changed on the server while it was read"), "{error}");
    assert!(!sandbox.at("out").exists());
    for (fault, expected) in [
        (Fault::LaterRange(4096), "the server sent another part of the file"),
        (Fault::Whole, "the server does not support range requests; download the file, or pipe it to the command"),
        (Fault::Status(404, String::new()), "the server answers 404"),
    ] {
        let stopwatch = Stopwatch::start();
        server.set_fault(fault, 3, u64::MAX);
        let error = sandbox.bad(1, &["unpack", "-q", &url, "out"]);
        assert!(error.contains(expected), "{error}");
        assert!(stopwatch.elapsed() < Duration::from_secs(60) && !sandbox.at("out").exists());
    }
    server.set_fault(Fault::Cut(70_000), 0, 5);
    sandbox.good(&["unpack", "-q", &url, "out"]);
    snapshot::assert_same("cut", &sandbox.snapshot("tree"), &sandbox.snapshot("out"), Except::default());
}
