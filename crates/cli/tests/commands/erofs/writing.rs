//! pack to EROFS images: what the kernel, fsck.erofs and our own commands read in them.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use packline_testkit::model::Node;
use packline_testkit::mount::{self, LoopDevice, Mounted};
use packline_testkit::snapshot::{self, Except, Snapshot};
use packline_testkit::{Random, Sandbox, generate, tools};
use serde_json::Value;

use super::tree;
use crate::sandbox;

/// Every codec, and what changes the layout: with each, the image has the same tree.
const WAYS: [&[&str]; 17] = [
    &[],
    &["-c", "zstd:level=19", "-b", "1M"],
    &["-c", "zstd", "-b", "8K"],
    &["-c", "lzma"],
    &["-c", "lz4"],
    &["-c", "lz4:hc", "-b", "64K"],
    &["-c", "gzip"],
    &["-c", "none"],
    &["--no-fragments"],
    &["--fragments", "small"],
    &["--no-dedup"],
    &["--no-sparse"],
    &["--kernel", "6.1", "-c", "lzma"],
    &["--pad", "1M"],
    &["--compress-directories"],
    &["--compress-directories", "-c", "lz4:hc", "--fragments", "small"],
    &["--compress-directories", "-c", "zstd:level=3", "--kernel", "6.15"],
];

/// A sandbox with the tar of the tree of all kinds of entries.
fn with_tar() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write_tar("tree.tar", &tree::nodes());
    sandbox
}

fn assert_mounts(what: &str, image: &Path, offset: u64, expected: &Snapshot) {
    let mounted = Mounted::erofs_at(image, offset).unwrap();
    let found = snapshot::of_directory(mounted.path()).unwrap();
    snapshot::assert_same(what, expected, &found, Except::default());
}

#[test]
fn the_kernel_reads_the_tree_of_every_codec() {
    if !mount::kernel_mounts_erofs("zstd") {
        return;
    }
    let sandbox = with_tar();
    let expected = snapshot::of_model(&tree::nodes(), true);
    for options in WAYS {
        sandbox.good(&[&["pack", "-q", "-f", "tree.tar", "new.erofs"], options].concat());
        assert_mounts(&format!("{options:?}"), &sandbox.at("new.erofs"), 0, &expected);
    }
}

#[test]
fn the_kernel_reads_generated_trees() {
    if !mount::kernel_mounts_erofs("zstd") {
        return;
    }
    let sandbox = sandbox();
    for seed in 1..4 {
        let source = format!("source-{seed}");
        sandbox.plant(&source, &generate::small_tree(seed, 65_536));
        let expected = sandbox.snapshot(&source);
        for codec in ["zstd", "lz4", "none"] {
            sandbox.good(&["pack", "-q", "-f", &source, "new.erofs", "-c", codec, "-b", "16K"]);
            assert_mounts(&format!("seed {seed}, {codec}"), &sandbox.at("new.erofs"), 0, &expected);
        }
    }
}

#[test]
fn our_commands_read_the_tree_of_every_codec() {
    let sandbox = with_tar();
    sandbox.good(&["pack", "-q", "tree.tar", "tree.sqfs"]);
    for options in WAYS {
        sandbox.good(&[&["pack", "-q", "-f", "--verify", "tree.tar", "new.erofs"], options].concat());
        assert_eq!(sandbox.good(&["diff", "tree.sqfs", "new.erofs"]).text(), "", "{options:?}");
        sandbox.good(&["verify", "-q", "new.erofs"]);
    }
}

