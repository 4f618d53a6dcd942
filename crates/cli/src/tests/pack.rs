//! Tests of `packline pack`: each option of the table does what it says.

use std::fs;
use std::path::Path;

use packline_engine::{CpuLocation, Topology};
use packline_testkit::{reader, snapshot, views};
use serde_json::Value;

use super::harness::{Gone, Kept, Place, Ran, assert_options_are, host, io, parse, run, run_on, sample, sample_tar};
use crate::commands::pack::Pack;
use crate::dispatch;
use crate::ui::io::Host;

/// Options that change the image: what is given, and what it must differ from.
const CHANGING: &[(&str, &[&str], &[&str])] = &[
    ("codec", &["--codec", "gzip:level=1"], &[]),
    ("block-size", &["-b", "16K"], &[]),
    ("no-compress", &["--no-compress", "data,fragments"], &[]),
    ("no-compress", &["--stored", "all"], &["--stored", "data,fragments"]),
    ("fragments", &["--fragments", "small"], &[]),
    ("no-fragments", &["--no-fragments"], &["--fragments", "small"]),
    ("no-dedup", &["--no-dedup"], &[]),
    ("no-sparse", &["--no-sparse"], &[]),
    ("no-xattrs", &["--no-xattrs"], &[]),
    ("exportable", &["--exportable"], &[]),
    ("pad", &["--pad", "1M"], &[]),
    ("no-pad", &["--no-pad"], &[]),
    ("time", &["--time", "5"], &[]),
    ("exclude", &["-x", "*all", "-x", "/b"], &["-x", "*all"]),
    ("root-becomes", &["--root-becomes", "a"], &[]),
    ("no-symlink-retarget", &["--root-becomes", "a", "--no-symlink-retarget"], &["--root-becomes", "a"]),
    ("all-root", &["--all-root"], &[]),
    ("uid", &["--uid", "7"], &[]),
    ("gid", &["--gid", "7"], &["--uid", "7"]),
    ("mtime", &["--mtime", "12"], &[]),
];

/// Options that leave the image as it is, each with a test of its own below (or, for a terminal, beside the binary).
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
    "one-file-system",
    "no-hard-links",
    "lenient",
];

fn pack(place: &Place, name: &str, options: &[&str], stdin: &[u8], host: Host) -> Ran {
    let image = place.text(name);
    let arguments = [&["pack", "-f"], options, &["-", &image]].concat();
    run_on(&arguments, stdin, host)
}

fn image_of(place: &Place, options: &[&str], tar: &[u8]) -> Vec<u8> {
    let ran = pack(place, "image", options, tar, host());
    assert_eq!(ran.status, 0, "{options:?}: {ran:?}");
    fs::read(place.at("image")).unwrap()
}

#[test]
fn every_option_is_tested() {
    assert_options_are("pack", CHANGING.iter().map(|case| case.0).chain(KEEPING.iter().copied()));
}

#[test]
fn options_of_the_image_change_it() {
    let (place, tar) = (Place::new(), sample_tar());
    for (long, options, without) in CHANGING {
        assert!(image_of(&place, options, &tar) != image_of(&place, without, &tar), "--{long} did nothing");
    }
    assert!(image_of(&place, &["--no-fragments"], &tar) == image_of(&place, &["--fragments=never"], &tar));
    assert!(image_of(&place, &["--all-root"], &tar) == image_of(&place, &["--uid=0", "--gid=0"], &tar));
}

#[test]
fn the_image_holds_the_tree_from_a_tar_and_from_a_directory() {
    let (place, nodes) = (Place::new(), sample());
    let expected = snapshot::of_model(&nodes, true);
    for codec in ["none", "gzip", "xz", "lzma", "zstd", "lz4", "lzo"] {
        image_of(&place, &["-c", codec], &sample_tar());
        views::assert_sound(codec, &place.at("image"), &expected);
    }
    if packline_testkit::tools::root() {
        fs::create_dir(place.at("source")).unwrap();
        packline_testkit::plant::plant(&nodes, &place.at("source")).unwrap();
        let ran = run(&["pack", "-f", &place.text("source"), &place.text("image")]);
        assert_eq!(ran.status, 0, "{ran:?}");
        views::assert_sound("directory", &place.at("image"), &expected);
    }
}

