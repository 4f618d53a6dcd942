//! list, cat, info, verify, unpack and mount.

use std::fs;
use std::path::Path;

use packline_testkit::mount::{self, LoopDevice};
use packline_testkit::snapshot::{self, Except};
use packline_testkit::{Sandbox, hostile_erofs, tools};
use serde_json::Value;

use super::{SAMPLES, tree, with_samples};
use crate::sandbox;

#[test]
fn lists_and_prints_what_a_squashfs_image_of_the_tree_has() {
    let sandbox = with_samples();
    let expected = sandbox.good(&["list", "--null", "tree.sqfs"]).stdout;
    let attributes = |image: &str| {
        let lines = sandbox.good(&["list", "--json", image]).text();
        let entry = |line: &str| {
            let mut entry: Value = serde_json::from_str(line).unwrap();
            // Each format has its own inode numbers, holes and sizes of directories.
            let members = entry.as_object_mut().unwrap();
            members.remove("inode");
            members.remove("sparse_bytes");
            if members["type"] == "directory" {
                members.remove("size");
            }
            entry
        };
        lines.lines().map(entry).collect::<Vec<_>>()
    };
    for (name, _) in SAMPLES {
        assert!(sandbox.good(&["list", "--null", name]).stdout == expected, "{name}");
        assert_eq!(attributes(name), attributes("tree.sqfs"), "{name}");
        let printed = sandbox.good(&["cat", name, "link", "a/small", "many/file-with-a-name-299"]).stdout;
        assert!(printed == [&*tree::text(), b"small\ncontent 299\n"].concat(), "{name}");
        let message = sandbox.refused(&["cat", name, "a"]);
        assert!(message.contains("a: "), "{message}");
    }
}

#[test]
fn tars_have_the_same_bytes_with_any_number_of_workers() {
    let sandbox = with_samples();
    let tar = |image: &str, jobs: &str| {
        sandbox.good(&["unpack", image, "-", "--to", "tar", "--no-sparse", "-j", jobs]).stdout
    };
    let expected = tar("tree.sqfs", "1");
    for (name, _) in SAMPLES {
        for jobs in ["0", "1", "2", "7"] {
            assert!(tar(name, jobs) == expected, "{name} with {jobs} workers");
        }
    }
}

#[test]
fn unpacks_everything() {
    if !tools::root() {
        return;
    }
    let sandbox = with_samples();
    let expected = snapshot::of_model(&tree::nodes(), false);
    for (name, _) in SAMPLES {
        sandbox.good(&["unpack", name, "out", "-q"]);
        snapshot::assert_same(name, &expected, &sandbox.snapshot("out"), Except::default());
        sandbox.remove("out");
    }
}

/// Fragments in these images cross clusters, and files share clusters.
#[test]
fn unpacks_what_diff_reads() {
    let sandbox = sandbox();
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../erofs/tests/images");
    let names =
        ["fragments", "large", "compressed/zstd-wideall", "compressed/lz4-fragdedupe", "compressed/lzma-dedupe"];
    for name in names {
        fs::copy(images.join(name).with_extension("erofs"), sandbox.at("image")).unwrap();
        for jobs in ["0", "2"] {
            sandbox.good(&["unpack", "-q", "-j", jobs, "image", "out"]);
            let differences = sandbox.good(&["diff", "-OPTXH", "image", "out"]).text();
            assert_eq!(differences, "", "{name} with {jobs} workers");
            sandbox.remove("out");
        }
        sandbox.remove("image");
    }
}

#[test]
fn mounts_the_tree() {
    if !mount::fuse_available() {
        return;
    }
    let sandbox = with_samples();
    let expected = snapshot::of_model(&tree::nodes(), false);
    sandbox.create_dir("on");
    for (name, _) in SAMPLES {
        sandbox.good(&["mount", name, "on"]);
        let found = snapshot::of_directory(&sandbox.at("on"));
        sandbox.good(&["umount", "on"]);
        snapshot::assert_same(name, &expected, &found.unwrap(), Except::default());
    }
}

