//! `packline pack` to a tar: other programs read all of it, and any source can be packed.

use packline_testkit::{Sandbox, tools};

use super::{assert_equal, shell, with_tree};
use crate::sandbox;

#[test]
fn other_programs_unpack_the_tree() {
    let Some(sandbox) = with_tree(61) else { return };
    let sandbox = &sandbox;
    for ending in ["tar", "tar.gz", "tar.xz", "tar.zst", "tar.bz2"] {
        let name = format!("x.{ending}");
        sandbox.good(&["pack", "-q", "source", &name]);
        for reader in ["tar --xattrs --xattrs-include='*' --numeric-owner -p", "bsdtar --numeric-owner -p"] {
            // bsdtar does not set the time of the directory that it unpacks to.
            shell(sandbox, &format!("mkdir theirs && {reader} -C theirs -xf {name} && touch -r source theirs"));
            assert_equal(sandbox, &format!("{name} {reader}"), "source", "theirs");
            sandbox.remove("theirs");
        }
        shell(sandbox, &format!("tar -C source -df {name}"));
        sandbox.good(&["unpack", "-q", &name, "ours"]);
        assert_equal(sandbox, &name, "source", "ours");
        sandbox.remove("ours");
        sandbox.good(&["verify", &name]);
    }
}

#[test]
fn every_source_becomes_the_same_tree() {
    let Some(sandbox) = with_tree(62) else { return };
    let sandbox = &sandbox;
    sandbox.good(&["pack", "-q", "source", "i.erofs", "--kernel", "6.15"]);
    sandbox.good(&["pack", "-q", "source", "x.tar"]);
    sandbox.good(&["pack", "-q", "x.tar", "again.tar"]);
    sandbox.good(&["pack", "-q", "i.erofs", "image.tar.zst"]);
    sandbox.good(&["unpack", "-q", "x.tar", "unpacked.tar.gz"]);
    sandbox.good(&["pack", "-q", "--order", "similar", "x.tar", "ordered.tar"]);
    // Entries of a directory are not next to each other in a tar in another order.
    let attributes = "--xattrs --xattrs-include='*' --delay-directory-restore";
    shell(
        sandbox,
        "$P pack -q --format tar - - < x.tar > stream.tar; $P pack -q --format tar -c zstd source - > packed.tar.zst",
    );
    for name in ["again.tar", "image.tar.zst", "unpacked.tar.gz", "ordered.tar", "stream.tar", "packed.tar.zst"] {
        sandbox.good(&["unpack", "-q", name, "ours"]);
        assert_equal(sandbox, name, "source", "ours");
        sandbox.remove("ours");
        shell(sandbox, &format!("mkdir theirs; tar {attributes} --numeric-owner -p -C theirs -xf {name}"));
        assert_equal(sandbox, name, "source", "theirs");
        sandbox.remove("theirs");
    }
    assert!(sandbox.read("x.tar") == sandbox.read("again.tar"), "a tar of a tar has other bytes");
    assert!(sandbox.read("x.tar") == sandbox.read("stream.tar"), "a tar of a stream has other bytes");
}

fn small() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("one/a", "a");
    sandbox.write("one/d/b", "b");
    sandbox.write("two/a", "new");
    sandbox
}

fn names(sandbox: &Sandbox, tar: &str) -> Vec<String> {
    sandbox.good(&["list", tar]).text().lines().map(str::to_string).collect()
}

#[test]
fn sources_are_combined_as_for_images() {
    let sandbox = small();
    sandbox.good(&["pack", "-q", "one", "two", "beside.tar"]);
    assert_eq!(names(&sandbox, "beside.tar"), [".", "one", "one/a", "one/d", "one/d/b", "two", "two/a"]);
    sandbox.good(&["pack", "-q", "--overlay", "one", "two", "over.tar.zst"]);
    assert_eq!(sandbox.good(&["cat", "over.tar.zst", "a"]).text(), "new");
    sandbox.good(&["pack", "-q", "-x", "d", "one", "less.tar"]);
    assert_eq!(names(&sandbox, "less.tar"), [".", "a"]);
    sandbox.good(&["pack", "-q", "--root-becomes", "one", "beside.tar", "root.tar"]);
    assert_eq!(names(&sandbox, "root.tar"), [".", "a", "d", "d/b"]);
    sandbox.write("manifest", "/made d 755 7 8\n");
    sandbox.good(&["pack", "-q", "--uid", "1", "--mtime", "5", "--manifest", "manifest", "one", "made.tar"]);
    let listed = sandbox.good(&["list", "--json", "made.tar"]).text();
    assert!(listed.lines().all(|line| line.contains("\"uid\":1") && line.contains("\"mtime\":5")), "{listed}");
    assert!(names(&sandbox, "made.tar").contains(&"made".to_string()));
    let counted = sandbox.good(&["pack", "--dry-run", "one", "never.tar"]);
    assert!(counted.stderr.contains("2 files") && !sandbox.at("never.tar").exists(), "{counted:?}");
}