#[test]
fn workers_readers_memory_and_the_reference_change_nothing() {
    let (place, tar) = (Place::new(), sample_tar());
    let image = image_of(&place, &[], &tar);
    for options in [&["-j0"][..], &["-j1"], &["-j7"], &["--mem", "40M"], &["--serial"], &["--mem", "1G", "-j", "3"]] {
        assert!(image_of(&place, options, &tar) == image, "{options:?}");
    }
    fs::create_dir(place.at("source")).unwrap();
    fs::write(place.at("source/file"), vec![5; 300_000]).unwrap();
    let from_directory = |readers: &str| {
        let ran = run(&["pack", "-f", "--readers", readers, &place.text("source"), &place.text("image")]);
        assert_eq!(ran.status, 0, "{ran:?}");
        fs::read(place.at("image")).unwrap()
    };
    assert!(from_directory("0") == from_directory("9"));
}

/// The directory options that a command line asks for.
fn directory_options(place: &Place, options: &[&str]) -> packline_tree::DirectoryOptions {
    fs::create_dir_all(place.at("source")).unwrap();
    let (source, image) = (place.text("source"), place.text("image"));
    let (pack, invocation) = parse::<Pack>(&[options, &[&source, &image]].concat());
    let mut io = io(Vec::new(), Box::new(Kept::default()), Box::new(Kept::default()), host());
    match pack.request(&invocation, &mut io).unwrap().source {
        packline::Source::Directory { options, .. } => options,
        _ => panic!("not a directory"),
    }
}

#[test]
fn a_directory_is_read_as_asked() {
    use packline_tree::MountPoints;
    let place = Place::new();
    let plain = directory_options(&place, &[]);
    assert_eq!((plain.readers, plain.hard_links, plain.xattrs), (4, true, true));
    assert_eq!(plain.mount_points, MountPoints::Enter);
    assert_eq!(directory_options(&place, &["--one-file-system"]).mount_points, MountPoints::Empty);
    assert!(!directory_options(&place, &["--no-hard-links"]).hard_links);
    assert!(!directory_options(&place, &["--no-xattrs"]).xattrs);
    assert_eq!(directory_options(&place, &["--readers", "2"]).readers, 2);
    assert_eq!(directory_options(&place, &["-j0"]).readers, 0);
    assert!(directory_options(&place, &["-x", "*.o"]).excludes.matches(b"x/a.o", false));
}

#[test]
fn what_only_a_directory_can_do_is_refused_for_a_tar() {
    let place = Place::new();
    for option in ["--one-file-system", "--no-hard-links", "--readers=2"] {
        let ran = pack(&place, "image", &[option], &sample_tar(), host());
        assert_eq!(ran.status, 2, "{ran:?}");
    }
    assert_eq!(place.names(), Vec::<String>::new());
}

#[test]
fn memory_decides_how_many_workers_run_and_it_is_said() {
    let place = Place::new();
    let ran = pack(&place, "image", &["-j", "9", "--mem", "40M", "--json"], &sample_tar(), host());
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["workers_wanted"], 9);
    assert!(summary["workers"].as_u64().unwrap() < 9, "{summary}");
    assert!(ran.err.contains(" instead of 9"), "{}", ran.err);
    let limited = Host { memory_limit: Some(40 << 20), ..host() };
    let ran = pack(&place, "image", &["-j", "9", "--json"], &sample_tar(), limited);
    assert_eq!(serde_json::from_str::<Value>(&ran.out).unwrap()["workers"], summary["workers"]);
}