#[test]
fn compressed_directories_are_read_by_all_commands() {
    let sandbox = with_tar();
    let pack = |image: &str, options: &[&str]| {
        sandbox.good(&[&["pack", "-q", "-f", "tree.tar", image], options].concat());
        sandbox.read(image)
    };
    pack("plain.erofs", &["-j", "2"]);
    let image = pack("new.erofs", &["--compress-directories", "-j", "0"]);
    assert!(image.len() < sandbox.read("plain.erofs").len());
    for options in [
        ["-j", "1"],
        ["-j", "7"],
        ["--base", "new.erofs"],
        ["--base", "plain.erofs"],
        ["--cache", "c"],
        ["--cache", "c"],
    ] {
        let other = pack("other.erofs", &[&["--compress-directories"][..], &options].concat());
        assert!(other == image, "{options:?}");
    }
    let printed = |words: &[&str], image: &str| sandbox.good(&[words, &[image]].concat()).text();
    for words in [&["list", "-l"][..], &["diff", "plain.erofs"]] {
        assert_eq!(printed(words, "new.erofs"), printed(words, "plain.erofs"), "{words:?}");
    }
    sandbox.good(&["unpack", "-q", "new.erofs", "out"]);
    sandbox.good(&["diff", "new.erofs", "out"]);
    let du: Value = serde_json::from_str(&printed(&["du", "--json"], "new.erofs")).unwrap();
    assert_eq!(du["file_bytes"], image.len(), "{du}");
    for words in [&["fsck.erofs"][..], &["fsck.erofs", "--extract"]] {
        assert_eq!(printed(words, "new.erofs"), "", "{words:?}");
    }
    let dumped = printed(&["dump.erofs", "--path=/many", "--ls"], "new.erofs");
    let plain = printed(&["dump.erofs", "--path=/many", "--ls"], "plain.erofs");
    let names = |text: &str| {
        text.lines().filter_map(|line| Some(line.split_whitespace().nth(2)?.to_owned())).collect::<Vec<_>>()
    };
    assert!(dumped.contains("Layout: 1") && names(&dumped) == names(&plain), "{dumped}{plain}");
}

/// Version 1.5 of fsck.erofs reads lz4 only, and no fragments.
#[test]
fn fsck_finds_no_fault() {
    if !tools::need(&["fsck.erofs"]) {
        return;
    }
    let sandbox = with_tar();
    for options in [&["-c", "lz4"][..], &["-c", "lz4:hc", "-b", "64K"], &["-c", "none", "--no-sparse"]] {
        sandbox.good(&[&["pack", "-q", "-f", "tree.tar", "new.erofs", "--kernel", "5.15"], options].concat());
        sandbox.remove("out");
        sandbox.peer("fsck.erofs", &["--extract=out", "new.erofs"]);
        assert!(sandbox.read("out/a/text") == tree::text(), "{options:?}");
        assert_eq!(sandbox.good(&["diff", "-OPTXH", "new.erofs", "out"]).text(), "", "{options:?}");
    }
}

#[test]
fn converts_both_ways_with_any_number_of_workers() {
    let sandbox = with_tar();
    sandbox.good(&["pack", "-q", "tree.tar", "a.sqfs"]);
    let convert = |from: &str, to: &str, jobs: &str| {
        sandbox.good(&["pack", "-q", "-f", "-j", jobs, from, to]);
        sandbox.read(to)
    };
    let erofs = convert("a.sqfs", "b.erofs", "0");
    let squashfs = convert("b.erofs", "c.sqfs", "0");
    for image in ["b.erofs", "c.sqfs"] {
        assert_eq!(sandbox.good(&["diff", "a.sqfs", image]).text(), "", "{image}");
    }
    for jobs in ["1", "2", "7"] {
        assert!(convert("a.sqfs", "b.erofs", jobs) == erofs, "{jobs} workers");
        assert!(convert("b.erofs", "c.sqfs", jobs) == squashfs, "{jobs} workers");
    }
    let piped = sandbox.shell("cat a.sqfs | $P pack -q - - --format erofs | cat >piped.erofs");
    assert_eq!((piped.status, piped.stderr.as_str()), (0, ""));
    assert!(sandbox.read("piped.erofs") == erofs);
    assert_eq!(sandbox.names(), ["a.sqfs", "b.erofs", "c.sqfs", "piped.erofs", "tree.tar"]);
}

#[test]
fn a_source_image_can_be_replaced_by_its_conversion() {
    let sandbox = with_tar();
    sandbox.good(&["pack", "-q", "tree.tar", "image"]);
    sandbox.good(&["pack", "-q", "image", "new.erofs"]);
    sandbox.good(&["pack", "-q", "-f", "--format", "erofs", "image", "image"]);
    assert!(sandbox.read("image") == sandbox.read("new.erofs"));
}

