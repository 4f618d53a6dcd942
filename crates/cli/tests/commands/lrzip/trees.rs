//! Directories in .tar.lrz files are packed and unpacked like with Debian's lrztar, in one pass, and nothing is written outside.

use std::os::unix::fs::symlink;

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::snapshot::{Except, assert_same};
use packline_testkit::{Sandbox, generate, least_memory, needed_memory, tools};

use crate::sandbox;

/// Creates a sandbox with a directory `tree` that has every kind of entry and attribute that a tar can hold.
fn with_tree() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write_tar("source.tar", &generate::small_tree(5, 4096));
    untar(&sandbox, "source.tar", "tree");
    sandbox
}

/// Extracts with GNU tar.
fn untar(sandbox: &Sandbox, tar: &str, into: &str) {
    sandbox.create_dir(into);
    sandbox.peer("tar", &["-x", "-p", "--xattrs", "--xattrs-include=*", "-f", tar, "-C", into]);
}

fn assert_same_tree(sandbox: &Sandbox, what: &str, found: &str, except: Except) {
    assert_same(what, &sandbox.snapshot("tree"), &sandbox.snapshot(found), except);
}

#[test]
fn a_tree_comes_back_in_every_attribute() {
    if !tools::root() {
        return;
    }
    let sandbox = with_tree();
    sandbox.good(&["lrztar", "-q", "-l", "tree"]);
    sandbox.create_dir("out");
    sandbox.good(&["lrzuntar", "-O", "out", "tree.tar.lrz"]);
    assert_same_tree(&sandbox, "lrztar and lrzuntar", "out/tree", Except::default());
    assert!(sandbox.bad(1, &["lrzuntar", "-O", "out", "tree.tar.lrz"]).contains("--force"));
    sandbox.good(&["lrztar", "-d", "-f", "-O", "out", "tree.tar.lrz"]);
    assert_same_tree(&sandbox, "once more", "out/tree", Except::default());
    assert!(sandbox.bad(1, &["lrztar", "tree"]).contains("tree.tar.lrz"), "it is there");
}

#[test]
fn packline_packs_and_unpacks_the_same() {
    if !tools::root() {
        return;
    }
    let sandbox = with_tree();
    sandbox.good(&["pack", "-q", "-c", "gzip:level=3", "tree", "x.lrz"]);
    let words = ["pack", "-q", "-c", "gzip:level=3", "--format", "lrz", "tree", "-"];
    let streamed = sandbox.good(&words).stdout;
    assert!(streamed == sandbox.read("x.lrz") && !sandbox.at("-").exists());
    sandbox.good(&["unpack", "-q", "x.lrz", "out"]);
    assert_same_tree(&sandbox, "pack and unpack", "out", Except::default());
    sandbox.good(&["unpack", "-q", "x.lrz", "x.tar"]);
    untar(&sandbox, "x.tar", "by-tar");
    assert_same_tree(&sandbox, "by tar", "by-tar", Except::default());
    // A compressed tar is stored decompressed.
    sandbox.peer("gzip", &["-k", "x.tar"]);
    sandbox.good(&["pack", "-q", "-c", "none", "x.tar.gz", "y.lrz"]);
    let out = sandbox.good(&["unpack", "-q", "y.lrz", "-"]);
    assert!(out.stdout == sandbox.read("x.tar"));
    sandbox.bad(2, &["pack", "-b", "4K", "tree", "z.lrz"]);
    sandbox.bad(1, &["unpack", "y.lrz", "into", "etc"]);
    assert!(!sandbox.at("into").exists());
}

#[test]
fn exchanges_files_with_lrztar() {
    if !tools::root() || !tools::need(&["lrztar", "lrzuntar"]) {
        return;
    }
    let sandbox = with_tree();
    // lrztar runs tar without --xattrs.
    let without_xattrs = Except { xattrs: true, ..Except::default() };
    sandbox.peer("lrztar", &["-q", "-g", "tree"]);
    sandbox.create_dir("ours");
    sandbox.good(&["lrzuntar", "-O", "ours", "tree.tar.lrz"]);
    // lrztar's tar does not keep hard links of pipes either.
    assert_same_tree(&sandbox, "lrztar, then ours", "ours/tree", Except { links: true, ..without_xattrs });
    sandbox.good(&["lrztar", "-f", "-g", "tree"]);
    sandbox.create_dir("theirs");
    sandbox.peer("lrzuntar", &["-O", "theirs", "tree.tar.lrz"]);
    assert_same_tree(&sandbox, "ours, then lrzuntar", "theirs/tree", without_xattrs);
}

