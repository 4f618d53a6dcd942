//! Tests of `packline pack`: each option of the table does what it says.
//! Long because the table names each option.

use std::{fs, path::Path};

use packline_testkit::{Sandbox, needed_memory, reader, snapshot, views};
use serde_json::Value;

use super::harness::{
    self, ClosedPipe, Ran, SharedBuffer, assert_options_are, host, io, parse, run, run_on, sample, sample_tar, sandbox,
};
use crate::args::keys::{OPENING, RECIPIENTS};
use crate::commands::pack::Pack;
use crate::dispatch;
use crate::host::Host;

/// Options that change the image: the arguments, and the arguments whose image must differ.
const CHANGING: &[(&str, &[&str], &[&str])] = &[
    ("codec", &["--codec", "gzip:level=1"], &[]),
    ("smallest", &["--smallest"], &[]),
    ("block-size", &["-b", "16K"], &[]),
    ("no-compress", &["--no-compress", "data,fragments"], &[]),
    ("no-compress", &["--stored", "all"], &["--stored", "data,fragments"]),
    ("fragments", &["--fragments", "small"], &[]),
    ("no-fragments", &["--no-fragments"], &["--fragments", "small"]),
    ("layout", &["--layout", "stable"], &[]),
    ("layout", &["--layout", "stable:align=512"], &["--layout", "stable"]),
    ("no-dedup", &["--no-dedup"], &[]),
    ("no-sparse", &["--no-sparse"], &[]),
    ("no-xattrs", &["--no-xattrs"], &[]),
    ("exportable", &["--exportable"], &[]),
    ("pad", &["--pad", "1M"], &[]),
    ("no-pad", &["--no-pad"], &[]),
    ("offset", &["--offset", "4K"], &[]),
    ("time", &["--time", "5"], &[]),
    ("exclude", &["-x", "*all", "-x", "/b"], &["-x", "*all"]),
    ("root-becomes", &["--root-becomes", "a"], &[]),
    ("no-symlink-retarget", &["--root-becomes", "a", "--no-symlink-retarget"], &["--root-becomes", "a"]),
    ("all-root", &["--all-root"], &[]),
    ("uid", &["--uid", "7"], &[]),
    ("gid", &["--gid", "7"], &["--uid", "7"]),
    ("mtime", &["--mtime", "12"], &[]),
    ("owner-map", &["--owner-map", "u:3-9:70"], &[]),
    ("xattrs-include", &["--xattrs-include", "trusted.*"], &[]),
    ("xattrs-exclude", &["--xattrs-exclude", "user.n*"], &[]),
];

/// Options of [`CHANGING`] that an EROFS image does not have.
const NOT_OF_EROFS: &[&str] = &["no-compress", "layout", "exportable", "no-pad"];

/// Options that only an EROFS image has, as in [`CHANGING`].
const OF_EROFS: &[(&str, &[&str], &[&str])] = &[
    ("kernel", &["-c", "lz4", "--kernel", "5.15"], &["-c", "lz4"]),
    ("compress-directories", &["--compress-directories"], &[]),
    ("label", &["--label", "rootfs"], &[]),
    ("uuid", &["--uuid", "00112233-4455-6677-8899-aabbccddeeff"], &[]),
];

/// Options that do not change the image. Each has its own test below, or in the tests of the program.
const KEEPING: &[&str] = &[
    "jobs",
    "readers",
    "mem",
    "serial",
    "force",
    "format",
    "quiet",
    "no-progress",
    "json",
    "stats",
    "queue-per",
    "policy",
    "main-thread-works",
    "trace",
    // Transcripts have these; order: crates/cli/tests/commands/pack/order.rs too.
    "manifest",
    "overlay",
    "run-commands",
    "one-file-system",
    "no-hard-links",
    "verify",
    "base",
    "base-any",
    "cache",
    "no-cache",
    "cache-size",
    "lenient",
    "order",
    // Tested together with those of squashfs-tools.
    "ignore-zeros",
    "files-from",
    "dereference",
    "exclude-from",
    "null",
    "verbose",
    "dry-run",
    "continue",
    "whiteouts", // tested with layers
    "remove",
    "platform",
    "registry-insecure",
    // crates/cli/tests/commands/verity.rs has these.
    "verity",
    "verity-salt",
    "verity-uuid",
    "verity-key",
    "verity-cert",
    // These need a special source or file; the tests of the program cover them.
    "rootless-owners",
    "file-contexts",
];

