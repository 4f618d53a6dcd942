//! `sqfs2tar`: what GNU tar extracts from our tars is what the image was made from, whoever made it, and the bytes never depend
//! on the machine.

use packline_testkit::model::Node;
use packline_testkit::packer::Packer;
use packline_testkit::snapshot::{self, Except, Snapshot};
use packline_testkit::{generate, plant, tar, tools};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");

fn sqfs2tar(image: &Path, options: &[&str]) -> Output {
    Command::new(PACKLINE).arg("sqfs2tar").args(options).arg(image).stdin(Stdio::null()).output().unwrap()
}

/// The tar of an image; it must be made without an error.
fn tar_of(image: &Path, options: &[&str]) -> Vec<u8> {
    let output = sqfs2tar(image, options);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{options:?}: {said}");
    output.stdout
}

fn extract(tar: &[u8], into: &Path) -> Snapshot {
    let archive = into.with_extension("tar");
    std::fs::write(&archive, tar).unwrap();
    std::fs::create_dir(into).unwrap();
    let options = ["-xpP", "--xattrs", "--xattrs-include=*", "--numeric-owner", "-C"];
    tools::run(Command::new("tar").args(options).arg(into).arg("-f").arg(&archive)).unwrap();
    let found = snapshot::of_directory(into).unwrap();
    std::fs::remove_dir_all(into).unwrap();
    found
}

/// A place with a tree, its tar, and what is found in them.
fn place(seed: u64) -> (TempDir, PathBuf, PathBuf, Vec<Node>) {
    let top = tempfile::tempdir().unwrap();
    let (source, archive) = (top.path().join("source"), top.path().join("source.tar"));
    let mut nodes = generate::small_tree(seed, 16_384);
    // mksquashfs wraps times before 1970 round, and makes two inodes of a symbolic link with two names.
    nodes.retain(|node| node.mtime >= 0 && node.path != b"links/to-short-again");
    std::fs::create_dir(&source).unwrap();
    plant::plant(&nodes, &source).unwrap();
    std::fs::write(&archive, tar::to_bytes(&nodes)).unwrap();
    (top, source, archive, nodes)
}

#[test]
fn images_of_our_own_in_every_codec() {
    if !tools::need(&["tar"]) || !tools::root() {
        return;
    }
    let (top, source, _, nodes) = place(31);
    let expected = snapshot::of_model(&nodes, false);
    let image = top.path().join("image.sqfs");
    for codec in ["none", "gzip", "xz:level=1", "lzma:level=1", "zstd:level=3", "lz4", "lzo"] {
        Packer::new(PACKLINE).pack(&source, &image, &["-c", codec, "-b", "16K", "--force", "--quiet"]);
        for options in [&["-r", "."][..], &["-r", ".", "--no-sparse"]] {
            let found = extract(&tar_of(&image, options), &top.path().join("found"));
            snapshot::assert_same(&format!("{codec} {options:?}"), &expected, &found, Except::default());
        }
    }
}

#[test]
fn images_of_other_programs() {
    if !tools::need(&["tar", "mksquashfs", "tar2sqfs", "sqfs2tar"]) || !tools::root() {
        return;
    }
    let (top, source, archive, nodes) = place(32);
    let expected = snapshot::of_model(&nodes, false);
    for codec in ["gzip", "xz", "zstd", "lz4"] {
        let (one, two) = (top.path().join("one.sqfs"), top.path().join("two.sqfs"));
        let mut mksquashfs = Command::new("mksquashfs");
        mksquashfs.arg(&source).arg(&one).args(["-noappend", "-no-progress", "-b", "16K", "-comp", codec]);
        tools::run(&mut mksquashfs).unwrap();
        let mut tar2sqfs = Command::new("tar2sqfs");
        tar2sqfs.args(["-qf", "-b", "16K", "-c", codec]).arg(&two).stdin(std::fs::File::open(&archive).unwrap());
        tools::run(&mut tar2sqfs).unwrap();
        for image in [&one, &two] {
            let what = format!("{codec} {}", image.display());
            let found = extract(&tar_of(image, &["-r", "."]), &top.path().join("found"));
            snapshot::assert_same(&what, &expected, &found, Except::default());
            let peer = tools::run(Command::new("sqfs2tar").args(["-r", "."]).arg(image)).unwrap().stdout;
            assert_eq!(names(&tar_of(image, &["-r", "."])), names(&peer), "{what}: another order than the peer's");
        }
    }
}