/// A .lrz file may be empty, a tar may not.
#[test]
fn rejects_empty_file_as_tar() {
    if !tools::root() {
        return;
    }
    let sandbox = with_tree();
    sandbox.write("empty.tar", "");
    sandbox.good(&["lrzip", "-q", "empty.tar"]);
    for words in [
        &["unpack", "empty.tar.lrz", "out"][..],
        &["unpack", "empty.tar.lrz", "out.tar"],
        &["lrzuntar", "empty.tar.lrz"],
    ] {
        let message = sandbox.bad(1, words);
        assert!(message.contains("empty.tar.lrz: is empty (expected a tar)"), "{message}");
        let made = ["out.tar", "out", "empty"].into_iter().find(|name| sandbox.at(name).exists());
        assert_eq!(made, None, "{words:?}");
    }
    sandbox.good(&["lrzip", "-q", "-d", "-f", "empty.tar.lrz"]);
    sandbox.bad(1, &["pack", "empty.tar", "again.lrz"]);
    assert!(!sandbox.at("again.lrz").exists());
}

#[test]
fn processors_change_no_byte() {
    if !tools::root() {
        return;
    }
    let sandbox = with_tree();
    let make = |jobs: &str| {
        sandbox.good(&["pack", "-f", "-q", "-j", jobs, "tree", "x.lrz"]);
        sandbox.read("x.lrz")
    };
    let expected = make("1");
    for jobs in ["0", "2", "7", "16"] {
        assert!(make(jobs) == expected, "{jobs} jobs");
    }
}

#[test]
fn writes_nothing_outside_destination() {
    if !tools::root() {
        return;
    }
    let sandbox = with_tree();
    sandbox.create_dir("outside");
    sandbox.create_dir("out");
    let link = |name: &str, target: &str| Node::new(name, NodeKind::Symlink(target.as_bytes().to_vec()));
    let nodes = [link("a", "../outside"), Node::file("a/stolen", "x")];
    sandbox.write_tar("bad.tar", &nodes);
    sandbox.good(&["pack", "-q", "-c", "none", "bad.tar", "bad.tar.lrz"]);
    let message = sandbox.bad(1, &["lrzuntar", "-O", "out", "bad.tar.lrz"]);
    assert!(message.contains("out/a"), "{message}");
    // The link may also exist before.
    symlink("../outside", sandbox.at("out/tree")).unwrap();
    sandbox.good(&["lrztar", "-q", "-n", "tree"]);
    sandbox.good(&["lrzuntar", "-f", "-O", "out", "tree.tar.lrz"]);
    assert_eq!(sandbox.names_in("outside").len(), 0);
    assert!(sandbox.at("out/tree").symlink_metadata().unwrap().is_dir(), "a directory of the tar replaces the link");
    // A directory that fails half way has no name.
    sandbox.bad(1, &["unpack", "-q", "bad.tar.lrz", "new"]);
    assert!(!sandbox.at("new").exists());
}

#[test]
fn an_output_in_its_own_directory_is_left_out() {
    if !tools::root() {
        return;
    }
    let sandbox = with_tree();
    sandbox.good(&["pack", "-q", "-c", "none", "tree", "tree/x.lrz"]);
    sandbox.good(&["pack", "-f", "-q", "-c", "none", "tree", "tree/x.lrz"]);
    let out = sandbox.good(&["unpack", "-q", "tree/x.lrz", "-"]);
    sandbox.write("x.tar", out.stdout);
    let names = sandbox.peer("tar", &["-t", "-f", "x.tar"]);
    assert!(!names.text().contains("x.lrz"));
}

#[test]
fn reports_sufficient_memory() {
    if !tools::root() {
        return;
    }
    let sandbox = with_tree();
    let pack = ["pack", "-f", "-q", "-c", "lzo", "tree", "x.lrz", "--mem"];
    let message = sandbox.bad(1, &[&pack[..], &["1M"]].concat());
    assert!(message.contains("1M of memory is too little") && message.contains("; give a larger --mem"), "{message}");
    let needed = needed_memory(&message);
    sandbox.good(&[&pack[..], &[needed]].concat());
}

