//! Files with several names of which one is left out or cannot be made: the next is the file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{tar, tools};

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");

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

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PACKLINE);
        command.args(words).current_dir(self.top.path()).env_remove("SOURCE_DATE_EPOCH");
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        tools::run(&mut self.command(words)).unwrap()
    }

    /// Puts a tar of `nodes` at `name`, and an image of it at `image`.
    fn image(&self, nodes: &[Node], image: &str) {
        fs::write(self.at("source.tar"), tar::to_bytes(nodes)).unwrap();
        self.run(&["pack", "-q", "-f", "-b", "4K", "-c", "gzip", "source.tar", image]);
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn link(path: &str, target: &str) -> Node {
    Node::new(path, NodeKind::HardLink(target.into()))
}

fn inode(path: &Path) -> u64 {
    fs::symlink_metadata(path).unwrap().ino()
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_socket_is_left_out_of_a_tar_under_all_its_names() {
    if !tools::need(&["tar"]) {
        return;
    }
    let place = Place::new();
    fs::create_dir(place.at("s")).unwrap();
    let _socket = UnixListener::bind(place.at("s/a")).unwrap();
    fs::hard_link(place.at("s/a"), place.at("s/b")).unwrap();
    fs::write(place.at("s/f"), "f").unwrap();
    let packed = place.run(&["pack", "-q", "s", "s.lrz"]);
    assert!(said(&packed).contains("s/a: left out") && said(&packed).contains("s/b: left out"), "{}", said(&packed));
    place.run(&["unpack", "-q", "s.lrz", "out"]);
    assert_eq!(names(&place.at("out")), ["f"]);
    place.run(&["pack", "-q", "s", "s.sqfs"]);
    place.run(&["unpack", "-q", "s.sqfs", "s.tar"]);
    fs::write(place.at("peer.tar"), place.run(&["sqfs2tar", "s.sqfs"]).stdout).unwrap();
    for tar in ["s.tar", "peer.tar"] {
        let out = place.at("by-tar");
        fs::create_dir(&out).unwrap();
        tools::run(Command::new("tar").arg("-xf").arg(place.at(tar)).arg("-C").arg(&out)).unwrap();
        assert_eq!(names(&out), ["f"]);
        fs::remove_dir_all(out).unwrap();
        place.run(&["pack", "-q", "-f", tar, "again.sqfs"]);
    }
}

#[test]
fn devices_are_left_out_under_all_their_names() {
    let place = Place::new();
    let device = NodeKind::CharDevice(1, 3);
    let nodes =
        [Node::dir("").mode(0o755), Node::new("a", device), link("b", "a"), link("c", "b"), Node::file("f", "f")];
    place.image(&nodes, "d.sqfs");
    place.run(&["pack", "-q", "source.tar", "d.lrz"]);
    for source in ["d.sqfs", "d.lrz"] {
        place.run(&["unpack", "-q", "--no-owner", "--no-devices", source, source.trim_start_matches("d.")]);
        assert_eq!(names(&place.at(source.trim_start_matches("d."))), ["f"]);
    }
}

/// Files of each kind of content, and a named pipe, with three names each.
fn several() -> Vec<Node> {
    let mut nodes = vec![Node::dir("").mode(0o755)];
    let blocks: Vec<u8> = (0..9_000u32).flat_map(|number| number.to_be_bytes()).collect();
    let contents = [("blocks", blocks), ("tail", b"tail".to_vec()), ("empty", Vec::new())];
    nodes.extend(contents.map(|(name, content)| Node::file(format!("{name}1"), content)));
    nodes.push(Node::new("pipe1", NodeKind::Fifo));
    for name in ["blocks", "tail", "empty", "pipe"] {
        nodes.extend([2, 3].map(|number| link(&format!("{name}{number}"), &format!("{name}1"))));
    }
    nodes
}

#[test]
fn where_the_first_name_cannot_be_made_the_next_is_the_file() {
    let place = Place::new();
    place.image(&several(), "i.sqfs");
    for options in [&["-j", "0"][..], &["-j", "2"], &["-j", "2", "--dedupe", "hardlink"]] {
        let out = place.at("out");
        // A directory that is not empty does not give way.
        for name in ["blocks1", "tail1", "tail2", "empty1", "pipe1"] {
            fs::create_dir_all(out.join(name).join("in-use")).unwrap();
        }
        let words = [&["unpack", "-q", "-f", "--no-owner", "--continue"][..], options, &["i.sqfs", "out"]].concat();
        let ran = place.command(&words).output().unwrap();
        assert_eq!((ran.status.code(), said(&ran).lines().count()), (Some(2), 5), "{}", said(&ran));
        for name in ["blocks", "empty", "pipe"] {
            assert_eq!(inode(&out.join(format!("{name}2"))), inode(&out.join(format!("{name}3"))), "{name}");
        }
        assert_eq!(fs::read(out.join("blocks2")).unwrap().len(), 36_000);
        assert_eq!(fs::read(out.join("tail3")).unwrap(), b"tail");
        fs::remove_dir_all(out).unwrap();
    }
}

#[test]
fn what_is_there_already_gets_no_further_name() {
    let place = Place::new();
    let nodes = [Node::dir("").mode(0o755), Node::file("a", "ab".repeat(1000)), link("b", "a"), link("c", "a")];
    place.image(&nodes, "i.sqfs");
    let mut bytes = fs::read(place.at("i.sqfs")).unwrap();
    // The fragment block is the first thing behind the superblock.
    bytes[98..104].fill(0x55);
    fs::write(place.at("i.sqfs"), bytes).unwrap();
    fs::create_dir(place.at("out")).unwrap();
    fs::write(place.at("out/a"), "old").unwrap();
    let ran = place.command(&["unpack", "-q", "-f", "--no-owner", "--continue", "i.sqfs", "out"]).output().unwrap();
    assert_eq!((ran.status.code(), said(&ran).lines().count()), (Some(2), 3), "{}", said(&ran));
    assert_eq!(names(&place.at("out")), ["a"]);
}
