//! Tests of `gensquashfs`: each option has an effect, and invalid options are errors.

use packline_testkit::model::Node;
use packline_testkit::{Sandbox, reader, tools};

use super::harness::{Ran, assert_options_are, host, run_on, sandbox};
use crate::host::Host;

/// Options that change the image: the arguments, and the arguments whose image must differ. `@NAME` is the path of a file in the
/// sandbox.
const CHANGING: &[(&str, &[&str], &[&str])] = &[
    ("pack-file", &["-F", "@list"], &["-D", "@source"]),
    ("pack-dir", &["-F", "@list", "-D", "@other"], &["-F", "@list"]),
    ("sort-file", &["-D", "@source", "-S", "@order"], &["-D", "@source"]),
    ("xattr-file", &["-D", "@source", "-A", "@attrs"], &["-D", "@source"]),
    ("selinux", &["-D", "@source", "-s", "@policy"], &["-D", "@source"]),
    ("set-uid", &["-D", "@source", "-u", "0x7"], &["-D", "@source"]),
    ("set-gid", &["-D", "@source", "-g", "4294967295"], &["-D", "@source"]),
    ("all-root", &["-D", "@source", "--all-root"], &["-D", "@source"]),
    ("keep-time", &["-D", "@source", "-k"], &["-D", "@source"]),
    ("keep-xattr", &["-D", "@source", "-x"], &["-D", "@source"]),
    ("no-hard-links", &["-D", "@source", "-H"], &["-D", "@source"]),
    ("compressor", &["-D", "@source", "-c", "lz4"], &["-D", "@source"]),
    ("comp-extra", &["-D", "@source", "-c", "lz4", "-X", "hc"], &["-D", "@source", "-c", "lz4"]),
    ("block-size", &["-D", "@source", "-b", "64K"], &["-D", "@source"]),
    ("dev-block-size", &["-D", "@source", "-B", "1M"], &["-D", "@source"]),
    ("defaults", &["-D", "@source", "-d", "mtime=9"], &["-D", "@source"]),
    ("exportable", &["-D", "@source", "-e"], &["-D", "@source"]),
    ("no-tail-packing", &["-D", "@source", "-T"], &["-D", "@source"]),
];

/// Options that do not change the image: of resources and output, and one that needs a mount point.
const KEEPING: &[&str] =
    &["num-jobs", "queue-backlog", "force", "quiet", "one-file-system", "verify", "cache", "no-cache", "cache-size"];

/// Returns `None`, and skips the test, if owners cannot be set.
fn with_sources() -> Option<Sandbox> {
    if !tools::root() {
        return None;
    }
    let sandbox = sandbox();
    let prose =
        |seed: usize, length: usize| -> Vec<u8> { (0..length).map(|at| (at * at / (seed + 3)) as u8).collect() };
    let nodes = [
        Node::file("a", prose(1, 200_000)).owner(5, 6).time(1_000_000).xattr("user.k", "v"),
        Node::dir("d").owner(7, 8),
        Node::file("d/b", prose(2, 1000)),
        Node::new("d/link", packline_testkit::model::NodeKind::HardLink(b"a".into())),
    ];
    for (name, nodes) in [("source", &nodes[..]), ("other", &[Node::file("a", "other")])] {
        sandbox.plant(name, nodes);
    }
    for (name, text) in [
        ("a", "listed"),
        ("list", "file /x/y 0644 1 2 a\n"),
        ("order", "-5 [dont_fragment] d/b\n"),
        ("attrs", "# file: d\nuser.x=\"y\"\n"),
        ("policy", "/.* x_u:object_r:x_t:s0\n"),
    ] {
        sandbox.write(name, text);
    }
    Some(sandbox)
}

fn arguments(sandbox: &Sandbox, options: &[&str]) -> Vec<String> {
    let full = |option: &&str| option.strip_prefix('@').map_or(option.to_string(), |name| sandbox.arg(name));
    options.iter().map(full).chain([sandbox.arg("image")]).collect()
}

fn pack(sandbox: &Sandbox, options: &[&str], host: Host) -> Ran {
    let arguments = arguments(sandbox, options);
    let arguments: Vec<&str> = ["gensquashfs"].into_iter().chain(arguments.iter().map(String::as_str)).collect();
    run_on(&arguments, b"", host)
}

fn image_of(sandbox: &Sandbox, options: &[&str]) -> Vec<u8> {
    let ran = pack(sandbox, &[&["-fq"], options].concat(), host());
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{options:?}: {ran:?}");
    sandbox.read("image")
}

