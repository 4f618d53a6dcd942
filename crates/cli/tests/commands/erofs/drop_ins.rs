//! `fsck.erofs` and `dump.erofs`: texts of erofs-utils 1.9.3, and the outputs of the installed release where they are the same.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use packline_testkit::snapshot::{self, Except};
use packline_testkit::{Ran, Random, Sandbox, tools};

use super::{SAMPLES, tree, with_samples};

/// The bit of the superblock's checksum in byte 8 of the superblock.
const SUPERBLOCK: usize = 1024;

#[test]
fn fsck_is_silent_about_sound_images() {
    let sandbox = with_samples();
    for (name, _) in SAMPLES {
        for arguments in
            [&["fsck.erofs", name][..], &["fsck.erofs", "--extract", "-a", name], &["fsck.erofs", "-p", name]]
        {
            let ran = sandbox.good(arguments);
            assert_eq!((ran.text(), ran.stderr), (String::new(), String::new()), "{arguments:?}");
        }
        let ran = sandbox.good(&["fsck.erofs", "-d3", "-p", name]);
        let ratio = ran.stderr.strip_prefix("<I> erofs: No errors found\n<I> erofs: Compression ratio: ");
        let percent: f64 = ratio.and_then(|text| text.strip_suffix("(%)\n")).unwrap().parse().unwrap();
        assert!(percent > 1.0 && percent < 100.0, "{name}: {percent}");
    }
}

#[test]
fn fsck_finds_damage() {
    let sandbox = with_samples();
    let (_, bytes) = SAMPLES[0];
    let mut damaged = bytes.to_vec();
    damaged[SUPERBLOCK + 64] ^= 1;
    sandbox.write("checksum", &damaged);
    let message = sandbox.bad(1, &["fsck.erofs", "checksum"]);
    assert!(message.contains("checksum: ") && message.contains("at byte 1028"), "{message}");
    sandbox.good(&["fsck.erofs", "--no-sbcrc", "checksum"]);

    // Only decoding finds changed content.
    let is_data_only = |at: usize| {
        let mut damaged = bytes.to_vec();
        damaged[at..at + 64].fill(0x5a);
        sandbox.write("content", damaged);
        let plain = sandbox.run(&["fsck.erofs", "content"]);
        let decoded = sandbox.run(&["fsck.erofs", "--extract", "content"]);
        assert!(plain.status <= decoded.status && decoded.status <= 1, "at {at}: {plain:?} {decoded:?}");
        let ends = |ran: &Ran| ran.stderr.ends_with("<E> erofs: Found some filesystem corruption\n");
        assert_eq!((ends(&plain), ends(&decoded)), (plain.status == 1, decoded.status == 1), "at {at}: {decoded:?}");
        plain.status < decoded.status
    };
    assert!((1..bytes.len() / 4096).any(|block| is_data_only(block * 4096 + 2000)));

    let ran = sandbox.run(&["fsck.erofs", "--extract=out", "content"]);
    let failed = ran.status == 1 && !sandbox.at("out").exists();
    assert!(failed, "{ran:?}");
}

#[test]
fn fsck_extracts_fragments_holes_and_attributes() {
    if !tools::root() {
        return;
    }
    let sandbox = with_samples();
    let expected = snapshot::of_model(&tree::nodes(), false);
    for (name, _) in SAMPLES {
        sandbox.good(&["fsck.erofs", "--extract=out/", "--xattrs", name]);
        snapshot::assert_same(name, &expected, &sandbox.snapshot("out"), Except::default());
        sandbox.remove("out");
        sandbox.create_dir("out");
        sandbox.write("out/other", "kept");
        let ran = sandbox.good(&["fsck.erofs", "--extract=out", "--xattrs", "--no-xattrs", "-d3", name]);
        assert_eq!(ran.stderr, "<I> erofs: Extracted filesystem successfully\n");
        assert_eq!(sandbox.read_text("out/other"), "kept");
        fs::remove_file(sandbox.at("out/other")).unwrap();
        let found = sandbox.snapshot("out");
        snapshot::assert_same(name, &expected, &found, Except { xattrs: true, root: true, ..Except::default() });
        assert!(found.values().all(|entry| entry.xattrs.is_empty()), "{name}");
        let message = sandbox.bad(1, &["fsck.erofs", "--extract=out", name]);
        assert!(message.contains("out/") && message.contains("exists"), "{message}");
        sandbox.write("out/a/small", "other");
        sandbox.good(&["fsck.erofs", "--extract=out", "--overwrite", name]);
        assert_eq!(sandbox.read_text("out/a/small"), "small\n");
        sandbox.remove("out");
    }
}

