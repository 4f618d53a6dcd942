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

/// A tree in which a file, a sparse one and a symbolic link have their first names outside `p`, with others of these names inside.
fn plant_outside(place: &Place) {
    fs::create_dir_all(place.at("tree/p/q")).unwrap();
    fs::write(place.at("tree/a"), "secret").unwrap();
    std::os::unix::fs::symlink("nowhere", place.at("tree/b")).unwrap();
    let holes = fs::File::create(place.at("tree/holes")).unwrap();
    holes.set_len(1 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&holes, b"end of it", 900_000).unwrap();
    fs::write(place.at("tree/p/a"), "other").unwrap();
    for (first, further) in
        [("a", "p/c"), ("a", "p/q/d"), ("b", "p/b"), ("b", "p/q/b"), ("holes", "p/q/e"), ("holes", "z")]
    {
        fs::hard_link(place.at("tree").join(first), place.at("tree").join(further)).unwrap();
    }
    let tar = |archive: &str, options: &[&str]| {
        let mut command = Command::new("tar");
        command.args(["--sort=name", "--numeric-owner", "-C"]).arg(place.at("tree")).args(options).arg("-f");
        tools::run(command.arg(place.at(archive)).args(["-c", "a", "b", "holes", "p", "z"])).unwrap();
    };
    tar("plain.tar", &[]);
    tar("sparse.tar", &["--sparse", "--format=posix"]);
    tar("packed.tar.gz", &["-z"]);
}

/// Packs with `packline pack` from each kind of source, and with `tar2sqfs`; calls `check` with the unpacked tree each time.
fn from_everywhere(place: &Place, options: &[&str], of_tar2sqfs: &[&str], check: &dyn Fn(&str, &Path)) {
    let pack = ["pack", "-q", "-f"];
    let sources = ["tree", "plain.tar", "sparse.tar", "packed.tar.gz", "-"].map(|source| (source, &pack[..], options));
    let drop_in = ("-", &["tar2sqfs", "-q", "-f"][..], of_tar2sqfs);
    for (source, program, options) in sources.into_iter().chain([drop_in]) {
        let operands = if program[0] == "pack" { vec![source, "o.sqfs"] } else { vec!["o.sqfs"] };
        let mut command = place.command(&[program, options, &operands].concat());
        command.stdin(fs::File::open(place.at("plain.tar")).unwrap());
        tools::run(&mut command).unwrap();
        tools::run(&mut place.command(&["verify", "-q", "o.sqfs"])).unwrap();
        place.run(&["unpack", "-q", "--no-owner", "o.sqfs", "out"]);
        check(&format!("{} {source}", program[0]), &place.at("out"));
        fs::remove_dir_all(place.at("out")).unwrap();
    }
}

fn check_links(what: &str, file: &Path, further: &Path) {
    assert_eq!(inode(file), inode(further), "{what}");
    assert_eq!(fs::symlink_metadata(file).unwrap().nlink(), 2, "{what}");
}

#[test]
fn a_file_whose_first_name_is_outside_the_new_root_is_a_file_inside() {
    if !tools::need(&["tar"]) {
        return;
    }
    let place = Place::new();
    plant_outside(&place);
    from_everywhere(&place, &["--root-becomes", "p"], &["-r", "p"], &|what, out| {
        assert_eq!(names(out), ["a", "b", "c", "q"], "{what}");
        assert_eq!(fs::read(out.join("a")).unwrap(), b"other", "{what}");
        assert_eq!(fs::read(out.join("c")).unwrap(), b"secret", "{what}");
        check_links(what, &out.join("c"), &out.join("q/d"));
        check_links(what, &out.join("b"), &out.join("q/b"));
        let holes = fs::read(out.join("q/e")).unwrap();
        assert!(holes.len() == 1 << 20 && holes[900_000..900_009] == *b"end of it", "{what}");
    });
    from_everywhere(&place, &["--root-becomes", "p/q"], &["-r", "p/q"], &|what, out| {
        assert_eq!(names(out), ["b", "d", "e"], "{what}");
        assert_eq!(fs::read(out.join("d")).unwrap(), b"secret", "{what}");
    });
}

#[test]
fn a_file_whose_first_name_is_excluded_is_a_file_under_the_next() {
    if !tools::need(&["tar"]) {
        return;
    }
    let place = Place::new();
    plant_outside(&place);
    let excluded = ["-x", "/a", "-x", "/b", "-x", "holes"];
    from_everywhere(&place, &excluded, &["-E", "a", "-E", "b", "-E", "holes"], &|what, out| {
        assert_eq!(names(out), ["p", "z"], "{what}");
        assert_eq!(fs::read(out.join("p/c")).unwrap(), b"secret", "{what}");
        check_links(what, &out.join("p/c"), &out.join("p/q/d"));
        check_links(what, &out.join("p/b"), &out.join("p/q/b"));
        check_links(what, &out.join("p/q/e"), &out.join("z"));
        assert_eq!(fs::read(out.join("z")).unwrap().len(), 1 << 20, "{what}");
    });
}

#[test]
fn a_tar_and_a_pipe_give_the_same_image_in_any_memory() {
    if !tools::need(&["tar"]) {
        return;
    }
    let place = Place::new();
    plant_outside(&place);
    let options = ["--root-becomes", "p", "--time", "0"];
    let image = |source: &str, more: &[&str]| {
        let words = [&["pack", "-q", "-f", source, "o.sqfs"][..], &options, more].concat();
        let mut command = place.command(&words);
        tools::run(command.stdin(fs::File::open(place.at("plain.tar")).unwrap())).unwrap();
        fs::read(place.at("o.sqfs")).unwrap()
    };
    let expected = image("plain.tar", &[]);
    for (source, more) in [
        ("-", &[][..]),
        ("packed.tar.gz", &["-j", "0"]),
        ("packed.tar.gz", &["--mem", "48M"]),
        ("-", &["--mem", "32M", "-j", "1"]),
        ("plain.tar", &["--serial"]),
    ] {
        assert!(image(source, more) == expected, "{source} {more:?}");
    }
}

#[test]
fn another_name_of_the_output_is_a_file() {
    let place = Place::new();
    fs::create_dir(place.at("d")).unwrap();
    fs::write(place.at("d/f"), "f").unwrap();
    fs::write(place.at("sort"), "1 f\n").unwrap();
    let pack: &[&[&str]] = &[
        &["pack", "-q", "-f", "d", "d/o.sqfs"],
        &["gensquashfs", "-q", "-f", "-D", "d", "d/o.sqfs"],
        &["gensquashfs", "-q", "-f", "-D", "d", "-S", "sort", "d/o.sqfs"],
        &["pack", "-q", "-f", "d", "d/o.lrz"],
    ];
    for words in pack {
        let output = place.at(words.last().unwrap());
        fs::write(&output, "what was there").unwrap();
        fs::hard_link(&output, place.at("d/z")).unwrap();
        place.run(words);
        place.run(&["unpack", "-q", "--no-owner", words.last().unwrap(), "out"]);
        assert_eq!(names(&place.at("out")), ["f", "z"], "{words:?}");
        assert_eq!(fs::read(place.at("out/z")).unwrap(), b"what was there", "{words:?}");
        fs::remove_dir_all(place.at("out")).unwrap();
        fs::remove_file(place.at("d/z")).unwrap();
        fs::remove_file(output).unwrap();
    }
}