#[test]
fn describes_the_superblock() {
    let sandbox = with_samples();
    let text = sandbox.good(&["info", "zstd.erofs"]).text();
    for line in [
        "Format:            EROFS, at byte 0 of the file",
        "Block size:        4.0 KiB",
        "Created:           2023-11-14 22:13:20 UTC (1700000000)",
        "Inodes:            317",
        "UUID:              00000000-1111-2222-3333-444444444444",
        "Label:             sample",
        "Mounted by:        Linux 6.10 or later",
        "With xattrs:       301",
    ] {
        assert!(text.lines().any(|found| found == line), "'{line}' is not in: {text}");
    }
    let json = |arguments: &[&str]| -> Value { serde_json::from_str(&sandbox.good(arguments).text()).unwrap() };
    let wide = json(&["info", "--json", "wide.erofs"]);
    assert_eq!((&wide["format"], &wide["linux"], &wide["inodes"]), (&"erofs".into(), &"6.15".into(), &317.into()));
    assert_eq!((&wide["entries"]["files"], &wide["entries"]["hard_links"]), (&308.into(), &1.into()));
    assert!(json(&["info", "--json", "--quick", "wide.erofs"]).get("entries").is_none());
}

#[test]
fn verifies_everything() {
    let sandbox = with_samples();
    for (name, _) in SAMPLES {
        let text = sandbox.good(&["verify", "--notes", name]).text();
        let first = text.lines().next().unwrap();
        assert!(first.starts_with(&format!("{name}: sound; changed content cannot be found")), "{text}");
        assert!(text.contains("compressed cluster"), "{text}");
        assert!(text.contains("308 files, 3 directories, 2 symbolic links, 1 hard link, 3 special files\n"), "{text}");
        let json: Value = serde_json::from_str(&sandbox.good(&["verify", "--json", name]).text()).unwrap();
        assert_eq!((&json["faults"], &json["files"]), (&0.into(), &308.into()), "{name}");
    }
}

/// The format allows clusters of 12 MiB; those of the samples are smaller.
#[test]
fn small_clusters_need_little_memory() {
    let sandbox = with_samples();
    for (name, _) in SAMPLES {
        for workers in ["0", "2"] {
            sandbox.good(&["unpack", "-q", "--mem", "24M", "-j", workers, name, "out"]);
            sandbox.remove("out");
            sandbox.good(&["verify", "-q", "--mem", "24M", "-j", workers, name]);
        }
    }
}

#[test]
fn unpacks_a_file_of_many_shared_clusters() {
    let sandbox = sandbox();
    let specimen = hostile_erofs::all().into_iter().find(|found| found.name == "odd-fragment-of-many-clusters");
    sandbox.write("image", specimen.unwrap().bytes());
    for workers in ["0", "2"] {
        sandbox.good(&["unpack", "-q", "--mem", "24M", "-j", workers, "image", "out"]);
        assert!(sandbox.read("out/file") == [b'x'; 4096].repeat(6000), "{workers}");
        sandbox.remove("out");
    }
}

#[test]
fn names_a_second_superblock() {
    let sandbox = with_samples();
    let mut both = sandbox.read("tree.sqfs");
    let superblock = &SAMPLES[0].1[1024..4096];
    both[1024..4096].copy_from_slice(superblock);
    sandbox.write("both", both);
    let text = sandbox.good(&["info", "--quick", "both"]).text();
    assert!(text.starts_with("Format:            SquashFS 4.0"), "{text}");
    let ran = sandbox.run(&["verify", "--notes", "both"]);
    assert!(ran.text().contains("note: superblock of EROFS in an image that is read as SquashFS"), "{ran:?}");
}

/// Verifies a sample with one changed block. Returns the faults.
fn faults(sandbox: &Sandbox, bytes: &[u8], at: usize) -> String {
    let mut damaged = bytes.to_vec();
    damaged[at..at + 4096].fill(0x5a);
    sandbox.write("damaged", damaged);
    let ran = sandbox.run(&["verify", "damaged"]);
    assert!(ran.status == 0 || ran.status == 1, "block at {at}: {ran:?}");
    assert_eq!(ran.status == 1, !ran.text().contains("sound"), "block at {at}: {ran:?}");
    if ran.status == 1 { ran.text() + &ran.stderr } else { String::new() }
}