fn pack(sandbox: &Sandbox, name: &str, options: &[&str], stdin: &[u8], host: Host) -> Ran {
    let image = sandbox.arg(name);
    let arguments = [&["pack", "-f"], options, &["-", &image]].concat();
    run_on(&arguments, stdin, host)
}

fn image_of(sandbox: &Sandbox, options: &[&str], tar: &[u8]) -> Vec<u8> {
    image_named(sandbox, "image", options, tar)
}

fn image_named(sandbox: &Sandbox, name: &str, options: &[&str], tar: &[u8]) -> Vec<u8> {
    let ran = pack(sandbox, name, options, tar, host());
    assert_eq!(ran.status, 0, "{name} {options:?}: {ran:?}");
    sandbox.read(name)
}

#[test]
fn every_option_is_tested() {
    let changing = CHANGING.iter().chain(OF_EROFS).map(|case| case.0);
    // `tests/commands/pack/prepend.rs` tests the file before an image, and `tests/commands/encrypted_trees.rs` the keys.
    let elsewhere = [&["prepend", "recovery"], &OPENING[..], &RECIPIENTS].concat();
    assert_options_are("pack", changing.chain(KEEPING.iter().copied()).chain(elsewhere));
}

#[test]
fn options_of_the_image_change_it() {
    let sandbox = sandbox();
    let tar = sample_tar();
    for (long, options, without) in CHANGING {
        assert!(image_of(&sandbox, options, &tar) != image_of(&sandbox, without, &tar), "--{long} did nothing");
    }
    assert!(image_of(&sandbox, &["--no-fragments"], &tar) == image_of(&sandbox, &["--fragments=never"], &tar));
    assert!(image_of(&sandbox, &["--all-root"], &tar) == image_of(&sandbox, &["--uid=0", "--gid=0"], &tar));
}

#[test]
fn options_of_the_image_change_an_erofs_image_or_are_rejected() {
    let sandbox = sandbox();
    let tar = sample_tar();
    let image = |options: &[&str]| image_named(&sandbox, "image.erofs", options, &tar);
    for (long, options, without) in CHANGING.iter().chain(OF_EROFS) {
        if NOT_OF_EROFS.contains(long) {
            let ran = pack(&sandbox, "image.erofs", options, &tar, host());
            let what = format!("packline: --{long}: ");
            assert!(ran.status == 2 && ran.err.starts_with(&what), "{ran:?}");
        } else {
            assert!(image(options) != image(without), "--{long} did nothing");
        }
    }
}

#[test]
fn the_image_holds_the_tree_from_a_tar_and_from_a_directory() {
    let sandbox = sandbox();
    let nodes = sample();
    let expected = snapshot::of_model(&nodes, true);
    for codec in ["none", "gzip", "xz", "lzma", "zstd", "lz4", "lzo"] {
        image_of(&sandbox, &["-c", codec], &sample_tar());
        views::assert_sound(codec, &sandbox.at("image"), &expected);
    }
    if packline_testkit::tools::root() {
        sandbox.plant("source", &nodes);
        let ran = run(&["pack", "-f", &sandbox.arg("source"), &sandbox.arg("image")]);
        assert_eq!(ran.status, 0, "{ran:?}");
        views::assert_sound("directory", &sandbox.at("image"), &expected);
    }
}

#[test]
fn output_is_independent_of_workers_readers_and_memory() {
    let sandbox = sandbox();
    let tar = sample_tar();
    let image = image_of(&sandbox, &[], &tar);
    for options in [&["-j0"][..], &["-j1"], &["-j7"], &["--mem", "40M"], &["--serial"], &["--mem", "1G", "-j", "3"]] {
        assert!(image_of(&sandbox, options, &tar) == image, "{options:?}");
    }
    sandbox.create_dir("source");
    sandbox.write("source/file", vec![5; 300_000]);
    let from_directory = |readers: &str| {
        let ran = run(&["pack", "-f", "--readers", readers, &sandbox.arg("source"), &sandbox.arg("image")]);
        assert_eq!(ran.status, 0, "{ran:?}");
        sandbox.read("image")
    };
    assert!(from_directory("0") == from_directory("9"));
}