#[test]
fn too_little_memory_is_an_error_that_names_what_is_enough() {
    let place = Place::new();
    let ran = pack(&place, "image", &["--mem", "1M"], &sample_tar(), host());
    assert_eq!(ran.status, 1, "{ran:?}");
    let needed = ran.err.split("at least ").nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(place.names(), Vec::<String>::new());
    let ran = pack(&place, "image", &["-j1", "--mem", needed], &sample_tar(), host());
    assert_eq!(ran.status, 0, "{ran:?}");
}

#[test]
fn an_existing_image_needs_force_and_survives_an_error() {
    let place = Place::new();
    fs::write(place.at("image"), "old").unwrap();
    let image = place.text("image");
    let ran = run_on(&["pack", "-", &image], &sample_tar(), host());
    assert_eq!(ran.status, 1);
    assert!(ran.err.starts_with(&format!("packline: {image}: exists already")), "{}", ran.err);
    let cut = &sample_tar()[..200_000];
    let ran = run_on(&["pack", "-f", "-", &image], cut, host());
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("standard input") && ran.err.contains("byte"), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert_eq!(fs::read(place.at("image")).unwrap(), b"old");
    assert_eq!(place.names(), ["image"]);
}

#[test]
fn the_container_follows_the_name_or_the_format() {
    let (place, tar) = (Place::new(), sample_tar());
    for (name, options, status) in [
        ("a.lrz", &[][..], 0),
        ("a.pln", &[], 2),
        ("a.sqfs", &["--format", "lrz", "-c", "none:level=3"], 0),
        ("b.lrz", &["--format", "squashfs"], 0),
        ("c.lrz", &["-c", "zstd"], 2),
        ("c.lrz", &["-c", "lzo:level=10"], 2),
    ] {
        assert_eq!(pack(&place, name, options, &tar, host()).status, status, "{name} {options:?}");
    }
    let magics = ["a.lrz", "a.sqfs", "b.lrz"].map(|name| std::fs::read(place.text(name)).unwrap()[..4].to_vec());
    assert_eq!(magics, [b"LRZI", b"LRZI", b"hsqs"].map(|magic| magic.to_vec()));
    assert_eq!(place.names(), ["a.lrz", "a.sqfs", "b.lrz"]);
}

#[test]
fn a_name_of_another_format_is_refused_unless_the_format_is_given() {
    let (place, tar) = (Place::new(), sample_tar());
    for (name, kind) in [
        ("y.tar.zst", "a tar compressed with zstd"),
        ("y.TAR", "a tar"),
        ("y.zip", "a zip archive"),
        ("y.gz", "a file compressed with gzip"),
    ] {
        let ran = pack(&place, name, &[], &tar, host());
        let what = format!("{name}: the name is that of {kind}, which trees are not packed into");
        assert!(ran.status == 2 && ran.err.contains(&what) && ran.err.contains("--format"), "{ran:?}");
        assert_eq!(place.names(), Vec::<String>::new());
    }
    let ran = pack(&place, "y.xyz", &[], &tar, host());
    assert!(
        ran.status == 2
            && ran.err.contains("'.xyz' (expected ")
            && ran.err.contains(".sqfs, .squashfs")
            && ran.err.contains("--format"),
        "{ran:?}"
    );
    assert_eq!(pack(&place, "y.xyz", &["--format", "squashfs"], &tar, host()).status, 0);
    assert_eq!(pack(&place, "y.tar.zst", &["--format", "squashfs"], &tar, host()).status, 0);
    for (name, container) in [("y", "squashfs"), ("y.img", "squashfs"), ("y.lrz", "lrz")] {
        let ran = pack(&place, name, &["--no-progress"], &tar, host());
        assert!(ran.status == 0 && ran.err.starts_with(&format!("{container}: ")), "{ran:?}");
        let ran = pack(&place, name, &["--json"], &tar, host());
        assert_eq!(serde_json::from_str::<Value>(&ran.out).unwrap()["format"], container);
    }
}