#[test]
fn sockets_are_left_out_with_one_warning() {
    let sandbox = small();
    let _one = std::os::unix::net::UnixListener::bind(sandbox.at("one/s1")).unwrap();
    let _two = std::os::unix::net::UnixListener::bind(sandbox.at("one/s2")).unwrap();
    std::fs::hard_link(sandbox.at("one/s2"), sandbox.at("one/s3")).unwrap();
    let ran = sandbox.good(&["pack", "one", "x.tar"]);
    assert!(
        ran.stderr.contains("3 sockets are left out, because a tar cannot hold them (the first is s1)"),
        "{}",
        ran.stderr
    );
    assert_eq!(names(&sandbox, "x.tar"), [".", "a", "d", "d/b"]);
}

#[test]
fn options_of_images_are_rejected() {
    let sandbox = small();
    let cases: [(&[&str], &str); 9] = [
        (&["--verify"], "--verify"),
        (&["--cache", "cache"], "--cache"),
        (&["--base", "old.sqfs"], "--base"),
        (&["--verity"], "--verity"),
        (&["-b", "64K"], "--block-size"),
        (&["--kernel", "6.1"], "--kernel"),
        (&["--smallest"], "--smallest"),
        (&["--offset", "4K"], "--offset"),
        (&["-c", "lz4"], "--codec"),
    ];
    for (options, named) in cases {
        let message = sandbox.bad(2, &[&["pack", "one", "x.tar"], options].concat());
        assert!(message.contains(named), "{options:?}: {message}");
        assert!(!sandbox.at("x.tar").exists(), "{options:?}");
    }
    let message = sandbox.bad(2, &["pack", "one", "x.tar.lz4"]);
    assert!(message.contains("a tar compressed with lz4, which pack does not write"), "{message}");
}

#[test]
fn outputs_follow_the_rules_of_images() {
    let sandbox = small();
    sandbox.good(&["pack", "-q", "one", "x.tar"]);
    let before = sandbox.read("x.tar");
    assert!(sandbox.bad(1, &["pack", "two", "x.tar"]).contains("--force"));
    assert!(sandbox.bad(1, &["pack", "-f", "x.tar", "x.tar"]).contains("x.tar"));
    assert!(sandbox.bad(1, &["unpack", "-f", "x.tar", "x.tar"]).contains("x.tar"));
    sandbox.peer("zip", &["-qr", "x.zip", "one"]);
    let zip = sandbox.read("x.zip");
    assert!(sandbox.bad(1, &["pack", "-f", "--format", "tar", "x.zip", "x.zip"]).contains("x.zip"));
    assert!(sandbox.read("x.zip") == zip);
    assert!(sandbox.read("x.tar") == before);
    // A tar in its own directory is left out.
    sandbox.good(&["pack", "-q", "one", "one/self.tar"]);
    assert_eq!(names(&sandbox, "one/self.tar"), [".", "a", "d", "d/b"]);
    sandbox.good(&["pack", "-q", "-f", "two", "x.tar"]);
    assert_eq!(names(&sandbox, "x.tar"), [".", "a"]);
    sandbox.write("cut.tar", &before[..700]);
    sandbox.bad(1, &["pack", "cut.tar", "new.tar.zst"]);
    assert!(!sandbox.at("new.tar.zst").exists());
}

/// A reader that ends early has only a part of the tar or of the .pln file.
#[test]
fn a_reader_that_ends_early_is_an_error() {
    let sandbox = crate::sandbox();
    sandbox.write("source/file", packline_testkit::Random::new(9).noise(3_000_000));
    let sandbox = &sandbox;
    shell(sandbox, "$P pack -q source x.sqfs && $P pack -q source x.tar");
    for command in [
        "pack -q source - --format tar",
        "pack -q source - --format tar -c zstd",
        "unpack -q x.sqfs -",
        "unpack -q x.tar -",
        "compress -q --stdout x.tar",
    ] {
        let line = format!("{{ $P {command} && s=0 || s=$?; echo $s > status; }} 2> message | head -c 10 > part");
        shell(sandbox, &line);
        assert_eq!(sandbox.read_text("status"), "1\n", "{command}");
        let message = sandbox.read_text("message");
        assert!(
            message.contains("standard output: the reader closed the stream before the end"),
            "{command}: {message}"
        );
    }
    // A reader of a content may want only its start.
    shell(sandbox, "{ $P cat x.sqfs file && s=0 || s=$?; echo $s > status; } | head -c 10 > part");
    assert_eq!(sandbox.read_text("status"), "0\n");
}