/// The memory that the message names is sufficient, and one byte less than the exact need in the log is rejected. The sizes of zpaq's models, which need most of
/// it, are known only when their blocks are read: one block of each stream.
#[test]
fn unpacking_names_the_least_memory_that_works() {
    if !tools::root() {
        return;
    }
    let sandbox = with_tree();
    for (codec, tries) in [("lzma", 1), ("zpaq", 3)] {
        sandbox.good(&["pack", "-f", "-q", "-c", codec, "tree", "x.lrz"]);
        for to in ["x.tar", "dest"] {
            let unpack = |memory: &str| sandbox.run(&["unpack", "-q", "x.lrz", to, "--mem", memory, "--log", "debug"]);
            let mut tried = vec![1 << 20];
            let mut named = String::new();
            loop {
                let memory = tried[tried.len() - 1];
                let ran = unpack(&memory.to_string());
                if ran.status == 0 {
                    break;
                }
                let message = ran.stderr.lines().last().unwrap();
                assert!(
                    message.contains("x.lrz") && message.contains("; give a larger --mem"),
                    "{codec} {to}: {message}"
                );
                assert!(!sandbox.at(to).exists() && tried.len() <= tries, "{codec} {to}: {tried:?} {message}");
                needed_memory(message).clone_into(&mut named);
                tried.push(least_memory(&ran.stderr));
                assert!(tried[tried.len() - 1] > memory, "{codec} {to}: {tried:?}");
            }
            sandbox.remove(to);
            assert_eq!(unpack(&named).status, 0, "{codec} {to}: {named}");
            sandbox.remove(to);
            let less = (tried[tried.len() - 1] - 1).to_string();
            assert!(unpack(&less).status != 0 && !sandbox.at(to).exists(), "{codec} {to}: {tried:?}");
        }
    }
}

#[test]
fn any_source_becomes_a_lrz_file() {
    if !tools::root() || !tools::need(&["cpio"]) {
        return;
    }
    let sandbox = with_tree();
    sandbox.good(&["pack", "-q", "tree", "tree.sqfs"]);
    sandbox.good(&["pack", "-q", "tree", "tree.erofs"]);
    for image in ["tree.sqfs", "tree.erofs"] {
        sandbox.good(&["pack", "-qf", "-c", "gzip:level=1", image, "x.lrz"]);
        let serial = sandbox.read("x.lrz");
        sandbox.good(&["pack", "-qf", "-c", "gzip:level=1", image, "x.lrz", "--serial"]);
        assert!(sandbox.read("x.lrz") == serial, "{image}");
        sandbox.remove("out");
        sandbox.good(&["unpack", "-q", "x.lrz", "out"]);
        assert_same_tree(&sandbox, image, "out", Except::default());
    }
    sandbox.write("one/a", "a");
    sandbox.write("one/b", "b");
    sandbox.write("two/c", "c");
    sandbox.good(&["pack", "-q", "one", "one.sqfs"]);
    sandbox.good(&["pack", "-qf", "one.sqfs", "x.lrz", "-x", "b"]);
    assert_eq!(sandbox.good(&["list", "x.lrz"]).text(), ".\na\n");
    sandbox.good(&["pack", "-qf", "--overlay", "one", "two", "x.lrz"]);
    assert_eq!(sandbox.good(&["list", "x.lrz"]).text(), ".\na\nb\nc\n");
    for _ in 0..2 {
        sandbox.good(&["pack", "-qf", "--overlay", "one", "two", "two/x.lrz"]);
        assert_eq!(sandbox.good(&["list", "two/x.lrz"]).text(), ".\na\nb\nc\n", "the output is left out");
    }
    sandbox.remove("two/x.lrz");
    sandbox.good(&["pack", "-qf", "one/a", "two", "x.lrz"]);
    assert_eq!(sandbox.good(&["list", "x.lrz"]).text(), ".\na\ntwo\ntwo/c\n");
    let message = sandbox.bad(1, &["pack", "one.sqfs", "x.lrz"]);
    assert!(message.contains("x.lrz: already exists; --force replaces it"), "{message}");
    assert!(sandbox.bad(1, &["pack", "-f", "--format", "lrz", "one.sqfs", "one.sqfs"]).contains("one.sqfs"));
    assert_eq!(sandbox.shell("cd one && find . | cpio -o --quiet -H newc >../one.cpio").status, 0);
    let message = sandbox.bad(1, &["pack", "-f", "one.cpio", "x.lrz"]);
    assert!(
        message.contains("one.cpio, a cpio archive, is packed into a .lrz file (expected a tar of its entries)"),
        "{message}"
    );
}
