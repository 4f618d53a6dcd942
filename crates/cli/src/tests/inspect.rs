//! Tests the commands that read images: their options, and usage errors.

use packline_testkit::Sandbox;

use super::harness::{assert_options_are, host, run, run_on, sample_tar, sandbox};
use crate::host::Host;

/// A sandbox with the sample as a tar and as an image.
fn with_image() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("tar", sample_tar());
    let ran = run(&["pack", "-q", &sandbox.arg("tar"), &sandbox.arg("image")]);
    assert_eq!(ran.status, 0, "{ran:?}");
    sandbox
}

#[test]
fn rdsquashfs_runs_last_requested_action() {
    let sandbox = with_image();
    let image = sandbox.arg("image");
    let actions = ["list", "cat", "xattr", "stat", "unpack-path"];
    let others = ["describe", "unpack-root", "no-dev", "no-sock", "no-fifo", "no-slink", "no-empty-dir", "no-sparse"];
    let kept = ["set-xattr", "set-times", "chmod", "chown", "quiet"];
    assert_options_are("rdsquashfs", actions.into_iter().chain(others).chain(kept));
    let out = |options: &[&str]| {
        let ran = run(&[&["rdsquashfs"], options, &[&image]].concat());
        assert_eq!(ran.status, 0, "{ran:?}");
        ran.out
    };
    for action in ["-l/a", "-x/a/small", "-s/a/big", "-ca/big", "-d"] {
        let alone = out(&[action]);
        assert!(!alone.is_empty(), "{action}");
        assert_eq!(out(&["-d", "--cat", "/none", "-l", "../x", action]), alone, "{action}");
    }
    out(&["-u", "/a", "-p", &sandbox.arg("out")]);
    assert!(sandbox.at("out/big").exists());
}

#[test]
fn has_options_of_replaced_programs() {
    let names =
        ["old", "new", "no-contents", "no-owner", "no-permissions", "timestamps", "inode-num", "super", "extract"];
    assert_options_are("sqfsdiff", names.into_iter());
    let theirs = ["compressor", "subdir", "keep-as-dir", "root-becomes", "no-skip", "no-xattr", "no-hard-links"];
    let ours = ["no-sparse", "continue", "num-jobs", "mem", "serial"];
    assert_options_are("sqfs2tar", theirs.into_iter().chain(ours));
}

#[test]
fn listing_does_not_examine_the_machine() {
    let sandbox = with_image();
    let unexamined = || Host { topology: |_| unreachable!(), machine_memory: || unreachable!(), ..host() };
    for command in ["list", "info"] {
        let ran = run_on(&[command, &sandbox.arg("image")], b"", unexamined());
        assert_eq!(ran.status, 0, "{ran:?}");
    }
}

#[test]
fn rejects_wrong_usage_and_non_images() {
    let sandbox = with_image();
    let image = sandbox.arg("image");
    let tar = sandbox.arg("tar");
    for arguments in [&["list"][..], &["cat", &image], &["info"], &["diff", &image], &["sqfsdiff", "-a", &image]] {
        assert_eq!(run(arguments).status, 2, "{arguments:?}");
    }
    assert_eq!(run(&["rdsquashfs", &image]).status, 1);
    assert_eq!(run(&["list", "--offset", "x", &image]).status, 2);
    for (arguments, status) in [(&["sqfs2tar", &tar][..], 1), (&["rdsquashfs", "-d", &tar], 1)] {
        let ran = run(arguments);
        assert_eq!(ran.status, status, "{arguments:?}: {ran:?}");
        assert!(ran.out.is_empty() && ran.err.contains("tar") && ran.err.lines().count() == 1, "{ran:?}");
    }
}