#[test]
fn verify_option_reads_image_back() {
    let sandbox = sandbox();
    let tar = sample_tar();
    let image = image_of(&sandbox, &["-c", "zstd"], &tar);
    for options in [&["-j0"][..], &["-j3", "--mem", "64M"], &["--offset", "8K"], &["--no-pad"]] {
        let ran = pack(&sandbox, "read", &[&["-c", "zstd", "--verify"], options].concat(), &tar, host());
        assert!(
            ran.status == 0 && ran.err.contains("verified: ") && ran.err.contains("match the packed content"),
            "{ran:?}"
        );
        let bytes = sandbox.read("read");
        let from = if options[0] == "--offset" { 8 << 10 } else { 0 };
        assert!(options[0] == "--no-pad" || bytes[from..] == image, "{options:?}");
        let ran = pack(&sandbox, "read", &[&["--json", "--verify"], options].concat(), &tar, host());
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        let whole = (sandbox.read("read").len() - from) as u64;
        assert!(report["verified_bytes"] == whole && report["verify_seconds"].is_f64(), "{report}");
    }
    let ran = pack(&sandbox, "image.lrz", &["--verify"], &tar, host());
    assert!(ran.status == 2 && ran.err.contains("--verify: not supported for .lrz"), "{ran:?}");
}

#[test]
fn drop_ins_with_verify_read_image_back() {
    let sandbox = sandbox();
    let tar = sample_tar();
    sandbox.create_dir("source");
    sandbox.write("source/file", vec![5; 300_000]);
    let source = sandbox.arg("source");
    let image = sandbox.arg("image");
    let commands = [
        (&["tar2sqfs", "-f", &image][..], "--verify"),
        (&["gensquashfs", "-f", "-D", &source, &image], "--verify"),
        (&["mksquashfs", &source, &image, "-noappend", "-mkfs-time", "0"], "-verify"),
        (&["sqfstar", "-force", "-mkfs-time", "0", &image], "-verify"),
    ];
    for (words, verify) in commands {
        let image_of = |verify: &[&str]| {
            let ran = run_on(&[&words[..1], verify, &words[1..]].concat(), &tar, host());
            assert!(ran.status == 0 && ran.out.contains("verified: ") != verify.is_empty(), "{words:?}: {ran:?}");
            sandbox.read("image")
        };
        assert!(image_of(&[]) == image_of(&[verify]), "{words:?}");
    }
}

/// The directory options that a command line asks for.
fn directory_options(sandbox: &Sandbox, options: &[&str]) -> packline_tree::DirectoryOptions {
    sandbox.create_dir("source");
    let source = sandbox.arg("source");
    let image = sandbox.arg("image");
    let (pack, invocation) = parse::<Pack>(&[options, &[&source, &image]].concat());
    let mut io = io(Vec::new(), Box::new(SharedBuffer::default()), Box::new(SharedBuffer::default()), host());
    match pack.request(&invocation, &mut io).unwrap().source {
        packline::Source::Directory { options, .. } => options,
        _ => panic!("not a directory"),
    }
}

#[test]
fn directory_options_take_effect() {
    use packline_tree::MountPoints;
    let sandbox = sandbox();
    let plain = directory_options(&sandbox, &[]);
    assert_eq!((plain.readers, plain.hard_links, plain.xattrs), (4, true, true));
    assert_eq!(plain.mount_points, MountPoints::Enter);
    assert_eq!(directory_options(&sandbox, &["--one-file-system"]).mount_points, MountPoints::Empty);
    assert!(!directory_options(&sandbox, &["--no-hard-links"]).hard_links);
    assert!(!directory_options(&sandbox, &["--no-xattrs"]).xattrs);
    assert_eq!(directory_options(&sandbox, &["--readers", "2"]).readers, 2);
    assert_eq!(directory_options(&sandbox, &["-j0"]).readers, 0);
    assert!(directory_options(&sandbox, &["-x", "*.o"]).excludes.matches(b"x/a.o", false));
}

#[test]
fn rejects_directory_options_for_tar() {
    let sandbox = sandbox();
    for option in
        ["--continue", "--files-from=names", "--one-file-system", "--dereference", "--no-hard-links", "--readers=2"]
    {
        let ran = pack(&sandbox, "image", &[option], &sample_tar(), host());
        assert_eq!(ran.status, 2, "{ran:?}");
    }
    assert_eq!(sandbox.names(), Vec::<String>::new());
}

#[test]
fn memory_decides_how_many_workers_run_and_it_is_reported() {
    let sandbox = sandbox();
    let ran = pack(&sandbox, "image", &["-j", "9", "--mem", "40M", "--json"], &sample_tar(), host());
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["workers_wanted"], 9);
    assert!(summary["workers"].as_u64().unwrap() < 9, "{summary}");
    assert!(ran.err.contains(" instead of 9"), "{}", ran.err);
    let limited = Host { memory_limit: |_| Some(40 << 20), ..host() };
    let ran = pack(&sandbox, "image", &["-j", "9", "--json"], &sample_tar(), limited);
    assert_eq!(serde_json::from_str::<Value>(&ran.out).unwrap()["workers"], summary["workers"]);
}

