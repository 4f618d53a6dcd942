//! Tests of `packline unpack` in process: its destination, and options that contradict each other.

use packline_testkit::Sandbox;

use super::harness::{host, parse, run, run_on, sample_tar, sandbox};
use crate::commands::unpack::Unpack;
use crate::host::Host;
use crate::host::fake_root::FakeRoot;

fn packed(sandbox: &Sandbox) -> String {
    let image = sandbox.arg("image.sqfs");
    assert_eq!(run_on(&["pack", "-q", "-f", "-", &image], &sample_tar(), host()).status, 0);
    image
}

#[test]
fn default_destination_is_name_without_ending() {
    let sandbox = sandbox();
    let image = packed(&sandbox);
    let lrz = sandbox.arg("tree.tar.lrz");
    assert_eq!(run_on(&["pack", "-q", "-", &lrz], &sample_tar(), host()).status, 0);
    let destination = |words: &[&str]| parse::<Unpack>(words).0.destination();
    assert_eq!(destination(&[&image]).unwrap().to_str(), Some("image"));
    assert_eq!(destination(&[&lrz]).unwrap().to_str(), Some("tree"));
    assert_eq!(destination(&[&image, "there"]).unwrap().to_str(), Some("there"));
    for words in [&["noending"][..], &["x.xyz"], &["--to", "tar", &image], &[&sandbox.arg("..")]] {
        assert!(destination(words).is_err(), "{words:?}");
    }
    // The default destination must not exist: tests run in this crate's directory, which has `src`.
    std::fs::copy(&image, sandbox.at("src.sqfs")).unwrap();
    let there = run(&["unpack", "-f", &sandbox.arg("src.sqfs")]);
    assert!(there.status == 1 && there.err.contains("src: already exists; name another"), "{there:?}");
}

#[test]
fn rejects_contradicting_options() {
    let sandbox = sandbox();
    let image = packed(&sandbox);
    let into = sandbox.arg("into");
    let tar = sandbox.arg("x.tar");
    let cases: [(&[&str], &str); 8] = [
        (&["--owner", "--no-owner", &image, &into], "--owner"),
        (&["-c", "gzip", &image, &into], "--compress"),
        (&["--subdir", "..", &image, &into], "--subdir"),
        (&["--no-times", &image, &tar], "--no-times"),
        (&["--dedupe", "reflink", &image, &tar], "--dedupe"),
        (&["--json", &image, "-"], "--json"),
        (&["-c", "nope", &image, &tar], "--compress"),
        (&["--subdir", "a", &image, &tar, "b"], "--subdir"),
    ];
    for (arguments, named) in cases {
        let ran = run(&[&["unpack"], arguments].concat());
        assert!(ran.status == 2 && ran.err.contains(named), "{arguments:?}: {ran:?}");
    }
    assert_eq!(sandbox.names(), ["image.sqfs"]);
}

#[test]
fn rejects_name_of_unsupported_format_unless_directory() {
    let sandbox = sandbox();
    let image = packed(&sandbox);
    for name in ["out.tar.lz4", "out.zip", "out.gz", "out.sqfs", "out.lrz"] {
        let ran = run(&["unpack", &image, &sandbox.arg(name)]);
        assert!(ran.status == 2 && ran.err.contains("the name suggests a") && ran.err.contains("--to"), "{ran:?}");
        assert_eq!(sandbox.names(), ["image.sqfs"], "{name}");
    }
    let lz4 = run(&["unpack", "--to", "tar", &image, &sandbox.arg("out.tar.lz4")]);
    assert!(lz4.status == 2 && lz4.err.contains("--compress"), "{lz4:?}");
    let slash = sandbox.arg("a.tar") + "/";
    for arguments in [
        &["--to", "directory", &image, &sandbox.arg("out.zip")][..],
        &[&image, &slash],
        &["-f", &image, &sandbox.arg("a.tar")],
    ] {
        let ran = run(&[&["unpack", "-q"], arguments].concat());
        assert_eq!(ran.status, 0, "{arguments:?}: {ran:?}");
    }
    assert!(sandbox.at("out.zip").is_dir() && sandbox.at("a.tar").is_dir());
    assert_eq!(run(&["unpack", "-q", &image, &sandbox.arg("B.TAR")]).status, 0);
    assert!(sandbox.at("B.TAR").is_file());
}

#[test]
fn summary_reports_work() {
    let sandbox = sandbox();
    let image = packed(&sandbox);
    let into = sandbox.arg("into");
    let ran = run(&["unpack", "--json", &image, &into]);
    let summary: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let number = |name: &str| summary[name].as_u64();
    assert_eq!(number("files"), Some(5));
    assert_eq!(number("directories"), Some(3));
    assert_eq!((number("symlinks"), number("hard_links"), number("errors")), (Some(1), Some(1), Some(0)));
    assert!(run(&["unpack", "-f", &image, &into]).err.contains("5 files, 3 directories, 1 symbolic link, 1 hard link"));
    let quiet = run(&["unpack", "-q", "-f", &image, &into]);
    assert!(quiet.out.is_empty() && quiet.err.is_empty());
    let missing = run(&["unpack", "--subdir", "nowhere", &image, &sandbox.arg("x")]);
    assert!(missing.status == 1 && missing.err.contains("nowhere does not exist"), "{missing:?}");
}

#[test]
fn rejects_static_build_under_fakeroot() {
    let sandbox = sandbox();
    sandbox.create_dir("tree");
    let tree = sandbox.arg("tree");
    let image = sandbox.arg("image.sqfs");
    let fakeroot = || Host { is_static: true, fake_root: Some(FakeRoot::Fakeroot), ..host() };
    for arguments in [vec!["pack", &tree, &image], vec!["mksquashfs", &tree, &image]] {
        let ran = run_on(&arguments, b"", fakeroot());
        assert!(ran.status == 1 && ran.err.contains("fakeroot has no effect"), "{arguments:?}: {ran:?}");
        assert!(!sandbox.at("image.sqfs").exists(), "{arguments:?}");
    }
    assert_eq!(run_on(&["pack", &tree, &image], b"", host()).status, 0);
    assert_eq!(run_on(&["list", &image], b"", fakeroot()).status, 0);
}