#[test]
fn has_the_label_the_uuid_and_the_time_of_the_command_line() {
    let sandbox = with_tar();
    let uuid = "00112233-4455-6677-8899-aabbccddeeff";
    sandbox.good(&["pack", "-q", "tree.tar", "a.erofs", "--label", "rootfs", "--uuid", uuid, "--time", "1000000000"]);
    let info =
        |image: &str| -> Value { serde_json::from_str(&sandbox.good(&["info", "--json", image]).text()).unwrap() };
    let given = info("a.erofs");
    assert_eq!((&given["label"], &given["uuid"]), (&"rootfs".into(), &uuid.into()));
    assert!(sandbox.good(&["info", "a.erofs"]).text().contains("2001-09-09 01:46:40 UTC (1000000000)"));
    // A converted image has neither.
    sandbox.good(&["pack", "-q", "a.erofs", "b.erofs"]);
    let derived = info("b.erofs");
    assert!(derived["label"] == "" && derived["uuid"] != uuid, "{derived}");
    sandbox.good(&["pack", "-q", "tree.tar", "c.erofs", "-x", "null"]);
    assert!(info("c.erofs")["uuid"] != derived["uuid"], "another content has another UUID");
}

#[test]
fn a_kernel_chooses_the_features() {
    let sandbox = with_tar();
    sandbox.good(&["pack", "-q", "tree.tar", "tree.sqfs"]);
    for (kernel, codec) in [("6.10", "zstd"), ("6.1", "lzma"), ("5.15", "lz4"), ("5.4", "none")] {
        let packed = sandbox.good(&["pack", "-q", "-f", "tree.tar", "a.erofs", "--kernel", kernel, "-c", codec]);
        assert_eq!(packed.stderr.contains(&format!("--kernel {kernel}: equal contents")), kernel.starts_with("5."));
        let info: Value = serde_json::from_str(&sandbox.good(&["info", "--json", "a.erofs"]).text()).unwrap();
        let numbers = |text: &str| -> Vec<u32> { text.split('.').map(|number| number.parse().unwrap()).collect() };
        assert!(numbers(info["linux"].as_str().unwrap()) <= numbers(kernel), "{kernel}: {info}");
        assert_eq!(sandbox.good(&["diff", "tree.sqfs", "a.erofs"]).text(), "", "{kernel}");
    }
    let message = sandbox.bad(2, &["pack", "tree.tar", "b.erofs", "--kernel", "6.1"]);
    assert!(
        message.contains("zstd for Linux 6.1 (expected Linux 6.10 or later); Linux 6.1 has -c lzma, -c lz4, -c none"),
        "{message}"
    );
    let message = sandbox.bad(2, &["pack", "tree.tar", "b.erofs", "--kernel=5.15", "-c=lz4", "--fragments=small"]);
    assert!(message.contains("expected Linux 6.1 or later"), "{message}");
    for wrong in ["six", "6", "", "6.x"] {
        let message = sandbox.bad(2, &["pack", "tree.tar", "b.erofs", "--kernel", wrong]);
        assert!(message.starts_with("packline: --kernel: "), "{message}");
    }
}

#[test]
fn begins_at_an_offset() {
    let sandbox = with_tar();
    sandbox.good(&["pack", "-q", "tree.tar", "plain.erofs"]);
    let plain = sandbox.read("plain.erofs");
    for offset in [512, 4096, 197_632] {
        sandbox.good(&["pack", "-q", "-f", "tree.tar", "i.erofs", "--offset", &offset.to_string()]);
        let bytes = sandbox.read("i.erofs");
        assert!(bytes[..offset].iter().all(|&byte| byte == 0) && bytes[offset..] == plain, "{offset}");
        assert!(sandbox.good(&["info", "i.erofs"]).text().contains(&format!("at byte {offset} of the file")));
        if mount::kernel_mounts_erofs("zstd") {
            let expected = snapshot::of_model(&tree::nodes(), true);
            assert_mounts(&format!("offset {offset}"), &sandbox.at("i.erofs"), offset as u64, &expected);
        }
    }
}

