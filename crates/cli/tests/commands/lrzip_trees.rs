//! Directories in .tar.lrz files: packed and unpacked as Debian's lrztar does, in one pass, and nothing made outside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::snapshot::{self, Except, assert_same};
use packline_testkit::{generate, tar, tools};

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");

struct Place {
    top: tempfile::TempDir,
}

impl Place {
    /// With a directory `tree` that has everything a tar can hold.
    fn new() -> Place {
        let top = tempfile::tempdir().unwrap();
        let place = Place { top };
        fs::write(place.at("source.tar"), tar::to_bytes(&generate::small_tree(5, 4096))).unwrap();
        fs::create_dir(place.at("tree")).unwrap();
        place.run("tar", &["-x", "-p", "--xattrs", "--xattrs-include=*", "-f", "source.tar", "-C", "tree"]);
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.top.path()).env("LRZIP", "NOCONFIG");
        command
    }

    fn run(&self, program: &str, words: &[&str]) {
        tools::run(&mut self.command(program, words)).unwrap();
    }

    fn fails(&self, words: &[&str]) -> String {
        let output = self.command(PACKLINE, words).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn same(&self, what: &str, found: &str, except: Except) {
        let (expected, found) = (self.at("tree"), self.at(found));
        let snapshot = |path: &Path| snapshot::of_directory(path).unwrap();
        assert_same(what, &snapshot(&expected), &snapshot(&found), except);
    }
}

#[test]
fn a_tree_comes_back_in_every_attribute() {
    if !tools::root() {
        return;
    }
    let place = Place::new();
    place.run(PACKLINE, &["lrztar", "-q", "-l", "tree"]);
    fs::create_dir(place.at("out")).unwrap();
    place.run(PACKLINE, &["lrzuntar", "-O", "out", "tree.tar.lrz"]);
    place.same("lrztar and lrzuntar", "out/tree", Except::default());
    assert!(place.fails(&["lrzuntar", "-O", "out", "tree.tar.lrz"]).contains("--force"));
    place.run(PACKLINE, &["lrztar", "-d", "-f", "-O", "out", "tree.tar.lrz"]);
    place.same("once more", "out/tree", Except::default());
    assert!(place.fails(&["lrztar", "tree"]).contains("tree.tar.lrz"), "it is there");
}