/// EROFS images for Linux before 6.15 have holes as clusters of zeros.
#[test]
fn holes_of_erofs_images_are_holes_of_the_tar() {
    if !tools::need(&["tar"]) {
        return;
    }
    let sandbox = sandbox();
    let script = "mkdir t; truncate -s 40M t/hole; echo begin | dd of=t/hole conv=notrunc 2>&1; echo middle | dd of=t/hole bs=1M seek=20 conv=notrunc 2>&1
        truncate -s 5M t/empty; seq 300000 > t/data";
    shell(&sandbox, script);
    for (kernel, codec) in [("6.10", "zstd:level=1"), ("6.1", "lz4"), ("6.15", "lz4")] {
        sandbox.good(&["pack", "-qf", "--kernel", kernel, "-c", codec, "t", "x.erofs"]);
        sandbox.good(&["unpack", "-qf", "x.erofs", "unpacked.tar"]);
        sandbox.good(&["pack", "-qf", "x.erofs", "packed.tar"]);
        for tar in ["unpacked.tar", "packed.tar"] {
            let size = sandbox.read(tar).len();
            assert!(size < 5_000_000, "{kernel}: {tar} has {size} bytes");
            shell(
                &sandbox,
                &format!(
                    "rm -rf out; mkdir out; tar -xf {tar} -C out; diff -r t out; test $(stat -c %b out/hole) -lt 5000"
                ),
            );
        }
        sandbox.good(&["unpack", "-qf", "--no-sparse", "x.erofs", "zeros.tar"]);
        assert!(sandbox.read("zeros.tar").len() > 45 << 20, "{kernel}");
    }
}

/// As in an image: a link may come before its file, and a wrong link is an error. Other programs need the file first.
#[test]
fn hard_links_of_a_tar_are_checked_and_come_after_their_files() {
    use packline_testkit::model::{Node, NodeKind};
    let sandbox = sandbox();
    let link = |path: &str, target: &str| Node::new(path, NodeKind::HardLink(target.into()));
    let early = [Node::dir("d"), link("d/a", "d/b"), link("d/b", "f"), Node::file("f", "content"), link("d/c", "d/a")];
    sandbox.write_tar("early.tar", &early);
    for command in [
        "pack -qf early.tar out.tar",
        "pack -qf early.tar out.tar.gz",
        "unpack -qf early.tar out.tar",
        "pack -qf - out.tar <early.tar",
    ] {
        shell(
            &sandbox,
            &format!("rm -rf out && mkdir out && $P {command} && tar -C out -xf $(ls out.tar*) && rm out.tar*"),
        );
        shell(
            &sandbox,
            "test out/f -ef out/d/a && test out/f -ef out/d/b && test out/f -ef out/d/c && test $(stat -c %h out/f) = 4",
        );
    }
    let directory = || Node::dir("d");
    for (nodes, what) in [
        (vec![link("a", "none")], "a: hard link to none, which is missing"),
        (vec![link("a", "a")], "a: hard link to a, which leads back to it"),
        (vec![directory(), link("a", "d")], "a: hard link to the directory d"),
    ] {
        sandbox.write_tar("wrong.tar", &nodes);
        for output in ["x.tar", "x.tar.zst", "x.sqfs"] {
            let message = sandbox.refused(&["pack", "-q", "wrong.tar", output]);
            assert!(message.contains(&format!("wrong.tar: {what}")), "{output}: {message}");
            assert!(!sandbox.at(output).exists(), "{output}");
        }
    }
    // A tar of changes has a part of a tree.
    let part =
        [Node::new("lib", NodeKind::Symlink(b"usr/lib".to_vec())), Node::file("lib/x", "x"), link("a", "elsewhere")];
    sandbox.write_tar("part.tar", &part);
    let warned = sandbox.good(&["pack", "-q", "part.tar", "part2.tar"]).stderr;
    assert!(warned.contains("hard links are not checked from there on") && warned.lines().count() == 1, "{warned}");
    assert_eq!(sandbox.good(&["list", "part2.tar"]).text(), "lib\nlib/x\na\n");
}

/// The names of a tar, whose hard links are checked, are within the memory limit.
#[test]
fn names_that_do_not_fit_into_memory_are_an_error() {
    use packline_testkit::model::Node;
    let sandbox = sandbox();
    let nodes: Vec<Node> = (0..150_000).map(|number| Node::file(format!("{number:0>200}"), "")).collect();
    sandbox.write_tar("many.tar", &nodes);
    let message = sandbox.refused(&["pack", "-q", "--mem", "20M", "many.tar", "x.tar"]);
    assert!(message.contains("the names and hard links of many.tar: "), "{message}");
    sandbox.good(&["pack", "-q", "--mem", "200M", "many.tar", "x.tar"]);
}