#[test]
fn fsck_extracts_a_part() {
    let sandbox = with_samples();
    let (name, _) = SAMPLES[0];
    let number = |path: &str| {
        let text = sandbox.good(&["dump.erofs", &format!("--path={path}"), name]).text();
        let line = text.lines().find(|line| line.starts_with("NID: ")).unwrap().to_string();
        line.split_whitespace().nth(1).unwrap().to_string()
    };
    sandbox.good(&["fsck.erofs", "--path=/a", "--extract=a", name]);
    assert_eq!(sandbox.names_in("a"), ["copy", "empty", "holes", "noise", "small", "text", "tool"]);
    sandbox.good(&["fsck.erofs", &format!("--nid={}", number("/a")), "--extract=again", name]);
    assert_eq!(sandbox.names_in("again").len(), 7);
    // The number 0 is the root.
    sandbox.good(&["fsck.erofs", "--nid=0", "--extract", name]);
    sandbox.good(&["fsck.erofs", "--nid=0", "--extract=all", name]);
    assert!(sandbox.read("all/a/text") == tree::text());
    sandbox.good(&["fsck.erofs", "--path=a/small", "--extract=file", name]);
    assert_eq!(sandbox.read_text("file"), "small\n");
    let message = sandbox.bad(1, &["fsck.erofs", "--path=a/text", "--extract=file", name]);
    assert!(message.contains("file: ") && sandbox.read_text("file") == "small\n", "{message}");
    sandbox.good(&["fsck.erofs", "--path=a/text", "--extract=file", "--overwrite", name]);
    assert!(sandbox.read("file") == tree::text());
    assert!(sandbox.names().iter().all(|entry| !entry.starts_with('.')), "{:?}", sandbox.names());
    let message = sandbox.bad(1, &["fsck.erofs", "--path=/none", name]);
    assert!(message.contains("failed to lookup none"), "{message}");
    let message = sandbox.bad(1, &["fsck.erofs", "--nid=1", "--extract=x", name]);
    assert!(message.contains("inode 1"), "{message}");
}

#[test]
fn fsck_keeps_owners_and_permissions_on_request() {
    if !tools::root() {
        return;
    }
    let sandbox = with_samples();
    let (name, _) = SAMPLES[0];
    for (options, expected) in [
        (&[][..], (100_000, 0o4755)),
        (&["--no-preserve"], (0, 0o750)),
        (&["--no-preserve", "--preserve-perms"], (0, 0o755)),
        (&["--preserve", "--no-preserve-perms"], (100_000, 0o4750)),
        (&["--no-preserve-owner", "--preserve"], (100_000, 0o4755)),
    ] {
        let line = format!("umask 027; $P fsck.erofs --extract=out {} {name}", options.join(" "));
        let ran = sandbox.shell(&line);
        assert_eq!((ran.status, ran.stderr), (0, String::new()), "{line}");
        let tool = fs::metadata(sandbox.at("out/a/tool")).unwrap();
        assert_eq!((tool.uid(), tool.permissions().mode() & 0o7777), expected, "{line}");
        sandbox.remove("out");
    }
}