#[test]
fn names_sufficient_memory_in_error() {
    let sandbox = sandbox();
    let ran = pack(&sandbox, "image", &["--mem", "1M"], &sample_tar(), host());
    assert_eq!(ran.status, 1, "{ran:?}");
    let needed = needed_memory(&ran.err);
    assert_eq!(sandbox.names(), Vec::<String>::new());
    let ran = pack(&sandbox, "image", &["-j1", "--mem", needed], &sample_tar(), host());
    assert_eq!(ran.status, 0, "{ran:?}");
}

#[test]
fn an_existing_image_needs_force_and_survives_an_error() {
    let sandbox = sandbox();
    sandbox.write("image", "old");
    let image = sandbox.arg("image");
    let ran = run_on(&["pack", "-", &image], &sample_tar(), host());
    assert_eq!(ran.status, 1);
    assert!(ran.err.starts_with(&format!("packline: {image}: already exists")), "{}", ran.err);
    let cut = &sample_tar()[..200_000];
    let ran = run_on(&["pack", "-f", "-", &image], cut, host());
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("standard input") && ran.err.contains("byte"), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert_eq!(sandbox.read("image"), b"old");
    assert_eq!(sandbox.names(), ["image"]);
}

#[test]
fn the_container_follows_the_name_or_the_format() {
    let sandbox = sandbox();
    let tar = sample_tar();
    for (name, options, status) in [
        ("a.lrz", &[][..], 0),
        ("a.pln", &[], 2),
        ("a.sqfs", &["--format", "lrz", "-c", "none:level=3"], 0),
        ("b.lrz", &["--format", "squashfs"], 0),
        ("c.erofs", &[], 0),
        ("c.erofs", &["-c", "lzo"], 2),
        ("d.erofs.img", &["--format", "squashfs"], 0),
        ("e.sqfs", &["--format", "erofs"], 0),
        ("c.lrz", &["-c", "zstd"], 2),
        ("c.lrz", &["-c", "lzo:level=10"], 2),
    ] {
        assert_eq!(pack(&sandbox, name, options, &tar, host()).status, status, "{name} {options:?}");
    }
    let at = |name: &str, start: usize| sandbox.read(name)[start..start + 4].to_vec();
    let magics = ["a.lrz", "a.sqfs", "b.lrz", "d.erofs.img"].map(|name| at(name, 0));
    assert_eq!(magics, [b"LRZI", b"LRZI", b"hsqs", b"hsqs"].map(|magic| magic.to_vec()));
    assert_eq!(["c.erofs", "e.sqfs"].map(|name| at(name, 1024)), [[0xe2_u8, 0xe1, 0xf5, 0xe0]; 2].map(Vec::from));
    assert_eq!(sandbox.names(), ["a.lrz", "a.sqfs", "b.lrz", "c.erofs", "d.erofs.img", "e.sqfs"]);
}

#[test]
fn rejects_name_of_other_format_without_format_option() {
    let sandbox = sandbox();
    let tar = sample_tar();
    for (name, kind) in [
        ("y.tar.lz4", "a tar compressed with lz4"),
        ("y.zip", "a zip archive"),
        ("y.gz", "a file compressed with gzip"),
    ] {
        let ran = pack(&sandbox, name, &[], &tar, host());
        let what = format!("{name}: the name suggests {kind}, which pack does not write");
        assert!(ran.status == 2 && ran.err.contains(&what) && ran.err.contains("--format"), "{ran:?}");
        assert_eq!(sandbox.names(), Vec::<String>::new());
    }
    let ran = pack(&sandbox, "y.xyz", &[], &tar, host());
    assert!(
        ran.status == 2
            && ran.err.contains("'.xyz' (expected ")
            && ran.err.contains(".sqfs, .squashfs")
            && ran.err.contains("--format"),
        "{ran:?}"
    );
    assert_eq!(pack(&sandbox, "y.xyz", &["--format", "squashfs"], &tar, host()).status, 0);
    assert_eq!(pack(&sandbox, "y.tar.zst", &["--format", "squashfs"], &tar, host()).status, 0);
    for (name, container) in
        [("y", "squashfs"), ("y.img", "squashfs"), ("y.lrz", "lrz"), ("y.TAR", "tar"), ("y.tgz", "tar")]
    {
        let ran = pack(&sandbox, name, &["--no-progress"], &tar, host());
        assert!(ran.status == 0 && ran.err.starts_with(&format!("{container}: ")), "{ran:?}");
        let ran = pack(&sandbox, name, &["--json"], &tar, host());
        assert_eq!(serde_json::from_str::<Value>(&ran.out).unwrap()["format"], container);
    }
}