#[test]
fn a_block_device_is_written_in_place() {
    if !mount::loop_devices() {
        return;
    }
    let sandbox = with_tar();
    let noise = |length| Random::new(7).noise(length);
    let device = LoopDevice::over(&sandbox.write("medium", noise(4 << 20))).unwrap();
    sandbox.good(&["pack", "-q", "tree.tar", "file.erofs"]);
    sandbox.good(&["pack", "-q", "-f", "tree.tar", device.path()]);
    sandbox.good(&["pack", "-q", "-f", "--format", "erofs", "tree.tar", device.path()]);
    let image = sandbox.read("file.erofs");
    assert!(fs::read(device.path()).unwrap().starts_with(&image));
    sandbox.write_tar("large.tar", &[Node::file("file", noise(5 << 20))]);
    let large = sandbox.bad(1, &["pack", "-q", "-f", "--format", "erofs", "-c", "none", "large.tar", device.path()]);
    assert!(large.contains("only 4194304 bytes"), "{large}");
    assert_eq!(fs::read(device.path()).unwrap()[..1152], [0; 1152], "half an image looks like a whole one");
}

#[test]
fn has_a_hash_tree_like_any_image() {
    let sandbox = with_tar();
    sandbox.good(&["pack", "-q", "tree.tar", "plain.erofs"]);
    sandbox.good(&["pack", "-q", "tree.tar", "i.erofs", "--verity"]);
    assert!(sandbox.read("i.erofs") == sandbox.read("plain.erofs"));
    sandbox.good(&["verify", "-q", "i.erofs"]);
    assert!(sandbox.at("i.erofs.verity").exists() && sandbox.at("i.erofs.roothash").exists());
    sandbox.good(&["pack", "-q", "-f", "tree.tar", "j.erofs", "--verity=append"]);
    assert!(sandbox.read("j.erofs").starts_with(&sandbox.read("plain.erofs")));
    let printed = sandbox.good(&["verify", "j.erofs"]).text();
    assert!(printed.starts_with("j.erofs: sound; the hash tree at byte ") && !printed.contains(" note"), "{printed}");
}

#[test]
fn keeps_access_control_lists() {
    if !tools::root() || !tools::need(&["setfacl", "getfacl"]) {
        return;
    }
    let sandbox = sandbox();
    sandbox.write("tree/f", "content");
    sandbox.peer("setfacl", &["-m", "u:77:rw", "tree/f"]);
    let ran = sandbox.good(&["pack", "tree", "a.erofs"]);
    assert!(!ran.stderr.contains("left out"), "{ran:?}");
    sandbox.good(&["diff", "tree", "a.erofs"]);
    if mount::kernel_mounts_erofs("zstd") {
        let mounted = Mounted::erofs_at(&sandbox.at("a.erofs"), 0).unwrap();
        let list = |path: &Path| sandbox.peer("getfacl", &["-ncp", path.to_str().unwrap()]).text();
        assert_eq!(list(&mounted.path().join("f")), list(&sandbox.at("tree/f")));
    }
    let ran = sandbox.good(&["pack", "a.erofs", "a.sqfs"]);
    assert!(ran.stderr.contains("attribute system.posix_acl_access is left out"), "{ran:?}");
}

#[test]
fn keeps_times_that_squashfs_cannot_store() {
    let sandbox = sandbox();
    let nodes = [Node::dir(""), Node::file("late", "x").time(5_000_000_000), Node::file("early", "x").time(-1_000_000)];
    sandbox.write_tar("times.tar", &nodes);
    let ran = sandbox.good(&["pack", "times.tar", "a.erofs"]);
    assert!(!ran.stderr.contains("cannot store"), "{ran:?}");
    let listed = sandbox.good(&["list", "-l", "a.erofs"]).text();
    assert!(listed.contains(" 2128-06-11 08:53 late\n") && listed.contains(" 1969-12-20 10:13 early\n"), "{listed}");
}