#[test]
fn packline_packs_and_unpacks_the_same() {
    if !tools::root() {
        return;
    }
    let place = Place::new();
    place.run(PACKLINE, &["pack", "-q", "-c", "gzip:level=3", "tree", "x.lrz"]);
    let words = ["pack", "-q", "-c", "gzip:level=3", "--format", "lrz", "tree", "-"];
    let streamed = tools::run(&mut place.command(PACKLINE, &words)).unwrap().stdout;
    assert!(streamed == fs::read(place.at("x.lrz")).unwrap() && !place.at("-").exists());
    place.run(PACKLINE, &["unpack", "-q", "x.lrz", "out"]);
    place.same("pack and unpack", "out", Except::default());
    place.run(PACKLINE, &["unpack", "-q", "x.lrz", "x.tar"]);
    fs::create_dir(place.at("by-tar")).unwrap();
    place.run("tar", &["-x", "-p", "--xattrs", "--xattrs-include=*", "-f", "x.tar", "-C", "by-tar"]);
    place.same("by tar", "by-tar", Except::default());
    // A tar goes in as it is, without what it was compressed with.
    place.run("gzip", &["-k", "x.tar"]);
    place.run(PACKLINE, &["pack", "-q", "-c", "none", "x.tar.gz", "y.lrz"]);
    let out = tools::run(&mut place.command(PACKLINE, &["unpack", "-q", "y.lrz", "-"])).unwrap();
    assert!(out.stdout == fs::read(place.at("x.tar")).unwrap());
    let refused = place.command(PACKLINE, &["pack", "-b", "4K", "tree", "z.lrz"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let refused = place.command(PACKLINE, &["unpack", "y.lrz", "into", "etc"]).output().unwrap();
    assert!(refused.status.code() == Some(2) && !place.at("into").exists());
}

#[test]
fn lrztar_and_we_understand_each_other() {
    if !tools::root() || !tools::need(&["lrztar", "lrzuntar"]) {
        return;
    }
    let place = Place::new();
    // The tar that it calls keeps none if it is not told to.
    let without_xattrs = Except { xattrs: true, ..Except::default() };
    place.run("lrztar", &["-q", "-g", "tree"]);
    fs::create_dir(place.at("ours")).unwrap();
    place.run(PACKLINE, &["lrzuntar", "-O", "ours", "tree.tar.lrz"]);
    // Nor second names of pipes.
    place.same("lrztar, then ours", "ours/tree", Except { links: true, ..without_xattrs });
    place.run(PACKLINE, &["lrztar", "-f", "-g", "tree"]);
    fs::create_dir(place.at("theirs")).unwrap();
    place.run("lrzuntar", &["-O", "theirs", "tree.tar.lrz"]);
    place.same("ours, then lrzuntar", "theirs/tree", without_xattrs);
}

/// A .lrz file may hold nothing; a tar does not, so that nothing is unpacked of it.
#[test]
fn an_empty_file_is_no_tar() {
    let place = Place::new();
    fs::write(place.at("empty.tar"), "").unwrap();
    place.run(PACKLINE, &["lrzip", "-q", "empty.tar"]);
    for words in [
        &["unpack", "empty.tar.lrz", "out"][..],
        &["unpack", "empty.tar.lrz", "out.tar"],
        &["lrzuntar", "empty.tar.lrz"],
    ] {
        let said = place.fails(words);
        assert!(said.contains("empty.tar.lrz: is empty: it ends at byte 0"), "{said}");
        let made = ["out.tar", "out", "empty"].into_iter().find(|name| place.at(name).exists());
        assert_eq!(made, None, "{words:?}");
    }
    place.run(PACKLINE, &["lrzip", "-q", "-d", "-f", "empty.tar.lrz"]);
    place.fails(&["pack", "empty.tar", "again.lrz"]);
    assert!(!place.at("again.lrz").exists());
}

#[test]
fn processors_change_no_byte() {
    let place = Place::new();
    let make = |jobs: &str| {
        place.run(PACKLINE, &["pack", "-f", "-q", "-j", jobs, "tree", "x.lrz"]);
        fs::read(place.at("x.lrz")).unwrap()
    };
    let expected = make("1");
    for jobs in ["0", "2", "7", "16"] {
        assert!(make(jobs) == expected, "{jobs} jobs");
    }
}

#[test]
fn nothing_is_made_outside() {
    let place = Place::new();
    fs::create_dir(place.at("outside")).unwrap();
    fs::create_dir(place.at("out")).unwrap();
    let link = |name: &str, target: &str| Node::new(name, NodeKind::Symlink(target.as_bytes().to_vec()));
    let nodes = [link("a", "../outside"), Node::file("a/stolen", "x")];
    fs::write(place.at("bad.tar"), tar::to_bytes(&nodes)).unwrap();
    place.run(PACKLINE, &["pack", "-q", "-c", "none", "bad.tar", "bad.tar.lrz"]);
    let said = place.fails(&["lrzuntar", "-O", "out", "bad.tar.lrz"]);
    assert!(said.contains("out/a"), "{said}");
    // And where the link was there before.
    symlink("../outside", place.at("out/tree")).unwrap();
    place.run(PACKLINE, &["lrztar", "-q", "-n", "tree"]);
    place.fails(&["lrzuntar", "-f", "-O", "out", "tree.tar.lrz"]);
    assert_eq!(fs::read_dir(place.at("outside")).unwrap().count(), 0);
    // A directory that fails half way has no name.
    place.fails(&["unpack", "-q", "bad.tar.lrz", "new"]);
    assert!(!place.at("new").exists());
}

#[test]
fn an_output_in_its_own_directory_is_left_out() {
    let place = Place::new();
    place.run(PACKLINE, &["pack", "-q", "-c", "none", "tree", "tree/x.lrz"]);
    place.run(PACKLINE, &["pack", "-f", "-q", "-c", "none", "tree", "tree/x.lrz"]);
    let out = tools::run(&mut place.command(PACKLINE, &["unpack", "-q", "tree/x.lrz", "-"])).unwrap();
    fs::write(place.at("x.tar"), out.stdout).unwrap();
    let names = tools::run(&mut place.command("tar", &["-t", "-f", "x.tar"])).unwrap().stdout;
    assert!(!String::from_utf8_lossy(&names).contains("x.lrz"));
}

#[test]
fn too_little_memory_is_said_and_enough_is_enough() {
    let place = Place::new();
    let pack = ["pack", "-f", "-q", "-c", "lzo", "tree", "x.lrz", "--mem"];
    let said = place.fails(&[&pack[..], &["1M"]].concat());
    assert!(said.contains("1048576 bytes of memory") && said.contains("; --mem allows more"), "{said}");
    let needed = said.split("at least ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    place.run(PACKLINE, &[&pack[..], &[needed]].concat());
}

/// What is said to be the least is refused with a byte less. Models of zpaq, which take more than all else, are known when their
/// blocks come: one of each stream.
#[test]
fn unpacking_says_the_least_memory_that_works() {
    let place = Place::new();
    for (codec, tries) in [("lzma", 1), ("zpaq", 3)] {
        place.run(PACKLINE, &["pack", "-f", "-q", "-c", codec, "tree", "x.lrz"]);
        for to in ["x.tar", "dest"] {
            let unpack = |memory: u64| {
                let memory = memory.to_string();
                place.command(PACKLINE, &["unpack", "-q", "x.lrz", to, "--mem", &memory]).output().unwrap()
            };
            let mut said = vec![1 << 20];
            loop {
                let memory = said[said.len() - 1];
                let ran = unpack(memory);
                if ran.status.success() {
                    break;
                }
                let message = String::from_utf8(ran.stderr).unwrap();
                assert!(
                    message.contains("x.lrz") && message.contains("; --mem allows more"),
                    "{codec} {to}: {message}"
                );
                assert!(!place.at(to).exists() && said.len() <= tries, "{codec} {to}: {said:?} {message}");
                let least = message.split("at least ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
                said.push(least.parse().unwrap());
                assert!(said[said.len() - 1] > memory, "{codec} {to}: {said:?}");
            }
            let _ = fs::remove_file(place.at(to)).or_else(|_| fs::remove_dir_all(place.at(to)));
            assert!(
                !unpack(said[said.len() - 1] - 1).status.success() && !place.at(to).exists(),
                "{codec} {to}: {said:?}"
            );
        }
    }
}