/// Names of a tar's entries, in order.
fn names(tar: &[u8]) -> Vec<Vec<u8>> {
    use packline_tree::Source as _;
    let options = packline_tree::tar::TarOptions::named("tar");
    let mut source = packline_tree::tar::TarSource::new(tar, options);
    std::iter::from_fn(|| source.next_entry().unwrap()).map(|entry| entry.path).collect()
}

#[test]
fn there_and_back_is_the_same_image() {
    let (top, _, archive, _) = place(33);
    let (one, two) = (top.path().join("one.sqfs"), top.path().join("two.sqfs"));
    let packer = Packer::new(PACKLINE);
    packer.pack(&archive, &one, &["-b", "16K", "--quiet"]);
    let back = top.path().join("back.tar");
    std::fs::write(&back, tar_of(&one, &["-r", "."])).unwrap();
    packer.pack(&back, &two, &["-b", "16K", "--quiet"]);
    let again = tar_of(&two, &["-r", "."]);
    assert!(std::fs::read(&back).unwrap() == again, "the tar of the image of the tar is another");
}

#[test]
fn the_bytes_do_not_depend_on_the_machine() {
    let top = tempfile::tempdir().unwrap();
    let (archive, image) = (top.path().join("bulk.tar"), top.path().join("image.sqfs"));
    generate::write_tar(&archive, |sink| generate::mixed_bulk(sink, 12)).unwrap();
    Packer::new(PACKLINE).pack(&archive, &image, &["-c", "lz4", "-b", "64K", "--quiet"]);
    for compression in [&[][..], &["-c", "gzip"], &["-c", "zstd"], &["-c", "bzip2"]] {
        let reference = tar_of(&image, &[compression, &["--serial"]].concat());
        for jobs in ["0", "1", "2", "7"] {
            for memory in [&[][..], &["--mem", "48M"]] {
                let options = [compression, &["--num-jobs", jobs], memory].concat();
                assert!(tar_of(&image, &options) == reference, "{options:?}: other bytes than --serial");
            }
        }
    }
}

#[test]
fn whoever_has_read_enough_may_go() {
    let (top, _, archive, _) = place(34);
    let image = top.path().join("image.sqfs");
    Packer::new(PACKLINE).pack(&archive, &image, &["--quiet"]);
    let mut command = Command::new(PACKLINE);
    command.arg("sqfs2tar").arg(&image).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn parts_of_a_tree_under_other_names() {
    let top = tempfile::tempdir().unwrap();
    let (archive, image) = (top.path().join("a.tar"), top.path().join("a.sqfs"));
    let dir = |path: &str| Node::dir(path.to_string());
    let nodes =
        [dir(""), dir("a"), dir("a/b"), Node::file("a/b/f", *b"1"), dir("ab"), dir("c"), Node::file("c/g", *b"2")];
    std::fs::write(&archive, tar::to_bytes(&nodes)).unwrap();
    Packer::new(PACKLINE).pack(&archive, &image, &["--quiet"]);
    let shown = |options: &[&str]| {
        let names = names(&tar_of(&image, options)).into_iter();
        names.map(|name| String::from_utf8(name).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(shown(&[]), ["a", "a/b", "a/b/f", "ab", "c", "c/g"]);
    assert_eq!(shown(&["-r", "x/y"]), ["x/y", "x/y/a", "x/y/a/b", "x/y/a/b/f", "x/y/ab", "x/y/c", "x/y/c/g"]);
    assert_eq!(shown(&["-d", "a"]), ["b", "b/f"]);
    assert_eq!(shown(&["-d", "a/b", "-k"]), ["a", "a/b", "a/b/f"]);
    assert_eq!(shown(&["-d", "a/b", "-d", "/c/"]), ["a", "a/b", "a/b/f", "c", "c/g"]);
    assert_eq!(shown(&["-d", "a/b", "-r", "."]), ["", "f"]);
    let missing = sqfs2tar(&image, &["-d", "none"]);
    assert!(missing.status.success() && String::from_utf8_lossy(&missing.stderr).contains("none"));
    for wrong in [&["-r", "/"][..], &["-r", ".."], &["-d", "../x"], &["-c", "lz4"]] {
        assert_eq!(sqfs2tar(&image, wrong).status.code(), Some(1), "{wrong:?}");
    }
}