#[test]
fn a_summary_in_json_is_not_written_into_an_archive() {
    let tar = sample_tar();
    for format in ["lrz", "squashfs"] {
        let ran = run_on(&["pack", "--format", format, "--json", "-", "-"], &tar, host());
        assert!(ran.status == 2 && ran.err.contains("--json") && ran.out.is_empty(), "{format}: {ran:?}");
    }
}

#[test]
fn the_summary_is_quiet_or_json_or_has_counters() {
    let sandbox = sandbox();
    let tar = sample_tar();
    let quiet = pack(&sandbox, "image", &["-q"], &tar, host());
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
    let plain = pack(&sandbox, "image", &["--no-progress"], &tar, host());
    assert!(plain.out.is_empty() && plain.err.contains("5 files") && plain.err.contains("1 equal file ("), "{plain:?}");
    assert!(!plain.err.contains("wake-ups"));
    assert!(pack(&sandbox, "image", &["--stats"], &tar, host()).err.contains("wake-ups"));
    let json = pack(&sandbox, "image", &["--json"], &tar, host());
    let summary: Value = serde_json::from_str(&json.out).unwrap();
    assert!(json.err.is_empty());
    let size = fs::metadata(sandbox.at("image")).unwrap().len();
    for (key, value) in [
        ("files", 5),
        ("hard_links", 1),
        ("symlinks", 1),
        ("duplicate_files", 1),
        ("output_bytes", size),
        ("peak_memory_bytes", 12_345),
    ] {
        assert_eq!(summary[key], value, "{key}: {summary}");
    }
    assert_eq!(summary.get("pipeline"), None);
    let stats: Value =
        serde_json::from_str(&pack(&sandbox, "image", &["--json", "--stats"], &tar, host()).out).unwrap();
    assert!(stats["pipeline"]["fed"].as_u64().unwrap() > 0 && stats["tables"]["ids"].as_u64().unwrap() > 0, "{stats}");
    let jobs =
        |what: &str| -> u64 { stats[what].as_array().unwrap().iter().map(|one| one["jobs"].as_u64().unwrap()).sum() };
    assert!(jobs("queues") > 0 && jobs("queues") == jobs("worker_stats"), "{stats}");
}

#[test]
fn scheduling_leaves_the_image_as_it_is() {
    let sandbox = sandbox();
    let tar = sample_tar();
    let two_caches = Host { topology: harness::two_caches, ..host() };
    let plain = image_of(&sandbox, &[], &tar);
    for (share, queues) in [("none", 4), ("llc", 2), ("all", 1)] {
        for more in [&["--policy", "earliest"][..], &["--policy", "local"], &["--main-thread-works"]] {
            let options = [&["--queue-per", share, "--jobs", "4", "--json", "--stats"], more].concat();
            let ran = pack(&sandbox, "image", &options, &tar, two_caches.clone());
            let summary: Value = serde_json::from_str(&ran.out).unwrap();
            assert_eq!(summary["queues"].as_array().unwrap().len(), queues, "{share}");
            assert!(sandbox.read("image") == plain, "{options:?}");
        }
    }
    let refused = pack(&sandbox, "image", &["--share", "all", "--serial"], &tar, host());
    assert!(refused.status == 2 && refused.err.contains("--serial"), "{refused:?}");
}

#[test]
fn a_trace_has_every_job() {
    let sandbox = sandbox();
    let tar = sample_tar();
    let path = sandbox.arg("trace.json");
    let ran = pack(&sandbox, "image", &["--trace", &path, "--json", "--stats"], &tar, host());
    assert_eq!(ran.status, 0, "{ran:?}");
    let (summary, trace): (Value, Value) =
        (serde_json::from_str(&ran.out).unwrap(), serde_json::from_slice(&sandbox.read("trace.json")).unwrap());
    let events = trace["traceEvents"].as_array().unwrap();
    let jobs = events.iter().filter(|event| event["cat"] == "job").count() as u64;
    assert_eq!(summary["pipeline"]["jobs"], jobs, "{trace}");
    assert_eq!(
        (&trace["otherData"]["workers"], &trace["otherData"]["queue_per"]),
        (&summary["workers"], &Value::from("llc"))
    );
    let again = run_on(&["pack", "-q", "--trace", &path, "-", &sandbox.arg("another")], &tar, host());
    assert!(again.status == 1 && again.err.contains("already exists"), "{again:?}");
    assert!(!sandbox.at("another").exists());
}

