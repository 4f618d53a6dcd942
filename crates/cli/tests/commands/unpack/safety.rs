//! Unpacking follows no planted links, leaves no partial output, and reports every error.

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::snapshot::{self, Except, assert_same};
use packline_testkit::{Ran, Sandbox, generate, needed_memory, signal, tools};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{PACKLINE, sandbox};

/// A sandbox with a tree as `image.sqfs`.
fn with_image(nodes: &[Node], codec: &str) -> Sandbox {
    let sandbox = sandbox();
    sandbox.write_tar("source.tar", nodes);
    sandbox.good(&["pack", "source.tar", "image.sqfs", "-f", "-b", "4K", "-c", codec]);
    sandbox
}

fn unpack(sandbox: &Sandbox, into: &str, options: &[&str]) -> Ran {
    sandbox.run(&[&["unpack", "-q", "-j", "2", "image.sqfs", into], options].concat())
}

fn sample() -> Vec<Node> {
    let bytes: Vec<u8> = (0..40_000u32).flat_map(|number| number.to_be_bytes()).collect();
    vec![
        Node::dir("").mode(0o755),
        Node::dir("dir"),
        Node::file("dir/big", bytes),
        Node::file("dir/empty", ""),
        Node::file("dir/small", "small"),
        Node::new("dir/zlink", NodeKind::HardLink(b"dir/small".to_vec())),
        Node::new("fifo", NodeKind::Fifo),
        Node::new("sym", NodeKind::Symlink(b"dir".to_vec())),
    ]
}

#[test]
fn a_destination_that_is_not_empty_is_refused() {
    let sandbox = with_image(&sample(), "lz4");
    sandbox.write("out/mine", "mine");
    let refused = unpack(&sandbox, "out", &[]);
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("is not empty") && refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_eq!(sandbox.names_in("out"), ["mine"]);
    let file = unpack(&sandbox, "out/mine", &["--force"]);
    assert!(file.status == 1 && file.stderr.contains("is not a directory"), "{}", file.stderr);
}

#[test]
fn a_destination_that_is_an_entry_of_the_image_is_refused() {
    let sandbox = with_image(&sample(), "lz4");
    let (patterns, force) = (["dir/big"], ["-f"]);
    let refuse = |into: &str, options: &[&str]| {
        let refused = unpack(&sandbox, into, options);
        let hint = format!(
            "{into} is an entry of the image, not a destination; packline unpack image.sqfs DIR {into} unpacks it; write \
             ./{into} for a directory of this name"
        );
        assert_eq!((refused.status, refused.stderr), (2, format!("packline: {hint}\n")), "{into}");
        let left = if into == "dir" { sandbox.at("dir/dir") } else { sandbox.at(into) };
        assert!(!left.exists(), "{into}");
    };
    refuse("dir", &[]);
    sandbox.create_dir("dir");
    let cases: [(_, &[&str]); 6] =
        [("dir", &[]), ("dir", &force), ("dir/small", &[]), ("dir/small", &patterns), ("fifo", &[]), ("sym", &[])];
    for (into, options) in cases {
        refuse(into, options);
    }
    let ran = unpack(&sandbox, "./dir/small", &[]);
    assert_eq!((ran.status, ran.stderr), (0, String::new()));
    assert!(sandbox.at("dir/small/dir/big").is_file());
    let meant: [(&str, &[&str]); 4] = [("./dir", &["-f"]), ("sym/", &[]), ("fifo", &["--subdir", "dir"]), ("new", &[])];
    for (into, options) in meant {
        let ran = unpack(&sandbox, into, options);
        assert_eq!((ran.status, ran.stderr), (0, String::new()), "{into}");
    }
}

/// Plants links and other entries in a destination; the second path is their target.
type Plant = fn(&Path, &Path);

