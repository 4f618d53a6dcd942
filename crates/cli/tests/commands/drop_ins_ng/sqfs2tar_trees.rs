//! `sqfs2tar`: GNU tar extracts the source of the image from our tars, whichever program made the image, and the bytes never depend
//! on the machine.

use packline_testkit::model::Node;
use packline_testkit::snapshot::{self, Except, Snapshot};
use packline_testkit::{Ran, Sandbox, generate, tools};
use std::process::Stdio;

use crate::sandbox;

/// The tar of an image; it must be made without an error.
fn tar_of(sandbox: &Sandbox, image: &str, options: &[&str]) -> Vec<u8> {
    sandbox.good(&[&["sqfs2tar", image], options].concat()).stdout
}

/// The tree that GNU tar extracts.
fn extract(sandbox: &Sandbox, tar: &[u8]) -> Snapshot {
    sandbox.write("found.tar", tar);
    sandbox.create_dir("found");
    let options = ["-xpP", "--xattrs", "--xattrs-include=*", "--numeric-owner", "-C", "found", "-f", "found.tar"];
    sandbox.peer("tar", &options);
    let found = sandbox.snapshot("found");
    sandbox.remove("found");
    found
}

/// A tree as `source` and `source.tar`, and its nodes.
fn with_source(seed: u64) -> (Sandbox, Vec<Node>) {
    let sandbox = sandbox();
    let mut nodes = generate::small_tree(seed, 16_384);
    // mksquashfs wraps times before 1970 round, and makes two inodes of a symbolic link with two names.
    nodes.retain(|node| node.mtime >= 0 && node.path != b"links/to-short-again");
    sandbox.plant("source", &nodes);
    sandbox.write_tar("source.tar", &nodes);
    (sandbox, nodes)
}

#[test]
fn images_of_our_own_in_every_codec() {
    if !tools::need(&["tar"]) || !tools::root() {
        return;
    }
    let (sandbox, nodes) = with_source(31);
    let expected = snapshot::of_model(&nodes, false);
    for codec in ["none", "gzip", "xz:level=1", "lzma:level=1", "zstd:level=3", "lz4", "lzo"] {
        sandbox.good(&["pack", "source", "image.sqfs", "-c", codec, "-b", "16K", "--force", "--quiet"]);
        for options in [&["-r", "."][..], &["-r", ".", "--no-sparse"]] {
            let found = extract(&sandbox, &tar_of(&sandbox, "image.sqfs", options));
            snapshot::assert_same(&format!("{codec} {options:?}"), &expected, &found, Except::default());
        }
    }
}

#[test]
fn images_of_other_programs() {
    if !tools::need(&["tar", "mksquashfs", "tar2sqfs", "sqfs2tar"]) || !tools::root() {
        return;
    }
    let (sandbox, nodes) = with_source(32);
    let expected = snapshot::of_model(&nodes, false);
    for codec in ["gzip", "xz", "zstd", "lz4"] {
        let options = ["-noappend", "-no-progress", "-b", "16K", "-comp", codec];
        sandbox.peer("mksquashfs", &[&["source", "one.sqfs"][..], &options].concat());
        let mut tar2sqfs = sandbox.program("tar2sqfs", &["-qf", "-b", "16K", "-c", codec, "two.sqfs"]);
        Ran::good(tar2sqfs.stdin(sandbox.open("source.tar")));
        for image in ["one.sqfs", "two.sqfs"] {
            let what = format!("{codec} {image}");
            let ours = tar_of(&sandbox, image, &["-r", "."]);
            snapshot::assert_same(&what, &expected, &extract(&sandbox, &ours), Except::default());
            let peer = sandbox.peer("sqfs2tar", &["-r", ".", image]).stdout;
            assert_eq!(names(&ours), names(&peer), "{what}: another order than the peer's");
        }
    }
}

/// Names of a tar's entries, in order.
fn names(tar: &[u8]) -> Vec<Vec<u8>> {
    use packline_tree::Source as _;
    let options = packline_archives::tar::TarOptions::named("tar");
    let mut source = packline_archives::tar::TarSource::new(tar, options);
    std::iter::from_fn(|| source.next_entry().unwrap()).map(|entry| entry.path).collect()
}

