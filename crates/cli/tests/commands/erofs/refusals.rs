//! What does not read or write EROFS images says so, and names what does.

use super::with_samples;

#[test]
fn drop_ins_for_squashfs_name_the_commands_that_read_the_image() {
    let sandbox = with_samples();
    sandbox.create_dir("on");
    let expected = "wide.erofs: is an EROFS image (expected a SquashFS image); \
                    packline unpack, list, cat, info, verify, diff and mount read it\n";
    for arguments in [
        &["unsquashfs", "-l", "wide.erofs"][..],
        &["unsquashfs", "-s", "wide.erofs"],
        &["sqfscat", "wide.erofs", "a/small"],
        &["rdsquashfs", "-l", "/", "wide.erofs"],
        &["sqfs2tar", "wide.erofs"],
        &["sqfsdiff", "-a", "wide.erofs", "-b", "tree.sqfs"],
        &["squashfuse", "wide.erofs", "on"],
    ] {
        let ran = sandbox.run(arguments);
        assert!(ran.status != 0 && ran.stderr.ends_with(expected), "{arguments:?}: {ran:?}");
    }
    let message = sandbox.run(&["mksquashfs", "tree.tar", "wide.erofs"]).stderr;
    assert!(message.contains("not a SquashFS image, will not be overwritten"), "{message}");
}

#[test]
fn pack_reuses_blocks_only_of_its_own_encoder() {
    let sandbox = with_samples();
    for (base, options, expected) in [
        ("wide.erofs", &["new.sqfs"][..], "is compressed with lzma (expected zstd, as in the new image)"),
        (
            "zstd.erofs",
            &["new.sqfs"],
            "has clusters of whole blocks, for Linux before 6.15 (expected clusters of any number of bytes, for Linux 6.15 or later, as ",
        ),
        ("zstd.erofs", &["new.erofs"], "has no record of its encoder (expected an image that this version packed "),
        ("tree.sqfs", &["new.erofs"], "is a SquashFS image, whose blocks differ from those of the new image ("),
        ("zstd.erofs", &["new.sqfs", "-c", "xz"], "is an EROFS image, whose blocks differ from those of the new "),
    ] {
        let message = sandbox.refused(&[&["pack", "tree.tar", "--base", base], options].concat());
        assert!(message.contains(&format!("{base}: {expected}")), "{message}");
    }
}

/// What SquashFS has and EROFS does not, and the other way round.
#[test]
fn pack_names_options_of_another_file_system() {
    let sandbox = with_samples();
    let of_squashfs = [
        (&["--exportable"][..], "--exportable: only a SquashFS image has an export table"),
        (&["--layout", "stable"], "--layout: packline has no other layout for EROFS images"),
        (&["--no-compress", "data"], "--no-compress: an EROFS image compresses only contents; -c none "),
        (&["--no-pad"], "--no-pad: an EROFS image always ends at a multiple of 4K"),
        (&["--base", "tree.sqfs", "--base-any"], "--base-any: an EROFS image takes only blocks that its own "),
        (&["-c", "xz"], "--codec: EROFS has no xz (expected one of none, "),
        (&["-c", "lzo"], "--codec: EROFS has no lzo (expected one of none, "),
        (&["-c", "deflate"], "lzma, gzip, zstd); gzip is the codec that EROFS calls deflate"),
        (&["--compress-directories", "-c", "none"], "--codec: compressed directories with codec none (expected a "),
        (
            &["--compress-directories", "-c", "lz4", "--kernel", "5.16"],
            "--kernel: compressed directories for Linux 5.16 (expected Linux 6.1 or later)",
        ),
        (&["--compress-directories", "--no-fragments"], "--compress-directories: cannot be used with --no-fragments"),
        (&["-c", "none", "--cache", "c"], "--cache: has no effect on an EROFS image with -c none, "),
        (&["--label", "a label of 16 b."], "--label: 'a label of 16 b.' has 16 bytes (expected at most 15)"),
        (&["--uuid", "1"], "--uuid: invalid UUID '1'"),
    ];
    for (options, expected) in of_squashfs {
        let message = sandbox.bad(2, &[&["pack", "tree.tar", "new.erofs"], options].concat());
        assert!(message.contains(expected), "{options:?}: {message}");
    }
    for options in [
        &["--kernel", "6.1"][..],
        &["--compress-directories"],
        &["--label", "x"],
        &["--uuid", "00000000-1111-2222-3333-444444444444"],
    ] {
        let message = sandbox.bad(2, &[&["pack", "tree.tar", "new.sqfs"][..], options].concat());
        assert!(message.contains(&format!("{}: is only for EROFS images", options[0])), "{message}");
        let message = sandbox.bad(2, &[&["pack", "tree.tar", "new.lrz"][..], options].concat());
        assert!(message.contains(&format!("{}: not supported for .lrz output", options[0])), "{message}");
    }
    assert!(!["new.erofs", "new.sqfs", "new.lrz"].iter().any(|name| sandbox.at(name).exists()));
}

