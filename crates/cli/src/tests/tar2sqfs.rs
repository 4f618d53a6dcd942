//! Tests `tar2sqfs`: options, defaults and exit codes of the program that it replaces.

use std::fs;

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{Sandbox, reader, snapshot, tar, views};

use super::harness::{
    ClosedPipe, Ran, SharedBuffer, assert_options_are, host, io, parse, run_on, sample, sample_tar, sandbox,
};
use crate::compat::tools_ng::tar2sqfs::Tar2Sqfs;
use crate::dispatch;
use crate::host::Host;

/// Options that change the image: the arguments, and the arguments whose image must differ.
const CHANGING: &[(&str, &[&str], &[&str])] = &[
    ("root-becomes", &["-r", "a"], &[]),
    ("no-symlink-retarget", &["-r", "a", "-S"], &["-r", "a"]),
    ("no-xattr", &["-x"], &[]),
    ("no-keep-time", &["-k"], &[]),
    ("exclude-dir", &["-E", "a/*l", "-E", "b/*"], &["-E", "a/*l"]),
    ("compressor", &["-c", "lz4"], &[]),
    ("comp-extra", &["-c", "lz4", "-X", "hc"], &["-c", "lz4"]),
    ("block-size", &["-b", "64K"], &[]),
    ("dev-block-size", &["-B", "1M"], &[]),
    ("defaults", &["-k", "-d", "mtime=9"], &["-k"]),
    ("exportable", &["-e"], &[]),
    ("no-tail-packing", &["-T"], &[]),
];

/// Options that do not change the image. Each has its own test below, or in `pack`.
const KEEPING: &[&str] =
    &["num-jobs", "queue-backlog", "force", "quiet", "no-skip", "verify", "cache", "no-cache", "cache-size"];

fn pack(sandbox: &Sandbox, options: &[&str], stdin: &[u8], host: Host) -> Ran {
    let image = sandbox.arg("image");
    let arguments = [&["tar2sqfs"], options, &[&image]].concat();
    run_on(&arguments, stdin, host)
}

fn image_of(sandbox: &Sandbox, options: &[&str]) -> Vec<u8> {
    let ran = pack(sandbox, &[&["-fq"], options].concat(), &sample_tar(), host());
    assert_eq!(ran.status, 0, "{options:?}: {ran:?}");
    sandbox.read("image")
}

#[test]
fn every_option_is_tested() {
    assert_options_are("tar2sqfs", CHANGING.iter().map(|case| case.0).chain(KEEPING.iter().copied()));
}

#[test]
fn options_of_the_image_change_it() {
    let sandbox = sandbox();
    for (long, options, without) in CHANGING {
        assert!(image_of(&sandbox, options) != image_of(&sandbox, without), "--{long} did nothing");
    }
}

#[test]
fn has_defaults_of_replaced_program() {
    let sandbox = sandbox();
    image_of(&sandbox, &[]);
    let report = views::assert_sound("defaults", &sandbox.at("image"), &snapshot::of_model(&sample(), true));
    let superblock = report.superblock;
    assert_eq!((superblock.codec().unwrap(), superblock.block_size, superblock.created), ("xz", 131_072, 0));
    assert_eq!(superblock.export_table, u64::MAX);
    assert_eq!(fs::metadata(sandbox.at("image")).unwrap().len() % 4096, 0);
}

#[test]
fn defaults_of_what_the_tar_does_not_describe() {
    let sandbox = sandbox();
    let tar = tar::to_bytes(&[Node::file("x/y", *b"content")]);
    let root_and_x = |options: &[&str], host: Host| {
        assert_eq!(pack(&sandbox, &[&["-fq"], options].concat(), &tar, host).status, 0);
        let report = reader::inspect(&sandbox.at("image")).unwrap();
        (report.superblock.created, format!("{:?}", report.tree))
    };
    let plain = root_and_x(&[], host());
    let set = root_and_x(&["-d", "uid=1,gid=0x2,mode=0700,mtime=3"], host());
    assert_eq!((plain.0, set.0), (0, 3));
    assert_ne!(plain.1, set.1);
    let epoch = |text: &str| Host { source_date_epoch: Some(text.to_string()), ..host() };
    assert_eq!(root_and_x(&["-d", "uid=1,gid=0x2,mode=0700"], epoch("3")), set);
    assert_eq!(root_and_x(&[], epoch("nonsense")), plain);
    for wrong in ["uid", "uid=", "uid=x", "uid=-1", "mode=010000", "mtime=4294967296", "size=1", "uid=1,,x=2"] {
        let ran = pack(&sandbox, &["-f", "-d", wrong], &tar, host());
        assert_eq!(ran.status, 1, "{wrong}: {ran:?}");
    }
}

#[test]
fn jobs_and_backlog_change_nothing_and_take_what_getopt_takes() {
    let sandbox = sandbox();
    let image = image_of(&sandbox, &[]);
    for options in [
        &["-j", "1"][..],
        &["-j", "-5"],
        &["-j0x3"],
        &["-Q", "1"],
        &["-Q", "-1"],
        &["--num-jobs=4", "--queue=7"],
        &["-j2", "-j", "3"],
    ] {
        assert!(image_of(&sandbox, options) == image, "{options:?}");
    }
    for wrong in [
        &["-j", "many"][..],
        &["-j", "100000"],
        &["-Q", "x"],
        &["-b", "100"],
        &["-b", "96K"],
        &["-B", "1000"],
        &["-c", "none"],
        &["-X", "level=10"],
        &["-r", "/"],
        &["-E", "../x"],
    ] {
        assert_eq!(pack(&sandbox, &[&["-f"], wrong].concat(), &sample_tar(), host()).status, 1, "{wrong:?}");
    }
}