#[test]
fn times_come_from_the_option_or_the_environment() {
    let sandbox = sandbox();
    let tar = sample_tar();
    let epoch = |text: &str| Host { source_date_epoch: Some(text.to_string()), ..host() };
    let created = |options: &[&str], host: Host| {
        let ran = pack(&sandbox, "image", options, &tar, host);
        assert_eq!(ran.status, 0, "{ran:?}");
        reader::inspect(&sandbox.at("image")).unwrap().superblock.created
    };
    assert_eq!(created(&[], host()), 0);
    assert_eq!(created(&[], epoch("")), 0);
    assert_eq!(created(&[], epoch("1000000000")), 1_000_000_000);
    assert_eq!(created(&["--time", "now"], epoch("1000000000")), 77);
    assert_eq!(created(&["--time", "5"], host()), 5);
    let image = image_of(&sandbox, &["--time", "1000000000"], &tar);
    pack(&sandbox, "image", &[], &tar, epoch("1000000000"));
    assert!(sandbox.read("image") == image);
    for wrong in ["x", "-1", "4294967296", "1.5"] {
        assert_eq!(pack(&sandbox, "image", &[], &tar, epoch(wrong)).status, 2, "{wrong}");
        assert_eq!(pack(&sandbox, "image", &[&format!("--time={wrong}")], &tar, host()).status, 2, "{wrong}");
    }
}

#[test]
fn values_out_of_range_and_malformed_are_usage_errors() {
    let sandbox = sandbox();
    for options in [
        &["-b", "3K"][..],
        &["-b", "2M"],
        &["-b", "5000"],
        &["-b", "128X"],
        &["-b", ""],
        &["-j", "-1"],
        &["-j", "2000"],
        &["-j", "two"],
        &["--mem", "lots"],
        &["--mem", "1.5G"],
        &["--pad", "0"],
        &["--uid", "4294967296"],
        &["--uid", "root"],
        &["--readers", "65"],
        &["--fragments", "some"],
        &["--layout", "stable:align=256"],
        &["--layout", "stable:align=2M"],
        &["--stored", "inodes,tables"],
        &["-c", "zip"],
        &["-c", "zstd:level=99"],
        &["-c", "xz:dictsize=7"],
        &["--root-becomes", "/"],
        &["--root-becomes", ".."],
        &["--format", ""],
        &["--no-fragments", "--fragments=small"],
        &["--no-pad", "--pad=8K"],
        &["--serial", "-j2"],
        &["--no-symlink-retarget"],
    ] {
        let ran = pack(&sandbox, "image", options, &sample_tar(), host());
        assert_eq!(ran.status, 2, "{options:?}: {ran:?}");
        assert!(ran.err.starts_with("packline: ") && ran.out.is_empty(), "{ran:?}");
    }
    assert_eq!(sandbox.names(), Vec::<String>::new());
}

#[test]
fn names_missing_source() {
    let sandbox = sandbox();
    let source = sandbox.arg("none");
    let ran = run(&["pack", &source, &sandbox.arg("image")]);
    assert_eq!(ran.status, 1);
    assert!(ran.err.starts_with(&format!("packline: {source}: cannot open: ")), "{}", ran.err);
}

#[test]
fn does_not_pack_image_into_itself() {
    let sandbox = sandbox();
    sandbox.write("file", "content");
    sandbox.write("image.sqfs", "an older image");
    let ran = run(&["pack", "-f", "--json", sandbox.path().to_str().unwrap(), &sandbox.arg("image.sqfs")]);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["files"], 1, "{ran:?}");
}

#[test]
fn keeps_image_if_summary_has_no_reader() {
    let sandbox = sandbox();
    let kept = SharedBuffer::default();
    let mut io = io(sample_tar(), Box::new(ClosedPipe), Box::new(kept.clone()), host());
    let image = sandbox.arg("image");
    let arguments: Vec<_> = ["packline", "pack", "--json", "-", &image].into_iter().map(Into::into).collect();
    assert_eq!(dispatch::run(&arguments, &mut io), 0);
    assert_eq!(kept.text(), "");
    assert!(Path::new(&image).exists());
}