#[test]
fn pack_names_the_codecs_of_a_kernel() {
    let sandbox = with_samples();
    for (options, expected) in [
        (
            &["--kernel", "5.15"][..],
            "--kernel: zstd for Linux 5.15 (expected Linux 6.10 or later); Linux 5.15 has -c lz4, -c none\n",
        ),
        (
            &["--kernel", "5.15.3-1-generic", "-c", "lzma"],
            "lzma for Linux 5.15 (expected Linux 5.16 or later); Linux 5.15 has -c lz4, -c none\n",
        ),
        (&["--kernel", "6.6"], "; Linux 6.6 has -c gzip, -c lzma, -c lz4, -c none\n"),
        (&["--kernel", "5.4", "-c", "lz4:hc"], "; Linux 5.4 has -c none\n"),
        (&["--kernel", "5.3"], "--kernel: EROFS for Linux 5.3 (expected Linux 5.4 or later)\n"),
        (&["--kernel", "6.12", "-b", "4K"], "for Linux 6.12 (expected at least 8192 bytes)\n"),
    ] {
        let message = sandbox.bad(2, &[&["pack", "tree.tar", "new.erofs"], options].concat());
        assert!(message.ends_with(expected), "{options:?}: {message}");
    }
    sandbox.good(&["pack", "-q", "tree.tar", "new.erofs", "--kernel", "6.15.3"]);
    sandbox.good(&["pack", "-q", "tree.tar", "short.erofs", "--kernel", "6.15"]);
    assert!(sandbox.read("new.erofs") == sandbox.read("short.erofs"));
}

/// The magic number and the first field after it are at byte 1024.
#[test]
fn damaged_superblocks_are_named() {
    let sandbox = with_samples();
    let image = sandbox.read("zstd.erofs");
    let written = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut image = image.clone();
        change(&mut image);
        sandbox.write("bad.erofs", image);
    };
    written(&|image| image[1024..1028].fill(0xff));
    let message = sandbox.bad(1, &["pack", "bad.erofs", "new.sqfs"]);
    assert!(message.contains("bad.erofs: zeros at byte 0, and no known superblock at byte 1024 ("), "{message}");
    written(&|image| image[1024 + 8] ^= 0x10);
    let message = sandbox.bad(1, &["list", "bad.erofs"]);
    assert!(message.contains("bad.erofs: damaged superblock: checksum 0x"), "{message}");
    assert!(message.ends_with("the stored checksum); get an undamaged copy of the image\n"), "{message}");
    written(&|image| image.truncate(3000));
    let message = sandbox.bad(1, &["list", "bad.erofs"]);
    assert!(message.contains("the image is cut off: 3000 of "), "{message}");
    assert!(message.ends_with("; get the complete image\n"), "{message}");
}

#[test]
fn deltas_compare_the_stored_bytes() {
    let sandbox = with_samples();
    sandbox.good(&["delta", "zstd.erofs", "wide.erofs", "x.pld", "-q"]);
    sandbox.good(&["patch", "zstd.erofs", "x.pld", "again.erofs", "-q"]);
    assert!(sandbox.read("again.erofs") == sandbox.read("wide.erofs"));
}