#[test]
fn finds_damage_of_metadata_and_contents() {
    let sandbox = with_samples();
    for (name, bytes) in SAMPLES {
        let blocks = (0..bytes.len()).step_by(4096).skip(1);
        let found: Vec<String> = blocks.map(|at| faults(&sandbox, bytes, at)).collect();
        assert!(found.iter().filter(|faults| !faults.is_empty()).count() > found.len() / 2, "{name}: {found:?}");
        assert!(found.iter().any(|faults| faults.contains("damaged: a/copy: ")), "{name}: {found:?}");
        let mut superblock = bytes.to_vec();
        superblock[1024 + 64] ^= 1;
        sandbox.write("damaged", superblock);
        for command in ["list", "info", "verify"] {
            let message = sandbox.bad(1, &[command, "damaged"]);
            assert!(message.contains("checksum"), "{name}: {message}");
        }
    }
}

#[test]
fn finds_images_in_streams_and_after_other_data() {
    let sandbox = with_samples();
    let expected = sandbox.good(&["list", "zstd.erofs"]).stdout;
    assert!(sandbox.good_on(&["list", "-"], "zstd.erofs").stdout == expected);
    let piped = sandbox.shell("cat zstd.erofs | $P list -");
    assert!(piped.status == 0 && piped.stdout == expected, "{piped:?}");
    sandbox.write("after", [&[b'#'; 12_345], SAMPLES[0].1, &sandbox.read("tree.sqfs")].concat());
    assert!(sandbox.good(&["list", "after"]).stdout == expected);
    assert!(sandbox.good(&["list", "--offset", "12345", "after"]).stdout == expected);
    let text = sandbox.good(&["info", "after"]).text();
    assert!(text.starts_with("Format:            EROFS, at byte 12345 of the file\n"), "{text}");
    sandbox.good(&["compress", "zstd.erofs", "-q"]);
    assert!(sandbox.good(&["list", "zstd.erofs.pln"]).stdout == expected);
}

#[test]
fn an_image_in_the_data_of_another_image_does_not_count() {
    let sandbox = with_samples();
    sandbox.good(&["pack", "zstd.erofs", "wide.erofs", "both.sqfs", "-c", "none", "-q"]);
    sandbox.write("after", [&[b'#'; 5000][..], &sandbox.read("both.sqfs")].concat());
    for image in ["both.sqfs", "after"] {
        let text = sandbox.good(&["info", image]).text();
        assert!(text.starts_with("Format:            SquashFS 4.0"), "{text}");
    }
}

#[test]
fn reads_block_devices() {
    if !mount::loop_devices() {
        return;
    }
    let sandbox = with_samples();
    let device = LoopDevice::over(&sandbox.at("zstd.erofs")).unwrap();
    let expected = sandbox.good(&["list", "zstd.erofs"]).stdout;
    assert!(sandbox.good(&["list", device.path()]).stdout == expected);
    sandbox.good(&["verify", device.path()]);
}

#[test]
fn reads_images_of_the_installed_mkfs() {
    if !tools::need(&["mkfs.erofs"]) {
        return;
    }
    let sandbox = with_samples();
    sandbox.write("tree/d/large", tree::text());
    sandbox.write("tree/d/small", "small");
    fs::hard_link(sandbox.at("tree/d/large"), sandbox.at("tree/hard")).unwrap();
    for options in [&[][..], &["-zlz4"], &["-zlz4hc,9", "-C65536"], &["-zlz4", "-Elegacy-compress"]] {
        sandbox.remove("made");
        sandbox.peer("mkfs.erofs", &[options, &["made", "tree"]].concat());
        sandbox.good(&["diff", "made", "tree"]);
        sandbox.good(&["verify", "made"]);
    }
}

#[test]
fn link_counts_are_compared_with_the_names() {
    let sandbox = with_samples();
    let mut image = SAMPLES[0].1.to_vec();
    // Without a checksum of the superblock's block, in which both inodes are.
    image[1024 + 8] &= !1;
    let (root, text) = (37 * 32, 87 * 32);
    image[root + 44] = 7;
    sandbox.write("counts", &image);
    let note =
        format!("note: directory, inode 37, with a link count of 7 at byte {root} (expected 4: 2, and 1 for each");
    let found = sandbox.good(&["verify", "--notes", "counts"]).text();
    assert!(found.contains(&note) && found.contains("counts: sound, 2 notes;"), "{found}");
    image[text + 44] = 3;
    sandbox.write("counts", &image);
    let ran = sandbox.run(&["verify", "counts"]);
    let fault = format!("counts: file with a link count of 3 at byte {text} (expected 2, the number of its names)");
    assert!(ran.status == 1 && ran.text().contains(&fault) && ran.text().contains("counts: 1 fault"), "{ran:?}");
}
