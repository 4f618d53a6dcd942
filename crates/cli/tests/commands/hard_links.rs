//! Files with several names whose first name is left out or cannot be created: the next name becomes the file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{Sandbox, tools};

use crate::sandbox;

/// Puts a tar of `nodes` at `source.tar`, and an image of it at `image`.
fn pack(sandbox: &Sandbox, nodes: &[Node], image: &str) {
    sandbox.write_tar("source.tar", nodes);
    sandbox.good(&["pack", "-q", "-f", "-b", "4K", "-c", "gzip", "source.tar", image]);
}

fn link(path: &str, target: &str) -> Node {
    Node::new(path, NodeKind::HardLink(target.into()))
}

fn inode(path: &Path) -> u64 {
    fs::symlink_metadata(path).unwrap().ino()
}

#[test]
fn a_socket_is_left_out_of_a_tar_under_all_its_names() {
    if !tools::need(&["tar"]) {
        return;
    }
    let sandbox = sandbox();
    sandbox.create_dir("s");
    let _socket = UnixListener::bind(sandbox.at("s/a")).unwrap();
    fs::hard_link(sandbox.at("s/a"), sandbox.at("s/b")).unwrap();
    sandbox.write("s/f", "f");
    let packed = sandbox.good(&["pack", "-q", "s", "s.lrz"]);
    assert!(packed.stderr.contains("s/a: left out") && packed.stderr.contains("s/b: left out"), "{}", packed.stderr);
    sandbox.good(&["unpack", "-q", "s.lrz", "out"]);
    assert_eq!(sandbox.names_in("out"), ["f"]);
    sandbox.good(&["pack", "-q", "s", "s.sqfs"]);
    sandbox.good(&["unpack", "-q", "s.sqfs", "s.tar"]);
    sandbox.write("peer.tar", sandbox.good(&["sqfs2tar", "s.sqfs"]).stdout);
    for tar in ["s.tar", "peer.tar"] {
        sandbox.create_dir("by-tar");
        sandbox.peer("tar", &["-xf", tar, "-C", "by-tar"]);
        assert_eq!(sandbox.names_in("by-tar"), ["f"]);
        sandbox.remove("by-tar");
        sandbox.good(&["pack", "-q", "-f", tar, "again.sqfs"]);
    }
}

#[test]
fn devices_are_left_out_under_all_their_names() {
    let sandbox = sandbox();
    let device = NodeKind::CharDevice(1, 3);
    let nodes =
        [Node::dir("").mode(0o755), Node::new("a", device), link("b", "a"), link("c", "b"), Node::file("f", "f")];
    pack(&sandbox, &nodes, "d.sqfs");
    sandbox.good(&["pack", "-q", "source.tar", "d.lrz"]);
    for source in ["d.sqfs", "d.lrz"] {
        sandbox.good(&["unpack", "-q", "--no-owner", "--no-devices", source, source.trim_start_matches("d.")]);
        assert_eq!(sandbox.names_in(source.trim_start_matches("d.")), ["f"]);
    }
}

/// Files in blocks, in a fragment and empty, and a named pipe, with three names each.
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
    let sandbox = sandbox();
    pack(&sandbox, &several(), "i.sqfs");
    for options in [&["-j", "0"][..], &["-j", "2"], &["-j", "2", "--dedupe", "hardlink"]] {
        let out = sandbox.at("out");
        // A directory that is not empty is not replaced.
        for name in ["blocks1", "tail1", "tail2", "empty1", "pipe1"] {
            sandbox.create_dir(out.join(name).join("in-use"));
        }
        let words = [&["unpack", "-q", "-f", "--no-owner", "--continue"][..], options, &["i.sqfs", "out"]].concat();
        let ran = sandbox.run(&words);
        assert_eq!((ran.status, ran.stderr.lines().count()), (3, 5), "{}", ran.stderr);
        for name in ["blocks", "empty", "pipe"] {
            assert_eq!(inode(&out.join(format!("{name}2"))), inode(&out.join(format!("{name}3"))), "{name}");
        }
        assert_eq!(fs::read(out.join("blocks2")).unwrap().len(), 36_000);
        assert_eq!(fs::read(out.join("tail3")).unwrap(), b"tail");
        sandbox.remove(out);
    }
}

#[test]
fn an_existing_file_gets_no_further_name() {
    let sandbox = sandbox();
    let nodes = [Node::dir("").mode(0o755), Node::file("a", "ab".repeat(1000)), link("b", "a"), link("c", "a")];
    pack(&sandbox, &nodes, "i.sqfs");
    let mut bytes = sandbox.read("i.sqfs");
    // The fragment block is the first one after the superblock.
    bytes[98..104].fill(0x55);
    sandbox.write("i.sqfs", bytes);
    sandbox.create_dir("out");
    let old = inode(&sandbox.write("out/a", "old"));
    // Kept open, so that no other file gets its inode number.
    let _open = sandbox.open("out/a");
    let ran = sandbox.run(&["unpack", "-q", "-f", "--no-owner", "--continue", "i.sqfs", "out"]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (3, 1), "{}", ran.stderr);
    assert_eq!(sandbox.names_in("out"), ["a", "b", "c"]);
    let found = ["a", "b", "c"].map(|name| inode(&sandbox.at("out").join(name)));
    assert!(found[0] != old && found == [found[0]; 3], "{found:?}, {old} before");
    // Zeros are in place of the content that cannot be read.
    assert_eq!(sandbox.read("out/c"), [0u8; 2000]);
}