#[test]
fn an_image_does_not_go_to_standard_output() {
    let (tar, source) = (sample_tar(), Place::new());
    let directory = source.text("");
    for (arguments, status) in [
        (&["pack", "-", "-"][..], 2),
        (&["pack", "-f", &directory, "-"], 2),
        (&["tar2sqfs", "-"], 1),
        (&["gensquashfs", "-D", &directory, "-"], 1),
    ] {
        let ran = run_on(arguments, &tar, host());
        let what = "a SquashFS image cannot be written to standard output";
        assert!(ran.status == status && ran.err.contains(what) && ran.out.is_empty(), "{arguments:?}: {ran:?}");
    }
    assert!(!Path::new("-").exists());
    let ran = run_on(&["pack", "--format", "lrz", "--json", "-", "-"], &tar, host());
    assert!(ran.status == 2 && ran.err.contains("--json"), "{ran:?}");
}

#[test]
fn the_summary_is_quiet_or_json_or_has_counters() {
    let (place, tar) = (Place::new(), sample_tar());
    let quiet = pack(&place, "image", &["-q"], &tar, host());
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
    let plain = pack(&place, "image", &["--no-progress"], &tar, host());
    assert!(
        plain.out.is_empty() && plain.err.contains("5 files") && plain.err.contains("deduplicated: 1 file ("),
        "{plain:?}"
    );
    assert!(!plain.err.contains("wake-ups"));
    assert!(pack(&place, "image", &["--stats"], &tar, host()).err.contains("wake-ups"));
    let json = pack(&place, "image", &["--json"], &tar, host());
    let summary: Value = serde_json::from_str(&json.out).unwrap();
    assert!(json.err.is_empty());
    let size = fs::metadata(place.at("image")).unwrap().len();
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
    let stats: Value = serde_json::from_str(&pack(&place, "image", &["--json", "--stats"], &tar, host()).out).unwrap();
    assert!(stats["pipeline"]["fed"].as_u64().unwrap() > 0 && stats["tables"]["ids"].as_u64().unwrap() > 0, "{stats}");
    let jobs =
        |what: &str| -> u64 { stats[what].as_array().unwrap().iter().map(|one| one["jobs"].as_u64().unwrap()).sum() };
    assert!(jobs("queues") > 0 && jobs("queues") == jobs("worker_stats"), "{stats}");
}

#[test]
fn scheduling_leaves_the_image_as_it_is() {
    let (place, tar) = (Place::new(), sample_tar());
    let sites = [0, 1, 0, 1].map(|first| CpuLocation { core: first, cache: first, package: first });
    let two_caches = Host { topology: Topology::new(sites.to_vec()), ..host() };
    let plain = image_of(&place, &[], &tar);
    for (share, queues) in [("none", 4), ("llc", 2), ("all", 1)] {
        for more in [&["--policy", "earliest"][..], &["--policy", "local"], &["--main-thread-works"]] {
            let options = [&["--queue-per", share, "--jobs", "4", "--json", "--stats"], more].concat();
            let ran = pack(&place, "image", &options, &tar, two_caches.clone());
            let summary: Value = serde_json::from_str(&ran.out).unwrap();
            assert_eq!(summary["queues"].as_array().unwrap().len(), queues, "{share}");
            assert!(fs::read(place.at("image")).unwrap() == plain, "{options:?}");
        }
    }
    let refused = pack(&place, "image", &["--share", "all", "--serial"], &tar, host());
    assert!(refused.status == 2 && refused.err.contains("--serial"), "{refused:?}");
}