#[test]
fn reports_what_was_packed() {
    let sandbox = with_tar();
    let ran = sandbox.good(&["pack", "tree.tar", "a.erofs"]);
    assert!(ran.stderr.starts_with("erofs:     308 files, 3 directories, 2 symbolic links, "), "{ran:?}");
    let json = |words: &[&str]| -> Value { serde_json::from_str(&sandbox.good(words).text()).unwrap() };
    let packed = json(&["pack", "-f", "tree.tar", "a.erofs", "--json", "--stats"]);
    let bytes = sandbox.read("a.erofs").len();
    assert_eq!((&packed["format"], &packed["output_bytes"]), (&"erofs".into(), &bytes.into()), "{packed}");
    let dry = json(&["pack", "--dry-run", "tree.tar", "b.erofs", "--json"]);
    for member in ["files", "directories", "symlinks", "special", "content_bytes"] {
        assert_eq!(dry[member], packed[member], "{member}");
    }
    assert!(!sandbox.at("b.erofs").exists());
}

#[test]
fn blocks_come_from_the_cache_of_any_image() {
    let sandbox = with_tar();
    sandbox.good(&["pack", "-q", "tree.tar", "plain.erofs", "--kernel", "6.15"]);
    sandbox.good(&["pack", "-q", "tree.tar", "a.sqfs", "--cache", "cache"]);
    let words = ["pack", "-f", "tree.tar", "a.erofs", "--kernel", "6.15", "--cache", "cache", "--json"];
    let packed = || -> Value { serde_json::from_str(&sandbox.good(&words).text()).unwrap() };
    packed();
    let again = packed();
    assert!(again["cache"]["found"].as_u64().unwrap() > 0, "{again}");
    assert!(sandbox.read("a.erofs") == sandbox.read("plain.erofs"));
}

#[test]
fn whiteouts_are_applied_or_kept() {
    if !tools::root() {
        return;
    }
    let sandbox = with_tar();
    sandbox
        .write_tar("layer.tar", &[Node::file(".wh.pipe", ""), Node::dir("many"), Node::file("many/.wh..wh..opq", "")]);
    sandbox.good(&["pack", "-q", "tree.tar", "layer.tar", "applied.erofs"]);
    let listed = sandbox.good(&["list", "applied.erofs"]).text();
    assert!(!listed.contains("pipe") && listed.contains("many\n") && !listed.contains("many/"), "{listed}");
    sandbox.good(&["pack", "-q", "tree.tar", "layer.tar", "kept.erofs", "--whiteouts", "keep"]);
    let kept = sandbox.good(&["list", "-l", "--numeric-owner", "kept.erofs", "pipe"]).text();
    assert!(kept.starts_with("c---------"), "{kept}");
    sandbox.good(&["pack", "-q", "tree.tar", "layer.tar", "kept.sqfs", "--whiteouts", "keep"]);
    assert_eq!(sandbox.good(&["diff", "kept.sqfs", "kept.erofs"]).text(), "");
}

/// Kernels before Linux 6.15 know no holes in compressed files: each is one cluster of zeros, many times.
#[test]
fn holes_of_compressed_files_are_unpacked_as_holes() {
    let sandbox = sandbox();
    let file = fs::File::create(sandbox.create_dir("source").join("f")).unwrap();
    file.write_all_at(b"start", 0).unwrap();
    file.write_all_at(b"end", (256 << 20) - 3).unwrap();
    for kernel in ["6.1", "6.15"] {
        sandbox.good(&["pack", "-q", "-f", "source", "new.erofs", "-c", "lz4", "--kernel", kernel]);
        sandbox.good(&["verify", "-q", "new.erofs"]);
        for jobs in ["0", "2"] {
            sandbox.good(&["unpack", "-q", "new.erofs", "out", "-j", jobs]);
            assert_eq!(sandbox.good(&["diff", "out", "source"]).text(), "");
            let found = fs::metadata(sandbox.at("out/f")).unwrap();
            assert!(found.blocks() * 512 <= 1 << 20, "Linux {kernel}: {} blocks", found.blocks());
            sandbox.remove("out");
        }
    }
}