#[test]
fn a_backlog_limits_the_window() {
    let window = |options: &[&str]| {
        let (command, _) = parse::<Tar2Sqfs>(&[options, &["image"]].concat());
        command.options.resources(&host()).window
    };
    assert_eq!(window(&[]), None);
    assert_eq!(window(&["-Q", "20"]), Some(20 * 131_072));
    assert_eq!(window(&["-Q", "1", "-b", "1M"]), Some(3 << 20));
}

#[test]
fn names_and_statistics_are_printed_unless_quiet() {
    let sandbox = sandbox();
    let ran = pack(&sandbox, &[], &sample_tar(), host());
    assert_eq!(ran.status, 0, "{ran:?}");
    for line in ["Packing a/big", "Hard link a/link -> a/big", "Files: 5", "Hard links: 1"] {
        assert!(ran.out.lines().any(|printed| printed == line), "{line}: {}", ran.out);
    }
    let ran = pack(&sandbox, &["-fq"], &sample_tar(), host());
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
}

#[test]
fn names_without_a_reader_are_no_failure() {
    let sandbox = sandbox();
    let kept = SharedBuffer::default();
    let mut io = io(sample_tar(), Box::new(ClosedPipe), Box::new(kept.clone()), host());
    let arguments: Vec<_> = ["tar2sqfs", &sandbox.arg("image")].into_iter().map(Into::into).collect();
    assert_eq!((dispatch::run(&arguments, &mut io), kept.text()), (0, String::new()));
    assert!(sandbox.at("image").exists());
}

/// All messages of a run begin with the name by which the program was called.
#[test]
fn warnings_and_errors_begin_with_the_name_of_the_drop_in() {
    let sandbox = sandbox();
    sandbox.write("file", "");
    let cache = sandbox.arg("file/cache");
    let image = sandbox.arg("image");
    for (words, called) in [
        (&["tar2sqfs"][..], "tar2sqfs"),
        (&["packline", "tar2sqfs"], "packline"),
        (&["packline", "pack", "-"], "packline"),
    ] {
        let kept = SharedBuffer::default();
        let mut io = io(sample_tar(), Box::new(SharedBuffer::default()), Box::new(kept.clone()), host());
        let words = [words, &["-fq", "--cache", &cache, &image]].concat();
        let words: Vec<_> = words.into_iter().map(Into::into).collect();
        assert_eq!(dispatch::run(&words, &mut io), 0, "{}", kept.text());
        assert!(kept.text().starts_with(&format!("{called}: warning: ")), "{}", kept.text());
    }
}

#[test]
fn rejects_empty_cache_name() {
    let sandbox = sandbox();
    for words in [&["pack", "-q", "-"][..], &["tar2sqfs", "-q"]] {
        let ran = run_on(&[words, &["--cache", "", &sandbox.arg("image")]].concat(), &sample_tar(), host());
        assert!(ran.status != 0 && ran.err.contains("--cache") && ran.err.contains("the value is empty"), "{ran:?}");
    }
    let ran = run_on(&["cache", "info", "--cache", ""], b"", host());
    assert!(ran.status == 2 && ran.err.contains("the value is empty"), "{ran:?}");
}

#[test]
fn an_existing_image_needs_force_and_an_error_leaves_nothing() {
    let sandbox = sandbox();
    assert_eq!(pack(&sandbox, &[], &sample_tar()[..100_000], host()).status, 1);
    assert_eq!(sandbox.names(), Vec::<String>::new());
    sandbox.write("image", "old");
    assert_eq!(pack(&sandbox, &[], &sample_tar(), host()).status, 1);
    assert_eq!(sandbox.read("image"), b"old");
}

#[test]
fn attributes_that_cannot_be_stored_are_skipped_or_fatal() {
    let sandbox = sandbox();
    let nodes = [
        Node::file("x", *b"1").xattr("system.posix_acl_access", *b"acl"),
        Node::file("y", *b"2").xattr("user.a", *b"b"),
    ];
    let tar = tar::to_bytes(&nodes);
    let skipped = pack(&sandbox, &["-q"], &tar, host());
    assert_eq!(skipped.status, 0, "{skipped:?}");
    assert!(skipped.err.contains("system.posix_acl_access") && skipped.err.lines().count() == 1, "{}", skipped.err);
    let fatal = pack(&sandbox, &["-fqs"], &tar, host());
    assert_eq!(fatal.status, 1);
    assert!(fatal.err.contains("system.posix_acl_access"), "{}", fatal.err);
    assert_eq!(pack(&sandbox, &["-fqx"], &tar, host()).err, "");
}

#[test]
fn the_new_root_keeps_its_attributes_and_what_is_below_it() {
    let sandbox = sandbox();
    let nodes = [
        Node::dir("top"),
        Node::dir("top/new").mode(0o700).owner(8, 9),
        Node::file("top/new/file", *b"content"),
        Node::new("top/new/hard", NodeKind::HardLink(b"top/new/file".to_vec())),
        Node::file("top/newer", *b"outside"),
    ];
    let moved = [
        Node::dir("").mode(0o700).owner(8, 9),
        Node::file("file", *b"content"),
        Node::new("hard", NodeKind::HardLink(b"file".to_vec())),
    ];
    let ran = pack(&sandbox, &["-q", "-r", "./top/new/"], &tar::to_bytes(&nodes), host());
    assert_eq!(ran.status, 0, "{ran:?}");
    views::assert_sound("new root", &sandbox.at("image"), &snapshot::of_model(&moved, true));
}

#[test]
fn missing_new_root_gives_empty_image_and_warning() {
    let sandbox = sandbox();
    let ran = pack(&sandbox, &["-q", "-r", "none/such"], &sample_tar(), host());
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.err.contains("none/such") && ran.err.contains("empty"), "{}", ran.err);
}