#[test]
fn a_trace_tells_of_every_job() {
    let (place, tar) = (Place::new(), sample_tar());
    let path = place.text("trace.json");
    let ran = pack(&place, "image", &["--trace", &path, "--json", "--stats"], &tar, host());
    assert_eq!(ran.status, 0, "{ran:?}");
    let (summary, trace): (Value, Value) =
        (serde_json::from_str(&ran.out).unwrap(), serde_json::from_slice(&fs::read(&path).unwrap()).unwrap());
    let events = trace["traceEvents"].as_array().unwrap();
    let jobs = events.iter().filter(|event| event["cat"] == "job").count() as u64;
    assert_eq!(summary["pipeline"]["jobs"], jobs, "{trace}");
    assert_eq!(
        (&trace["otherData"]["workers"], &trace["otherData"]["queue_per"]),
        (&summary["workers"], &Value::from("llc"))
    );
    let again = run_on(&["pack", "-q", "--trace", &path, "-", &place.text("another")], &tar, host());
    assert!(again.status == 1 && again.err.contains("exists already"), "{again:?}");
    assert!(!place.at("another").exists());
}

#[test]
fn times_come_from_the_option_or_the_environment() {
    let (place, tar) = (Place::new(), sample_tar());
    let epoch = |text: &str| Host { source_date_epoch: Some(text.to_string()), ..host() };
    let created = |options: &[&str], host: Host| {
        let ran = pack(&place, "image", options, &tar, host);
        assert_eq!(ran.status, 0, "{ran:?}");
        reader::inspect(&place.at("image")).unwrap().superblock.created
    };
    assert_eq!(created(&[], host()), 0);
    assert_eq!(created(&[], epoch("")), 0);
    assert_eq!(created(&[], epoch("1000000000")), 1_000_000_000);
    assert_eq!(created(&["--time", "now"], epoch("1000000000")), 77);
    assert_eq!(created(&["--time", "5"], host()), 5);
    let image = image_of(&place, &["--time", "1000000000"], &tar);
    pack(&place, "image", &[], &tar, epoch("1000000000"));
    assert!(fs::read(place.at("image")).unwrap() == image);
    for wrong in ["x", "-1", "4294967296", "1.5"] {
        assert_eq!(pack(&place, "image", &[], &tar, epoch(wrong)).status, 2, "{wrong}");
        assert_eq!(pack(&place, "image", &[&format!("--time={wrong}")], &tar, host()).status, 2, "{wrong}");
    }
}

#[test]
fn values_out_of_range_and_malformed_are_usage_errors() {
    let place = Place::new();
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
        &["-q", "-q"],
    ] {
        let ran = pack(&place, "image", options, &sample_tar(), host());
        assert_eq!(ran.status, 2, "{options:?}: {ran:?}");
        assert!(ran.err.starts_with("packline: ") && ran.out.is_empty(), "{ran:?}");
    }
    assert_eq!(place.names(), Vec::<String>::new());
}

#[test]
fn a_source_that_is_not_there_is_named() {
    let place = Place::new();
    let source = place.text("none");
    let ran = run(&["pack", &source, &place.text("image")]);
    assert_eq!(ran.status, 1);
    assert!(ran.err.starts_with(&format!("packline: {source}: cannot open: ")), "{}", ran.err);
}

#[test]
fn an_image_is_not_packed_into_itself() {
    let place = Place::new();
    fs::write(place.at("file"), "content").unwrap();
    fs::write(place.at("image.sqfs"), "an older image").unwrap();
    let ran = run(&["pack", "-f", "--json", place.path().to_str().unwrap(), &place.text("image.sqfs")]);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["files"], 1, "{ran:?}");
}

#[test]
fn a_summary_that_nobody_reads_leaves_the_image() {
    let place = Place::new();
    let kept = Kept::default();
    let mut io = io(sample_tar(), Box::new(Gone), Box::new(kept.clone()), host());
    let image = place.text("image");
    let arguments: Vec<_> = ["packline", "pack", "--json", "-", &image].into_iter().map(Into::into).collect();
    assert_eq!(dispatch::run(&arguments, &mut io), 0);
    assert_eq!(kept.text(), "");
    assert!(Path::new(&image).exists());
}