#[test]
fn every_option_is_tested() {
    assert_options_are("gensquashfs", CHANGING.iter().map(|case| case.0).chain(KEEPING.iter().copied()));
}

#[test]
fn options_of_the_image_change_it() {
    let Some(sandbox) = with_sources() else { return };
    for (long, options, without) in CHANGING {
        assert!(image_of(&sandbox, options) != image_of(&sandbox, without), "--{long} did nothing");
    }
}

#[test]
fn has_defaults_of_replaced_program() {
    let Some(sandbox) = with_sources() else { return };
    image_of(&sandbox, &["-D", "@source"]);
    let report = reader::inspect(&sandbox.at("image")).unwrap();
    assert_eq!((report.superblock.codec().unwrap(), report.superblock.block_size), ("xz", 131_072));
    assert_eq!((report.superblock.export_table, report.superblock.created), (u64::MAX, 0));
    let root = &report.tree[&Vec::new()];
    assert_eq!((root.mode, root.uid, root.gid, root.mtime), (0o755, 0, 0, 0));
    let file = &report.tree[&b"a".to_vec()];
    assert_eq!((file.uid, file.gid, file.mtime, file.xattrs.len(), file.links), (5, 6, 0, 0, 2));
    let epoch = Host { source_date_epoch: Some("1234".to_string()), ..host() };
    assert_eq!(pack(&sandbox, &["-fq", "-k", "-D", "@source"], epoch).status, 0);
    let report = reader::inspect(&sandbox.at("image")).unwrap();
    let times = ["", "a"].map(|path| report.tree[&path.as_bytes().to_vec()].mtime);
    assert_eq!((report.superblock.created, times), (1234, [1234, 1_000_000]));
}

#[test]
fn last_owner_option_wins() {
    let Some(sandbox) = with_sources() else { return };
    for (options, uid, gid) in [
        (&["-u", "5", "--all-root"][..], 0, 0),
        (&["--all-root", "-u", "5"], 5, 0),
        (&["-u", "1", "-u", "2", "-g", "3"], 2, 3),
        (&["-g", "3"], 5, 3),
    ] {
        image_of(&sandbox, &[&["-D", "@source"], options].concat());
        let file = reader::inspect(&sandbox.at("image")).unwrap().tree[&b"a".to_vec()].clone();
        assert_eq!((file.uid, file.gid), (uid, gid), "{options:?}");
    }
}

#[test]
fn resource_options_do_not_change_output() {
    let Some(sandbox) = with_sources() else { return };
    let image = image_of(&sandbox, &["-D", "@source"]);
    for options in [&["-j", "1"][..], &["-j", "0"], &["-j", "7", "-Q", "3"], &["-o"], &["--num-j=3"]] {
        assert!(image_of(&sandbox, &[&["-D", "@source"], options].concat()) == image, "{options:?}");
    }
}

#[test]
fn wrong_usage_writes_nothing() {
    let Some(sandbox) = with_sources() else { return };
    for (options, part) in [
        (&[][..], "--pack-file or --pack-dir"),
        (&["-D", "@source", "-u", "x"], "--set-uid"),
        (&["-D", "@source", "-g", "4294967296"], "--set-gid"),
        (&["-D", "@source", "-b", "5000"], "power of two"),
        (&["-D", "@source", "-B", "512"], "--dev-block-size"),
        (&["-D", "@source", "-d", "size=1"], "--defaults"),
        (&["-D", "@source", "-c", "none"], "none"),
        (&["-D", "@source", "-X", "foo"], "--comp-extra"),
        (&["-D", "@source", "-z"], "-z"),
        (&["-D", "@source", "more"], "image"),
    ] {
        let ran = pack(&sandbox, options, host());
        assert_eq!(ran.status, 1, "{options:?}: {ran:?}");
        assert!(ran.err.contains(part), "{options:?}: {ran:?}");
        assert!(!sandbox.at("image").exists(), "{options:?}");
    }
    image_of(&sandbox, &["-D", "@source"]);
    let ran = pack(&sandbox, &["-D", "@source"], host());
    assert_eq!(ran.status, 1, "an image that is there is kept without -f: {ran:?}");
    let ran = run_on(&["gensquashfs", "-D", &sandbox.arg("source")], b"", host());
    assert!(ran.status == 1 && ran.err.contains("missing argument"), "{ran:?}");
    assert_eq!(run_on(&["gensquashfs", "-c", "xz", "-X", "help"], b"", host()).status, 0);
}