/// A tree in which a file, a sparse one and a symbolic link have their first names outside `p`, with others of these names inside.
fn plant_outside(sandbox: &Sandbox) {
    sandbox.create_dir("tree/p/q");
    sandbox.write("tree/a", "secret");
    std::os::unix::fs::symlink("nowhere", sandbox.at("tree/b")).unwrap();
    let holes = fs::File::create(sandbox.at("tree/holes")).unwrap();
    holes.set_len(1 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&holes, b"end of it", 900_000).unwrap();
    sandbox.write("tree/p/a", "other");
    for (first, further) in
        [("a", "p/c"), ("a", "p/q/d"), ("b", "p/b"), ("b", "p/q/b"), ("holes", "p/q/e"), ("holes", "z")]
    {
        fs::hard_link(sandbox.at("tree").join(first), sandbox.at("tree").join(further)).unwrap();
    }
    let tar = |archive: &str, options: &[&str]| {
        let first = ["--sort=name", "--numeric-owner", "-f", archive, "-C", "tree"];
        sandbox.peer("tar", &[&first[..], options, &["-c", "a", "b", "holes", "p", "z"]].concat());
    };
    tar("plain.tar", &[]);
    tar("sparse.tar", &["--sparse", "--format=posix"]);
    tar("packed.tar.gz", &["-z"]);
}

/// Packs with `packline pack` from each kind of source, and with `tar2sqfs`; calls `check` with the unpacked tree each time.
fn from_everywhere(sandbox: &Sandbox, options: &[&str], of_tar2sqfs: &[&str], check: &dyn Fn(&str, &Path)) {
    let pack = ["pack", "-q", "-f"];
    let sources = ["tree", "plain.tar", "sparse.tar", "packed.tar.gz", "-"].map(|source| (source, &pack[..], options));
    let drop_in = ("-", &["tar2sqfs", "-q", "-f"][..], of_tar2sqfs);
    for (source, program, options) in sources.into_iter().chain([drop_in]) {
        let operands = if program[0] == "pack" { vec![source, "o.sqfs"] } else { vec!["o.sqfs"] };
        sandbox.good_on(&[program, options, &operands].concat(), "plain.tar");
        sandbox.good(&["verify", "-q", "o.sqfs"]);
        sandbox.good(&["unpack", "-q", "--no-owner", "o.sqfs", "out"]);
        check(&format!("{} {source}", program[0]), &sandbox.at("out"));
        sandbox.remove("out");
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
    let sandbox = sandbox();
    plant_outside(&sandbox);
    from_everywhere(&sandbox, &["--root-becomes", "p"], &["-r", "p"], &|what, out| {
        assert_eq!(sandbox.names_in(out), ["a", "b", "c", "q"], "{what}");
        assert_eq!(fs::read(out.join("a")).unwrap(), b"other", "{what}");
        assert_eq!(fs::read(out.join("c")).unwrap(), b"secret", "{what}");
        check_links(what, &out.join("c"), &out.join("q/d"));
        check_links(what, &out.join("b"), &out.join("q/b"));
        let holes = fs::read(out.join("q/e")).unwrap();
        assert!(holes.len() == 1 << 20 && holes[900_000..900_009] == *b"end of it", "{what}");
    });
    from_everywhere(&sandbox, &["--root-becomes", "p/q"], &["-r", "p/q"], &|what, out| {
        assert_eq!(sandbox.names_in(out), ["b", "d", "e"], "{what}");
        assert_eq!(fs::read(out.join("d")).unwrap(), b"secret", "{what}");
    });
}

#[test]
fn a_file_whose_first_name_is_excluded_is_a_file_under_the_next() {
    if !tools::need(&["tar"]) {
        return;
    }
    let sandbox = sandbox();
    plant_outside(&sandbox);
    let excluded = ["-x", "/a", "-x", "/b", "-x", "holes"];
    from_everywhere(&sandbox, &excluded, &["-E", "a", "-E", "b", "-E", "holes"], &|what, out| {
        assert_eq!(sandbox.names_in(out), ["p", "z"], "{what}");
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
    let sandbox = sandbox();
    plant_outside(&sandbox);
    let options = ["--root-becomes", "p", "--time", "0"];
    let image = |source: &str, more: &[&str]| {
        let words = [&["pack", "-q", "-f", source, "o.sqfs"][..], &options, more].concat();
        sandbox.good_on(&words, "plain.tar");
        sandbox.read("o.sqfs")
    };
    let expected = image("plain.tar", &[]);
    for (source, more) in [
        ("-", &[][..]),
        ("packed.tar.gz", &["-j", "0"]),
        ("packed.tar.gz", &["--mem", "48M"]),
        ("-", &["--mem", "34M", "-j", "1"]),
        ("plain.tar", &["--serial"]),
    ] {
        assert!(image(source, more) == expected, "{source} {more:?}");
    }
}

#[test]
fn another_name_of_the_output_is_a_file() {
    let sandbox = sandbox();
    sandbox.create_dir("d");
    sandbox.write("d/f", "f");
    sandbox.write("sort", "1 f\n");
    let pack: &[&[&str]] = &[
        &["pack", "-q", "-f", "d", "d/o.sqfs"],
        &["gensquashfs", "-q", "-f", "-D", "d", "d/o.sqfs"],
        &["gensquashfs", "-q", "-f", "-D", "d", "-S", "sort", "d/o.sqfs"],
        &["pack", "-q", "-f", "d", "d/o.lrz"],
    ];
    for words in pack {
        let output = sandbox.write(words.last().unwrap(), "what was there");
        fs::hard_link(&output, sandbox.at("d/z")).unwrap();
        sandbox.good(words);
        sandbox.good(&["unpack", "-q", "--no-owner", words.last().unwrap(), "out"]);
        assert_eq!(sandbox.names_in("out"), ["f", "z"], "{words:?}");
        assert_eq!(sandbox.read("out/z"), b"what was there", "{words:?}");
        sandbox.remove("out");
        sandbox.remove("d/z");
        sandbox.remove(output);
    }
}