#[test]
fn there_and_back_is_the_same_image() {
    if !tools::root() {
        return;
    }
    let (sandbox, _) = with_source(33);
    sandbox.good(&["pack", "source.tar", "one.sqfs", "-b", "16K", "--quiet"]);
    sandbox.write("back.tar", tar_of(&sandbox, "one.sqfs", &["-r", "."]));
    sandbox.good(&["pack", "back.tar", "two.sqfs", "-b", "16K", "--quiet"]);
    let again = tar_of(&sandbox, "two.sqfs", &["-r", "."]);
    assert!(sandbox.read("back.tar") == again, "the tar of the image of the tar is another");
}

#[test]
fn the_bytes_do_not_depend_on_the_machine() {
    let sandbox = sandbox();
    // Eight blocks of bzip2: more than there are workers.
    generate::write_tar(&sandbox.at("bulk.tar"), |sink| generate::mixed_bulk(sink, 7)).unwrap();
    sandbox.good(&["pack", "bulk.tar", "image.sqfs", "-c", "lz4", "-b", "64K", "--quiet"]);
    for compression in [&[][..], &["-c", "gzip"], &["-c", "zstd"], &["-c", "bzip2"]] {
        let reference = tar_of(&sandbox, "image.sqfs", &[compression, &["--serial"]].concat());
        for line in ["--num-jobs 0", "--num-jobs 1 --mem 48M", "--num-jobs 2", "--num-jobs 7", "--num-jobs 7 --mem 48M"]
        {
            let options: Vec<&str> = compression.iter().copied().chain(line.split(' ')).collect();
            assert!(tar_of(&sandbox, "image.sqfs", &options) == reference, "{options:?}: other bytes than --serial");
        }
    }
}

#[test]
fn a_reader_may_close_the_pipe_early() {
    if !tools::root() {
        return;
    }
    let (sandbox, _) = with_source(34);
    sandbox.good(&["pack", "source.tar", "image.sqfs", "--quiet"]);
    let mut command = sandbox.command(&["sqfs2tar", "image.sqfs"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
}

#[test]
fn parts_of_a_tree_under_other_names() {
    let sandbox = sandbox();
    let dir = |path: &str| Node::dir(path.to_string());
    let nodes =
        [dir(""), dir("a"), dir("a/b"), Node::file("a/b/f", *b"1"), dir("ab"), dir("c"), Node::file("c/g", *b"2")];
    sandbox.write_tar("a.tar", &nodes);
    sandbox.good(&["pack", "a.tar", "image.sqfs", "--quiet"]);
    let shown = |options: &[&str]| {
        let names = names(&tar_of(&sandbox, "image.sqfs", options)).into_iter();
        names.map(|name| String::from_utf8(name).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(shown(&[]), ["a", "a/b", "a/b/f", "ab", "c", "c/g"]);
    assert_eq!(shown(&["-r", "x/y"]), ["x/y", "x/y/a", "x/y/a/b", "x/y/a/b/f", "x/y/ab", "x/y/c", "x/y/c/g"]);
    assert_eq!(shown(&["-d", "a"]), ["b", "b/f"]);
    assert_eq!(shown(&["-d", "a/b", "-k"]), ["a", "a/b", "a/b/f"]);
    assert_eq!(shown(&["-d", "a/b", "-d", "/c/"]), ["a", "a/b", "a/b/f", "c", "c/g"]);
    assert_eq!(shown(&["-d", "a/b", "-r", "."]), ["", "f"]);
    assert!(sandbox.good(&["sqfs2tar", "image.sqfs", "-d", "none"]).stderr.contains("none"));
    for wrong in [&["-r", "/"][..], &["-r", ".."], &["-d", "../x"], &["-c", "lz4"]] {
        sandbox.bad(1, &[&["sqfs2tar", "image.sqfs"], wrong].concat());
    }
}