#[test]
fn wrong_usage_has_the_words_and_the_status_of_the_programs() {
    let sandbox = with_samples();
    let (name, bytes) = SAMPLES[0];
    sandbox.write("short", &bytes[..1100]);
    for (arguments, status, expected) in [
        (&["fsck.erofs", "--force", name][..], 1, "--force must be used together with --extract=X"),
        (&["fsck.erofs", "--overwrite", name], 1, "--overwrite must be used together with --extract=X"),
        (
            &["fsck.erofs", "--preserve", name],
            1,
            "--[no-]preserve[-owner/-perms] must be used together with --extract=X",
        ),
        (&["fsck.erofs", "--extract=/", name], 1, "--extract=/ must be used together with --force"),
        (&["fsck.erofs", "--extract=", name], 1, "empty value given for --extract=X"),
        (&["fsck.erofs", "-d10", name], 1, "10 is out of range"),
        (&["fsck.erofs"], 1, "missing argument: IMAGE"),
        (&["fsck.erofs", name, name], 1, "unexpected argument"),
        (&["fsck.erofs", "none"], 1, "none: cannot open"),
        (&["fsck.erofs", "tree.sqfs"], 1, "tree.sqfs: is a SquashFS image (expected an EROFS image)"),
        (&["fsck.erofs", "--xattr-inode-digest", name], 1, "image has no inode digest xattrs"),
        (&["dump.erofs", "-e", name], 234, "-e: needs --nid or --path"),
        (&["dump.erofs", "--cat", "-s", "--nid=36", name], 234, "The '--cat' flag is incompatible"),
        (&["dump.erofs"], 234, "missing argument: IMAGE"),
        (&["dump.erofs", "none"], 254, "none: cannot open"),
        (&["dump.erofs", "tree.tar"], 234, "tree.tar: is a tar (expected an EROFS image)"),
        (&["dump.erofs", "short"], 251, "short: not an EROFS image: 1100 bytes at byte 0 (expected at least 1152)"),
        (
            &["dump.erofs", "--offset=0x40000000", name],
            251,
            "not an EROFS image: 0 bytes at byte 0 (expected at least 1152)",
        ),
        (&["dump.erofs", "--offset=512", name], 234, "not an EROFS image: magic "),
        (&["dump.erofs", "."], 234, "is a directory (expected a file or a block device)"),
        (&["fsck.erofs", "short"], 1, "short: not an EROFS image: 1100 bytes at byte 0 (expected at least 1152)"),
        (&["dump.erofs", "--path=/none", name], 1, "failed to lookup none"),
        (&["dump.erofs", "--nid=99999999", name], 1, "metadata to byte "),
        (&["dump.erofs", "--cat", "--path=/a", name], 1, "not a regular file"),
        (
            &["mkfs.erofs", "-b4097", "--tar=f", "new", "tree.tar"],
            1,
            "-b: invalid block size 4097 (expected 4096, the page ",
        ),
        (
            &["mkfs.erofs", "-zdeflate,0", "--tar=f", "new", "tree.tar"],
            1,
            "-z: invalid compression level 0 (expected 1 to 9)",
        ),
        (
            &["mkfs.erofs", "--async-queue-limit=5", "--tar=f", "new", "tree.tar"],
            1,
            "--async-queue-limit: invalid async-queue-limit 5 (expected 0 or a power of two)",
        ),
    ] {
        let ran = sandbox.run(arguments);
        assert!(ran.status == status && ran.stderr.contains(expected), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn dump_prints_the_superblock() {
    let sandbox = with_samples();
    let text = sandbox.good(&["dump.erofs", "zstd.erofs"]).text();
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
        assert_eq!(&line[name.len()..46], format!("{:width$}", "", width = 46 - name.len()), "{line}");
        line[46..].to_string()
    };
    for (name, expected) in [
        ("Filesystem magic number:", "0xE0F5E1E2"),
        ("Filesystem blocksize:", "4096"),
        ("Filesystem root nid:", "37"),
        ("Filesystem compr_algs:", "zstd"),
        ("Filesystem sb_size:", "128"),
        ("Filesystem inode count:", "317"),
        ("Filesystem compatible features:", "sb_csum mtime xattr_filter "),
        ("Filesystem incompatible features:", "lz4_0padding compr_cfgs big_pcluster fragments dedupe "),
        ("Filesystem UUID:", "00000000-1111-2222-3333-444444444444"),
        ("Required upstream Linux kernel version:", "6.10"),
    ] {
        assert_eq!(value(name), expected, "{name}");
    }
    let created = Ran::good(sandbox.command(&["dump.erofs", "-s", "zstd.erofs"]).env("TZ", "UTC")).text();
    assert!(created.contains("Filesystem created:                           Tue Nov 14 22:13:20 2023\n"), "{created}");
    let udev = sandbox.good(&["dump.erofs", "--blkid-udev", "zstd.erofs"]).text();
    let uuid = "00000000-1111-2222-3333-444444444444";
    let expected = format!("ID_FS_UUID={uuid}\nID_FS_UUID_ENC={uuid}\nID_FS_TYPE=erofs\nID_FS_USAGE=filesystem\n");
    assert_eq!(udev, expected);
}

#[test]
fn dump_prints_contents() {
    let sandbox = with_samples();
    for (name, bytes) in SAMPLES {
        sandbox.write("after", [&[b'#'; 12_288], bytes].concat());
        let printed = sandbox.good(&["dump.erofs", "--cat", "--path=/hard", "--offset=0x3000", "after"]).stdout;
        assert!(printed == tree::text(), "{name}");
    }
}

/// Sets of options for mkfs.erofs 1.5, which writes the tree as `made`.
const MADE: [&[&str]; 4] = [&[], &["-zlz4"], &["-zlz4hc,9", "-C65536"], &["-zlz4", "-Elegacy-compress"]];

/// Returns images of the installed mkfs.erofs, each with the names of its entries.
fn each_made(check: impl Fn(&Sandbox, &[&str])) {
    if !tools::need(&["mkfs.erofs", "fsck.erofs", "dump.erofs"]) {
        return;
    }
    let sandbox = with_samples();
    sandbox.write("tree/d/large.so", tree::text().repeat(20));
    sandbox.write("tree/d/small.txt", "small");
    sandbox.write("tree/empty", "");
    sandbox.write("tree/plain", [b'x'; 5000]);
    fs::hard_link(sandbox.at("tree/d/large.so"), sandbox.at("tree/hard")).unwrap();
    std::os::unix::fs::symlink("d/large.so", sandbox.at("tree/link")).unwrap();
    for options in MADE {
        sandbox.remove("made");
        sandbox.peer("mkfs.erofs", &[options, &["made", "tree"]].concat());
        check(&sandbox, options);
    }
}

#[test]
fn fsck_prints_what_the_installed_release_prints() {
    each_made(|sandbox, options| {
        let ours = sandbox.good(&["fsck.erofs", "-d3", "-p", "made"]).stderr;
        assert_eq!(ours, sandbox.peer("fsck.erofs", &["-d3", "-p", "made"]).stderr, "{options:?}");
    });
}

#[test]
fn dump_prints_what_the_installed_release_prints() {
    each_made(|sandbox, options| {
        let files = ["/hard", "/link", "/plain", "/d/small.txt", "/d/large.so"];
        let shown = ["/", "/d"].map(|path| (path, &["--ls", "-e"][..])).into_iter();
        for (path, shows) in shown.chain(files.map(|path| (path, &["-e"][..]))) {
            let path = format!("--path={path}");
            let arguments = [shows, &[&path, "made"]].concat();
            let ours = sandbox.good(&[&["dump.erofs"], &arguments[..]].concat()).text();
            let peers = sandbox.peer("dump.erofs", &arguments).text();
            // 1.9.3 has another name for the first line, and does not print the size of extents.
            let peers = peers.replacen("File : ", "Path : ", 1);
            let line = peers.lines().find(|line| line.starts_with("Inode size: ")).unwrap().to_string();
            let (before, after) = line.split_once("Extent size: ").unwrap();
            let peers =
                peers.replace(&line, &format!("{before}{}", after.trim_start_matches(char::is_numeric).trim_start()));
            assert_eq!(ours.trim_end(), peers.trim_end(), "{options:?} {path}");
        }
        let ours = sandbox.good(&["dump.erofs", "-S", "made"]).text();
        let peers = sandbox.peer("dump.erofs", &["-S", "made"]).text();
        let row = format!("{:<17}\t{:<11} {:>8.2}% |{:<50}|\n", ".txt", 0, 0.0, "");
        assert_eq!(ours, peers.replacen(&row, "", 1), "{options:?}");
    });
}

/// The superblock is whole, but the root directory is missing.
#[test]
fn dump_of_a_cut_image_fails() {
    let sandbox = with_samples();
    for (name, bytes) in SAMPLES {
        sandbox.write("cut", &bytes[..2048]);
        for arguments in [&[][..], &["-S"], &["--path=/a/text", "-e"], &["--path=/a/text", "--cat"]] {
            let message = sandbox.bad(1, &[&["dump.erofs"], arguments, &["cut"]].concat());
            assert!(message.contains("cut: the image is cut off: 2048 of "), "{name}, {arguments:?}: {message}");
        }
    }
}

/// Changed bytes lead to errors, not to panics or endless runs.
#[test]
fn damaged_metadata_ends_with_an_error() {
    let sandbox = with_samples();
    let mut random = Random::new(7);
    for (name, bytes) in SAMPLES {
        for round in 0..24 {
            let mut damaged = bytes.to_vec();
            for _ in 0..8 {
                let at = SUPERBLOCK + random.below(damaged.len() as u64 - SUPERBLOCK as u64) as usize;
                damaged[at] = random.below(256) as u8;
            }
            sandbox.write("damaged", damaged);
            for arguments in [
                &["fsck.erofs", "--no-sbcrc", "damaged"][..],
                &["fsck.erofs", "--no-sbcrc", "--extract=out", "damaged"],
                &["dump.erofs", "-s", "-S", "damaged"],
                &["dump.erofs", "--path=/a", "--ls", "-e", "damaged"],
            ] {
                let ran = sandbox.run(arguments);
                assert!([0, 1, 234].contains(&ran.status), "{name}, round {round}, {arguments:?}: {ran:?}");
            }
            sandbox.remove("out");
        }
    }
}