#[test]
fn planted_links_are_not_followed() {
    if !tools::root() {
        return;
    }
    let sandbox = with_image(&sample(), "lz4");
    let plants: [(&str, Plant); 9] = [
        ("a link where a directory belongs", |into, outside| symlink(outside, into.join("dir")).unwrap()),
        ("a file where a directory belongs", |into, _| fs::write(into.join("dir"), "old").unwrap()),
        ("links where files belong", |into, outside| {
            fs::create_dir(into.join("dir")).unwrap();
            for name in ["big", "empty", "small", "zlink"] {
                symlink(outside.join("secret"), into.join("dir").join(name)).unwrap();
            }
        }),
        ("hard links where files belong", |into, outside| {
            fs::create_dir(into.join("dir")).unwrap();
            for name in ["big", "empty", "small", "zlink"] {
                fs::hard_link(outside.join("secret"), into.join("dir").join(name)).unwrap();
            }
        }),
        ("pipes where files belong", |into, _| {
            fs::create_dir(into.join("dir")).unwrap();
            tools::run(Command::new("mkfifo").arg(into.join("dir/big")).arg(into.join("dir/small"))).unwrap();
        }),
        ("links where a pipe and a link belong", |into, outside| {
            symlink(outside.join("secret"), into.join("fifo")).unwrap();
            symlink(outside.join("secret"), into.join("sym")).unwrap();
        }),
        ("links where temporary files would be", |into, outside| {
            fs::create_dir(into.join(".packline-partial")).unwrap();
            for name in ["0-0", "0-1", "0-2", "w1", "w2", "w3"] {
                symlink(outside.join("secret"), into.join(".packline-partial").join(name)).unwrap();
            }
        }),
        ("the tree itself, read-only", |into, _| {
            fs::create_dir(into.join("dir")).unwrap();
            fs::write(into.join("dir/big"), "old").unwrap();
            tools::run(Command::new("chmod").args(["-R", "a-w"]).arg(into.join("dir"))).unwrap();
        }),
        ("nothing", |_, _| {}),
    ];
    for (what, plant) in plants {
        sandbox.write("outside/secret", "secret");
        let before = sandbox.snapshot("outside");
        plant(&sandbox.create_dir("out"), &sandbox.at("outside"));
        let ran = unpack(&sandbox, "out", &["--force"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{what}");
        let except = Except { links: true, ..Except::default() };
        assert_same(what, &before, &sandbox.snapshot("outside"), except);
        assert_same(what, &snapshot::of_model(&sample(), true), &sandbox.snapshot("out"), Except::default());
        ["out", "outside"].iter().for_each(|name| sandbox.remove(name));
    }
}

#[test]
fn a_directory_is_not_replaced_by_a_file() {
    let nodes = [Node::dir(""), Node::file("a", "a"), Node::file("b", "b"), Node::file("c", "c")];
    let sandbox = with_image(&nodes, "lz4");
    sandbox.create_dir("out/b/kept");
    let refused = unpack(&sandbox, "out", &["--force"]);
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("out/b: ") && refused.stderr.contains("directory"), "{}", refused.stderr);
    let continued = unpack(&sandbox, "out", &["--force", "--continue"]);
    assert_eq!((continued.status, continued.stderr.lines().count()), (3, 1), "{}", continued.stderr);
    assert!(sandbox.at("out/b/kept").is_dir());
    assert_eq!(sandbox.read("out/c"), b"c");
    assert_eq!(sandbox.names_in("out"), ["a", "b", "c"]);
}

#[test]
fn other_entries_of_the_destination_stay() {
    if !tools::root() {
        return;
    }
    let sandbox = with_image(&sample(), "lz4");
    sandbox.create_dir("out/dir/more");
    sandbox.write("out/dir/other", "other");
    sandbox.write("out/dir/small", "old, and longer");
    for _ in 0..2 {
        assert_eq!(unpack(&sandbox, "out", &["-f"]).status, 0);
        let mut found = sandbox.snapshot("out");
        assert!(found.remove(&b"dir/more"[..]).is_some());
        assert!(found.remove(&b"dir/other"[..]).is_some());
        assert_same("merged", &snapshot::of_model(&sample(), true), &found, Except::default());
    }
}

/// Creates an image in which two bytes of the first data block are wrong.
fn damaged() -> (Sandbox, Vec<Node>) {
    let mut nodes = vec![Node::dir("").mode(0o755)];
    for name in ["a", "b", "c"] {
        let bytes: Vec<u8> = (0..30_000u32).map(|at| (at / 7) as u8 ^ name.as_bytes()[0]).collect();
        nodes.push(Node::file(name, bytes));
    }
    let sandbox = with_image(&nodes, "gzip");
    let mut bytes = sandbox.read("image.sqfs");
    // The first data block is a's; the adler32 at its end no longer fits.
    bytes[100] ^= 0x55;
    bytes[101] ^= 0x55;
    sandbox.write("image.sqfs", bytes);
    (sandbox, nodes)
}

#[test]
fn damage_is_an_error_and_with_continue_all_else_is_there() {
    let (sandbox, nodes) = damaged();
    let before = sandbox.names();
    let failed = unpack(&sandbox, "out", &[]);
    assert_eq!(failed.status, 1);
    assert!(failed.stderr.contains("image.sqfs: a: ") && failed.stderr.contains("at byte"), "{}", failed.stderr);
    assert_eq!(sandbox.names(), before, "nothing is left of it");
    let continued = unpack(&sandbox, "out", &["--continue"]);
    assert_eq!((continued.status, continued.stderr.lines().count()), (3, 1), "{}", continued.stderr);
    let expected = snapshot::of_model(&nodes, true);
    let found = sandbox.snapshot("out");
    for name in ["b", "c"] {
        assert_eq!(found[name.as_bytes()].kind, expected[name.as_bytes()].kind);
    }
    let a = sandbox.read("out/a");
    assert!(a.len() == 30_000 && a[..4096] == [0; 4096] && a[4096..].iter().any(|byte| *byte != 0));
    assert_eq!(sandbox.names().len(), before.len() + 1);
}

#[test]
fn the_error_is_the_same_whatever_the_workers() {
    let (sandbox, _) = damaged();
    let mut bytes = sandbox.read("image.sqfs");
    for at in (0..1200).step_by(61) {
        bytes[150 + at] ^= 0xff;
    }
    sandbox.write("image.sqfs", bytes);
    let stderr = |jobs: &str| sandbox.run(&["unpack", "-q", "-j", jobs, "image.sqfs", "out"]).stderr;
    for jobs in ["0", "1", "5"] {
        assert_eq!(stderr(jobs), stderr("2"), "{jobs} workers");
    }
}

#[test]
fn a_second_run_succeeds_after_a_kill_and_a_signal_leaves_nothing() {
    if !tools::root() {
        return;
    }
    let sandbox = Sandbox::in_memory(PACKLINE);
    let nodes = generate::without_privileges(generate::small_tree(31, 65_536), 0, 0);
    sandbox.write_tar("source.tar", &nodes);
    sandbox.good(&["pack", "source.tar", "image.sqfs", "-b", "4K", "-c", "xz"]);
    let expected = snapshot::of_model(&nodes, false);
    let except = Except { root: true, ..Except::default() };
    for (signal, there) in [("KILL", false), ("KILL", true), ("TERM", false), ("INT", true)] {
        let into = sandbox.at("out");
        if there {
            sandbox.create_dir("out");
        }
        for pause in [0u64, 2, 5, 9, 14] {
            let mut command = sandbox.command(&["unpack", "-q", "-j", "1", "image.sqfs", "out"]);
            let mut child = command.stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(pause));
            signal::send(signal, child.id()).unwrap();
            let status = child.wait().unwrap();
            // Under a final name there is nothing, or all of it.
            if status.success() {
                assert_same(signal, &expected, &sandbox.snapshot("out"), except);
                sandbox.remove("out");
            } else if !there {
                assert!(!into.exists(), "{signal} after {pause} ms");
            }
            if there {
                sandbox.create_dir("out");
            }
            if signal != "KILL" {
                let partial = |directory: &str| sandbox.names_in(directory).iter().any(|name| name.contains("partial"));
                let left = partial("") || (there && partial("out"));
                assert!(!left, "{signal} after {pause} ms");
            }
            if there && signal != "KILL" {
                sandbox.remove("out");
                sandbox.create_dir("out");
            }
        }
        assert_eq!(unpack(&sandbox, "out", &[]).status, 0, "{signal}");
        assert_same(signal, &expected, &sandbox.snapshot("out"), except);
        sandbox.remove("out");
        assert_eq!(sandbox.names().len(), 2, "{signal}");
    }
}

#[test]
fn too_little_memory_is_reported_and_enough_is_enough() {
    let sandbox = with_image(&sample(), "lz4");
    let refused = unpack(&sandbox, "out", &["--mem", "1M"]);
    let message = refused.stderr;
    assert!(refused.status == 1 && message.contains("; give a larger --mem"), "{message}");
    let needed = needed_memory(&message);
    assert_eq!(unpack(&sandbox, "out", &["--mem", needed]).status, 0, "{message}");
}
